'use strict';

const { readFileSync } = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const process = require('node:process');

const { Pool } = require('pg');

const bodies = require('../shared/bodies.js');
const Store = require('../shared/store.js');
const workers = require('../shared/workers.js');

const { ADDRESS, CERT, KEY, PORT } = process.env;

workers(serve);

async function serve() {
  const routes = { ...plain(), ...texts(), ...database(await Store.open(Pool)) };
  server((request, response) => {
    const [target, query] = request.url.split('?', 2);
    const known = Object.hasOwn(routes, target);
    if (!known) return send(response, 404, 'text/plain', 'not found');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return send(response, 405, 'text/plain', 'method not allowed');
    }
    return routes[target](response, query);
  }).listen(Number(PORT), ADDRESS);
}

// Over TLS where a certificate is given.
function server(answer) {
  if (!CERT) return http.createServer(answer);
  return https.createServer({ cert: readFileSync(CERT), key: readFileSync(KEY) }, answer);
}

function plain() {
  return {
    '/': (response) => send(response, 200, 'text/plain', 'hello'),
    '/plaintext': (response) => send(response, 200, 'text/plain', 'Hello, World!'),
    '/byte': (response) => send(response, 200, 'text/plain', '!'),
    '/json': (response) => object(response, { message: 'Hello, World!' }),
  };
}

function texts() {
  const route = ([target, text]) => [target, (response) => send(response, 200, 'text/plain', text)];
  return Object.fromEntries(Object.entries(bodies()).map(route));
}

function database(store) {
  if (!store) return {};
  const count = (query, name) => Store.count(new URLSearchParams(query).get(name));
  const answer = (work, draw = object) => (response, query) =>
    work(query).then(
      (value) => draw(response, value),
      (error) => fail(response, error),
    );
  return {
    '/db': answer(() => store.one()),
    '/queries': answer((query) => store.many(count(query, 'queries'))),
    '/updates': answer((query) => store.update(count(query, 'queries'))),
    '/cached-queries': (response, query) => object(response, store.cached(count(query, 'count'))),
    '/fortunes': answer(
      () => store.fortunes(),
      (response, page) => send(response, 200, 'text/html; charset=utf-8', page),
    ),
  };
}

function object(response, value) {
  send(response, 200, 'application/json', JSON.stringify(value));
}

function fail(response, error) {
  console.error(error);
  send(response, 500, 'text/plain', 'the database failed');
}

function send(response, status, type, body) {
  response.writeHead(status, {
    Server: 'node',
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
