'use strict';

const { readFileSync } = require('node:fs');
const process = require('node:process');

const fastify = require('fastify');
const { Pool } = require('pg');

const bodies = require('../shared/bodies.js');
const Store = require('../shared/store.js');
const workers = require('../shared/workers.js');

const { ADDRESS, CERT, KEY, PORT, PROTOCOL } = process.env;

// The schema lets Fastify compile a serialiser, which is how its users write such a route.
const MESSAGE = { type: 'object', properties: { message: { type: 'string' } } };
const WORLD = {
  type: 'object',
  properties: { id: { type: 'integer' }, randomNumber: { type: 'integer' } },
};

workers(serve);

async function serve() {
  // Over TLS where a certificate is given, in HTTP/2 where that is to be spoken.
  const app = fastify({
    ...(CERT && { https: { cert: readFileSync(CERT), key: readFileSync(KEY) } }),
    ...((PROTOCOL === 'h2c' || PROTOCOL === 'h2') && { http2: true }),
  });
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('Server', 'fastify');
    done();
  });
  plain(app);
  const store = await Store.open(Pool);
  if (store) database(app, store);
  await app.listen({ port: Number(PORT), host: ADDRESS });
}

function plain(app) {
  app.get('/', (request, reply) => reply.type('text/plain').send('hello'));
  app.get('/plaintext', (request, reply) => reply.type('text/plain').send('Hello, World!'));
  app.get('/byte', (request, reply) => reply.type('text/plain').send('!'));
  app.get('/json', json(MESSAGE), async () => ({ message: 'Hello, World!' }));
  for (const [target, text] of Object.entries(bodies())) {
    app.get(target, (request, reply) => reply.type('text/plain').send(text));
  }
}

function database(app, store) {
  const worlds = json({ type: 'array', items: WORLD });
  app.get('/db', json(WORLD), () => store.one());
  app.get('/queries', worlds, (request) => store.many(Store.count(request.query.queries)));
  app.get('/updates', worlds, (request) => store.update(Store.count(request.query.queries)));
  app.get('/cached-queries', worlds, async (request) =>
    store.cached(Store.count(request.query.count)),
  );
  app.get('/fortunes', async (request, reply) => {
    reply.type('text/html; charset=utf-8');
    return store.fortunes();
  });
}

function json(schema) {
  return { schema: { response: { 200: schema } } };
}
