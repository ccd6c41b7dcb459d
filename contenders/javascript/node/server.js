'use strict';

const cluster = require('node:cluster');
const http = require('node:http');
const process = require('node:process');

const { ADDRESS, PORT, WORKERS } = process.env;

if (cluster.isPrimary) {
  let stopping = false;
  const stop = (status) => {
    stopping = true;
    process.exitCode = status;
    for (const worker of Object.values(cluster.workers)) worker.kill();
  };
  for (let i = 0; i < Number(WORKERS); i++) cluster.fork();
  // A worker that is gone makes the rest a different contender: end instead of measuring fewer workers.
  cluster.on('exit', () => stopping || stop(1));
  process.on('SIGTERM', () => stop(0));
} else {
  http.createServer(handle).listen(Number(PORT), ADDRESS);
  process.on('SIGTERM', () => process.exit());
}

function handle(request, response) {
  const get = request.method === 'GET' || request.method === 'HEAD';
  if (get && request.url === '/') {
    send(response, 200, 'text/plain', 'hello');
  } else if (get && request.url === '/json') {
    send(response, 200, 'application/json', JSON.stringify({ message: 'Hello, World!' }));
  } else {
    send(response, 404, 'text/plain', 'not found');
  }
}

function send(response, status, type, body) {
  response.writeHead(status, {
    Server: 'node',
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
