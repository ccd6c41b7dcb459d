'use strict';

const http = require('node:http');
const process = require('node:process');

const Chat = require('./chat.js');
const live = require('./live.js');
const pages = require('./pages.js');
const Problem = require('./problem.js');
const { RECENT } = require('./room.js');

const { ADDRESS, PORT, MONGODB_URL } = process.env;
const MAX_BODY_BYTES = 16 << 10;
const HTML = 'text/html; charset=utf-8';

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

async function main() {
  const chat = await Chat.open(MONGODB_URL);
  const routes = routesOf(chat);
  const server = http.createServer((request, response) => {
    answer(routes, request, response).catch((error) => fail(response, error));
  });
  live(server, chat, (request) => chat.session(tokenOf(request)));
  server.listen(Number(PORT), ADDRESS);
}

// For each path what its methods do; what is in brackets comes as an argument.
function routesOf(chat) {
  const session = (request) => chat.session(tokenOf(request));
  const entered = async (request, id) => chat.enter(await session(request), id);
  return [
    [/^\/$/, { GET: ({ send }) => send(200, HTML, pages.home) }],
    [/^\/client\.js$/, { GET: ({ send }) => send(200, 'text/javascript', pages.script) }],
    [/^\/register$/, { POST: async (asked) => begun(asked, 201, await whoOf(asked, chat, 'register')) }],
    [/^\/login$/, { POST: async (asked) => begun(asked, 200, await whoOf(asked, chat, 'login')) }],
    [
      /^\/rooms$/,
      {
        GET: async ({ object }) => object(200, await chat.list()),
        POST: async ({ request, json, object }) => {
          const [mine, { room, password }] = [await session(request), await json()];
          await chat.make(mine, room, password);
          object(201, { room });
        },
      },
    ],
    [
      /^\/rooms\/([^/]+)$/,
      {
        GET: async ({ request, send }, id) => {
          const room = await entered(request, id);
          send(200, HTML, pages.room(id, room.last(RECENT)));
        },
      },
    ],
    [
      /^\/rooms\/([^/]+)\/join$/,
      {
        POST: async ({ request, json, object }, id) => {
          const [mine, { password }] = [await session(request), await json()];
          await chat.join(mine, id, password);
          object(200, { room: id });
        },
      },
    ],
    [
      /^\/rooms\/([^/]+)\/messages$/,
      {
        GET: async ({ request, query, object }, id) => {
          const room = await entered(request, id);
          object(200, room.last(limitOf(query)));
        },
        POST: async ({ request, json, object }, id) => {
          const mine = await session(request);
          const room = await chat.enter(mine, id);
          object(201, await chat.post(mine, room, (await json()).text));
        },
      },
    ],
  ];
}

async function answer(routes, request, response) {
  const [path, query] = request.url.split('?', 2);
  const send = (status, type, body) => write(response, status, type, body);
  const object = (status, value) => send(status, 'application/json', JSON.stringify(value));
  const asked = { request, response, query, send, object, json: () => jsonOf(request) };
  for (const [pattern, methods] of routes) {
    const found = pattern.exec(path);
    if (!found) continue;
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (Object.hasOwn(methods, method)) return methods[method](asked, ...found.slice(1));
    const allowed = Object.keys(methods).flatMap((known) => (known === 'GET' ? ['GET', 'HEAD'] : [known]));
    response.setHeader('Allow', allowed.join(', '));
    throw new Problem(405, 'this path does not know the method');
  }
  throw new Problem(404, 'nothing is here');
}

async function whoOf({ json }, chat, what) {
  const { name, password } = await json();
  return chat[what](name, password);
}

// The token for programs, a cookie for browsers.
function begun({ response, object }, status, token) {
  response.setHeader('Set-Cookie', `session=${token}; Path=/; HttpOnly; SameSite=Strict`);
  object(status, { token });
}

function tokenOf({ headers }) {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  const [, cookie] = /(?:^|; *)session=([^;]+)/.exec(headers.cookie ?? '') ?? [];
  return bearer ?? cookie;
}

function limitOf(query) {
  const limit = Number(new URLSearchParams(query).get('limit') ?? RECENT);
  return Number.isInteger(limit) && limit >= 1 ? Math.min(limit, RECENT) : RECENT;
}

async function jsonOf(request) {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > MAX_BODY_BYTES) throw new Problem(413, `at most ${MAX_BODY_BYTES} bytes`);
    parts.push(part);
  }
  const value = parsed(Buffer.concat(parts));
  if (value === null || typeof value !== 'object') throw new Problem(400, 'the body is no JSON object');
  return value;
}

function parsed(bytes) {
  try {
    return JSON.parse(bytes);
  } catch {
    return null;
  }
}

function fail(response, error) {
  if (!error.status) console.error(error);
  const status = error.status ?? 500;
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
  if (status === 413) response.setHeader('Connection', 'close');
  const message = error.status ? error.message : 'the store failed';
  write(response, status, 'application/json', JSON.stringify({ error: message }));
}

function write(response, status, type, body) {
  response.writeHead(status, {
    Server: 'node',
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
