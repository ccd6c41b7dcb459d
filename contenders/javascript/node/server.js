'use strict';

const { readFileSync } = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');
const path = require('node:path');
const process = require('node:process');
const zlib = require('node:zlib');

const { Pool } = require('pg');

const bodies = require('../shared/bodies.js');
const crc32 = require('../shared/crc32.js');
const Store = require('../shared/store.js');
const workers = require('../shared/workers.js');

const { ADDRESS, CERT, FILES, KEY, PORT, PROTOCOL } = process.env;

workers(serve);

async function serve() {
  const routes = { ...plain(), ...texts(), ...items(), ...database(await Store.open(Pool)) };
  server((request, response) => {
    const [target, query] = request.url.split('?', 2);
    if (target === '/upload') return upload(request, response);
    const known = Object.hasOwn(routes, target);
    if (!known) return send(response, 404, 'text/plain', 'not found');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return send(response, 405, 'text/plain', 'method not allowed');
    }
    return routes[target](response, query, request);
  }).listen(Number(PORT), ADDRESS);
}

// Over TLS where a certificate is given, in HTTP/2 where that is to be spoken.
function server(answer) {
  const isHttp2 = PROTOCOL === 'h2c' || PROTOCOL === 'h2';
  if (!CERT) return (isHttp2 ? http2 : http).createServer(answer);
  const pair = { cert: readFileSync(CERT), key: readFileSync(KEY) };
  return isHttp2 ? http2.createSecureServer(pair, answer) : https.createServer(pair, answer);
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

// Serialised and compressed for every request.
function items() {
  const all = JSON.parse(readFileSync(path.join(FILES, 'items.json')));
  const answer = (response, query, request) => {
    const text = JSON.stringify(all);
    response.setHeader('Vary', 'Accept-Encoding');
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) {
      return send(response, 200, 'application/json', text);
    }
    zlib.gzip(text, (error, body) => {
      if (error) return fail(response, error);
      response.setHeader('Content-Encoding', 'gzip');
      send(response, 200, 'application/json', body);
    });
  };
  return { '/items.json': answer };
}

// How many bytes came, and their checksum.
function upload(request, response) {
  if (request.method !== 'POST') {
    response.setHeader('Allow', 'POST');
    return send(response, 405, 'text/plain', 'method not allowed');
  }
  let [bytes, sum] = [0, 0];
  request.on('data', (part) => {
    bytes += part.length;
    sum = crc32(part, sum);
  });
  request.on('end', () => object(response, { bytes, crc32: sum.toString(16).padStart(8, '0') }));
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
  send(response, 500, 'text/plain', 'the server failed');
}

function send(response, status, type, body) {
  response.writeHead(status, {
    Server: 'node',
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
