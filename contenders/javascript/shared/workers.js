'use strict';

const cluster = require('node:cluster');
const process = require('node:process');

// Runs `serve` in as many worker processes as CPUs are given, behind node:cluster.
module.exports = function workers(serve) {
  if (cluster.isWorker) {
    process.on('SIGTERM', () => process.exit());
    serve();
    return;
  }
  let stopping = false;
  const stop = (status) => {
    stopping = true;
    process.exitCode = status;
    for (const worker of Object.values(cluster.workers)) worker.kill();
  };
  for (let i = 0; i < Number(process.env.WORKERS); i++) cluster.fork();
  // A worker that is gone makes the rest a different contender: end instead of measuring fewer workers.
  cluster.on('exit', () => stopping || stop(1));
  process.on('SIGTERM', () => stop(0));
};
