import { SQL } from 'bun';

import bodies from '../shared/bodies.js';

const { ADDRESS, CERT, KEY, PORT, DATABASE_URL } = process.env;

const ROWS = 10000;
const MAX_QUERIES = 500;
const CONNECTIONS = 16; // to the database, for each worker process

Bun.serve({
  hostname: ADDRESS,
  port: Number(PORT),
  reusePort: true, // one process per CPU: the kernel spreads the connections
  ...(CERT ? { tls: { cert: Bun.file(CERT), key: Bun.file(KEY) } } : {}), // over TLS where a certificate is given
  routes: { ...plain(), ...texts(), ...(DATABASE_URL ? await database() : {}) },
  fetch: () => text('not found', 404),
});

function plain() {
  return {
    '/': { GET: () => text('hello') },
    '/plaintext': { GET: () => text('Hello, World!') },
    '/byte': { GET: () => text('!') },
    '/json': { GET: () => json({ message: 'Hello, World!' }) },
  };
}

function texts() {
  const route = ([target, body]) => [target, { GET: () => text(body) }];
  return Object.fromEntries(Object.entries(bodies()).map(route));
}

async function database() {
  const sql = new SQL(DATABASE_URL, { max: CONNECTIONS });
  const all = await sql`SELECT id, randomnumber AS "randomNumber" FROM world`;
  const one = async (id = randomId()) => {
    const [row] = await sql`SELECT id, randomnumber AS "randomNumber" FROM world WHERE id = ${id}`;
    return row;
  };
  const many = (ids) => Promise.all(ids.map(one));

  // One statement for all rows, in the order of their ids, so that two requests cannot wait for each other's locks.
  const update = async (n) => {
    const rows = await many(distinctIds(n));
    for (const row of rows) row.randomNumber = otherThan(row.randomNumber);
    const ids = sql.array(rows.map((row) => row.id), 'INT');
    const numbers = sql.array(rows.map((row) => row.randomNumber), 'INT');
    await sql`UPDATE world SET randomnumber = new.number
      FROM (SELECT unnest(${ids}::int[]) AS id, unnest(${numbers}::int[]) AS number) AS new
      WHERE world.id = new.id`;
    return rows;
  };

  const fortunes = async () => {
    const rows = [...(await sql`SELECT id, message FROM fortune`)];
    rows.push({ id: 0, message: 'Additional fortune added at request time.' });
    return rows.sort((a, b) => (a.message < b.message ? -1 : 1));
  };

  return {
    '/db': { GET: async () => json(await one()) },
    '/queries': { GET: async (request) => json(await many(randomIds(count(request, 'queries')))) },
    '/updates': { GET: async (request) => json(await update(count(request, 'queries'))) },
    '/cached-queries': {
      GET: (request) => json(randomIds(count(request, 'count')).map((id) => all[id - 1])),
    },
    '/fortunes': { GET: async () => page(await fortunes()) },
  };
}

function text(body, status = 200) {
  return answer(body, 'text/plain', status);
}

function json(value) {
  return answer(JSON.stringify(value), 'application/json');
}

function page(fortunes) {
  const row = ({ id, message }) => `<tr><td>${id}</td><td>${Bun.escapeHTML(message)}</td></tr>`;
  const table = `<tr><th>id</th><th>message</th></tr>${fortunes.map(row).join('')}`;
  return answer(
    `<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>${table}</table></body></html>`,
    'text/html; charset=utf-8',
  );
}

function answer(body, type, status = 200) {
  return new Response(body, { status, headers: { Server: 'bun', 'Content-Type': type } });
}

// How many rows are wanted: 1 when it is no number or too small, 500 at most.
function count(request, name) {
  const wanted = new URL(request.url).searchParams.get(name);
  return Math.min(Math.max(parseInt(wanted, 10) || 1, 1), MAX_QUERIES);
}

function randomId() {
  return Math.floor(Math.random() * ROWS) + 1;
}

function randomIds(n) {
  return Array.from({ length: n }, randomId);
}

function distinctIds(n) {
  const ids = new Set();
  while (ids.size < n) ids.add(randomId());
  return [...ids].sort((a, b) => a - b);
}

// A number other than the row's own: writing the same again would change nothing.
function otherThan(current) {
  let number = current;
  while (number === current) number = randomId();
  return number;
}
