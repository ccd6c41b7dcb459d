// A server for the workloads hello and json.
'use strict';

const cluster = require('node:cluster');
const http = require('node:http');
const process = require('node:process');

const { ADDRESS, PORT, WORKERS } = process.env;

const routes = {
  '/': (response) => send(response, 200, 'text/plain', 'hello'),
  '/json': (response) => send(response, 200, 'application/json', JSON.stringify({ message: 'Hello, World!' })),
};

if (cluster.isPrimary) {
  for (let i = 0; i < Number(WORKERS); i++) cluster.fork();
  // Fewer workers would be a different server: when one is gone, all end.
  cluster.on('exit', () => process.exit(1));
} else {
  http.createServer(answer).listen(Number(PORT), ADDRESS);
}

function answer(request, response) {
  if (!Object.hasOwn(routes, request.url)) return send(response, 404, 'text/plain', 'not found');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    return send(response, 405, 'text/plain', 'method not allowed');
  }
  return routes[request.url](response);
}

function send(response, status, type, body) {
  response.writeHead(status, {
    Server: 'node',
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
