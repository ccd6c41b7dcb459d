'use strict';

const { readFileSync } = require('node:fs');
const path = require('node:path');
const process = require('node:process');

const grpc = require('@grpc/grpc-js');
const { loadSync } = require('@grpc/proto-loader');

const workers = require('../shared/workers.js');

const { ADDRESS, CERT, KEY, PORT } = process.env;

workers(serve);

function serve() {
  const { assay } = grpc.loadPackageDefinition(loadSync(path.join(__dirname, '../../../workloads/echo.proto')));
  const server = new grpc.Server();
  server.addService(assay.Echo.service, {
    say: ({ request }, answer) => answer(null, { value: request.value }),
    hello: ({ request }, answer) => answer(null, { value: `Hello, ${request.value || 'World'}!` }),
  });
  server.bindAsync(`${ADDRESS}:${PORT}`, credentials(), (error) => {
    if (error) throw error;
  });
}

function credentials() {
  if (!CERT) return grpc.ServerCredentials.createInsecure();
  return grpc.ServerCredentials.createSsl(null, [{ cert_chain: readFileSync(CERT), private_key: readFileSync(KEY) }]);
}
