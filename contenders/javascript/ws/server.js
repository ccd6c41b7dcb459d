'use strict';

const { readFileSync } = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const process = require('node:process');

const { WebSocketServer } = require('ws');

const workers = require('../shared/workers.js');

const { ADDRESS, CERT, KEY, PORT } = process.env;

workers(serve);

function serve() {
  const server = CERT ? https.createServer({ cert: readFileSync(CERT), key: readFileSync(KEY) }) : http.createServer();
  server.on('request', (request, response) => response.writeHead(426, { Upgrade: 'websocket' }).end());
  const sockets = new WebSocketServer({ server, path: '/ws', maxPayload: 1 << 20 });
  sockets.on('connection', (socket) => {
    socket.on('message', (message, binary) => socket.send(message, { binary }));
    // The library closes a connection that breaks the protocol, and tells of it here.
    socket.on('error', () => {});
  });
  server.listen(Number(PORT), ADDRESS);
}
