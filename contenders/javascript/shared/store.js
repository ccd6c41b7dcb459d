'use strict';

// The tables World and Fortune of the TechEmpower tests, for whoever brings a pool of the package pg.

const ROWS = 10000;
const MAX_QUERIES = 500;
// Connections to the database for each worker process: enough to keep both sides busy, far below PostgreSQL's limit.
const CONNECTIONS = 16;

const SELECT = { name: 'world', text: 'SELECT id, randomnumber FROM world WHERE id = $1' };
const FORTUNES = { name: 'fortunes', text: 'SELECT id, message FROM fortune' };
const UPDATE = {
  name: 'update',
  text: `UPDATE world SET randomnumber = new.number
    FROM (SELECT unnest($1::int[]) AS id, unnest($2::int[]) AS number) AS new
    WHERE world.id = new.id`,
};

module.exports = class Store {
  // Null where there is no database, since most workloads need none.
  static async open(Pool) {
    const connectionString = process.env.DATABASE_URL;
    if (!connectionString) return null;
    const store = new Store(new Pool({ connectionString, max: CONNECTIONS }));
    const { rows } = await store.pool.query('SELECT id, randomnumber FROM world');
    store.cache = rows.map(world);
    return store;
  }

  constructor(pool) {
    this.pool = pool;
  }

  async one(id = randomId()) {
    const { rows } = await this.pool.query({ ...SELECT, values: [id] });
    return world(rows[0]);
  }

  // Each row with a query of its own.
  many(n) {
    return Promise.all(Array.from({ length: n }, () => this.one()));
  }

  // Reads n rows one by one, gives each a new number and writes them with one statement, in the order of their ids, so
  // that two requests cannot wait for each other's locks.
  async update(n) {
    const rows = await Promise.all(distinctIds(n).map((id) => this.one(id)));
    for (const row of rows) row.randomNumber = otherThan(row.randomNumber);
    const values = [rows.map((row) => row.id), rows.map((row) => row.randomNumber)];
    await this.pool.query({ ...UPDATE, values });
    return rows;
  }

  cached(n) {
    return Array.from({ length: n }, () => this.cache[randomId() - 1]);
  }

  async fortunes() {
    const { rows } = await this.pool.query(FORTUNES);
    rows.push({ id: 0, message: 'Additional fortune added at request time.' });
    rows.sort((a, b) => (a.message < b.message ? -1 : 1));
    return page(rows);
  }

  // How many rows are wanted: 1 when it is no number or too small, 500 at most.
  static count(text) {
    return Math.min(Math.max(parseInt(text, 10) || 1, 1), MAX_QUERIES);
  }
};

function world({ id, randomnumber }) {
  return { id, randomNumber: randomnumber };
}

function randomId() {
  return Math.floor(Math.random() * ROWS) + 1;
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

function page(fortunes) {
  const row = ({ id, message }) => `<tr><td>${id}</td><td>${escape(message)}</td></tr>`;
  return (
    '<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>' +
    `<tr><th>id</th><th>message</th></tr>${fortunes.map(row).join('')}</table></body></html>`
  );
}

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escape(text) {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]);
}
