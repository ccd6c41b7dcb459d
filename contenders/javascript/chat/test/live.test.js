'use strict';

// What the load generator, which speaks HTTP, does not reach: live messages over WebSocket. On the server as it is, with
// the real store behind it. `npm test`; needs the store's program (../../go/ferretdb, `go build -o build/ferretdb .`).

const assert = require('node:assert');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');

const WebSocket = require('ws');

const PATIENCE_MS = 30_000;
const STORE = path.join(__dirname, '../../../go/ferretdb/build/ferretdb');
const SESSION = (user) => `session-of-user-${user}`;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chat-test-'));
const socket = path.join(folder, 'mongodb.sock');
const processes = [];
let host;

before(async () => {
  start(STORE, [], { SCRATCH: folder });
  await eventually(async () => fs.existsSync(socket));
  const port = await freePort();
  host = `127.0.0.1:${port}`;
  const MONGODB_URL = `mongodb://${encodeURIComponent(socket)}/`;
  const script = path.join(__dirname, '../server.js');
  start(process.execPath, [script], { ADDRESS: '127.0.0.1', PORT: port, MONGODB_URL });
  await eventually(async () => (await fetch(`http://${host}/`)).ok);
});

after(async () => {
  for (const child of processes.reverse()) {
    if (child.exitCode === null && child.kill()) await once(child, 'exit');
  }
  fs.rmSync(folder, { recursive: true, force: true });
});

test('what one says, all who listen in the room hear, and nobody elsewhere', async () => {
  const [anna, bela] = [await listen('room-01', SESSION('001')), await listen('room-01', SESSION('002'))];
  const elsewhere = await listen('room-02', SESSION('003'));
  anna.socket.send(JSON.stringify({ text: 'hello <b>' }));
  for (const listener of [anna, bela]) {
    const { from, text, id, at } = await listener.next();
    assert.deepStrictEqual({ from, text }, { from: 'user-001', text: 'hello <b>' });
    assert.ok(id && Math.abs(Date.now() - at) < PATIENCE_MS);
  }
  elsewhere.socket.send(JSON.stringify({ text: 'here' }));
  assert.strictEqual((await elsewhere.next()).text, 'here');
  [anna, bela, elsewhere].forEach(({ socket }) => socket.close());
});

test('what is posted over HTTP is heard, and what is said is read over HTTP', async () => {
  const listener = await listen('room-03', SESSION('001'));
  const url = `http://${host}/rooms/room-03/messages`;
  const headers = { Authorization: `Bearer ${SESSION('002')}` };
  const posted = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ text: 'posted' }) });
  assert.deepStrictEqual(await listener.next(), await posted.json());
  listener.socket.send(JSON.stringify({ text: 'said' }));
  const said = await listener.next();
  const [last] = await (await fetch(`${url}?limit=1`, { headers })).json();
  assert.deepStrictEqual(last, said);
  listener.socket.close();
});

test('what is no message is refused, and the connection stays', async () => {
  const listener = await listen('room-04', SESSION('001'));
  for (const bad of ['{', '{}', '{"text":""}', 'null']) {
    listener.socket.send(bad);
    assert.ok((await listener.next()).error, bad);
  }
  listener.socket.send(JSON.stringify({ text: 'good' }));
  assert.strictEqual((await listener.next()).text, 'good');
  listener.socket.close();
});

test('nobody listens without a session, in a room not joined, or where there is none', async () => {
  assert.strictEqual(await statusOf('room-01', 'no-session'), 401);
  const answer = await fetch(`http://${host}/register`, {
    method: 'POST',
    body: JSON.stringify({ name: 'stranger', password: 'long enough' }),
  });
  const { token } = await answer.json();
  assert.strictEqual(await statusOf('room-01', token), 403);
  assert.strictEqual(await statusOf('nowhere', SESSION('001')), 404);
});

function start(program, words, environment) {
  const child = spawn(program, words, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  processes.push(child);
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

async function eventually(holds) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await holds().catch(() => false))) {
    assert.ok(Date.now() < deadline, 'it did not start in time');
    await sleep(20);
  }
}

function connect(room, token) {
  return new WebSocket(`ws://${host}/rooms/${room}/live`, { headers: { Authorization: `Bearer ${token}` } });
}

// A listener that hands out one message after the other.
async function listen(room, token) {
  const socket = connect(room, token);
  const [heard, waiting] = [[], []];
  socket.on('message', (data) => {
    const message = JSON.parse(data);
    if (waiting.length) waiting.shift()(message);
    else heard.push(message);
  });
  await once(socket, 'open');
  const next = async () => heard.shift() ?? new Promise((resolve) => waiting.push(resolve));
  return { socket, next };
}

async function statusOf(room, token) {
  const socket = connect(room, token);
  const [request, response] = await once(socket, 'unexpected-response');
  request.destroy();
  return response.statusCode;
}
