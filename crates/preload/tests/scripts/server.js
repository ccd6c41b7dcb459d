// A small server on Node.js, alone or with two workers: files of a folder, POST answered with what was sent, and at /open how many
// connections are open. Ends with 5.
const cluster = require('node:cluster'), fs = require('node:fs'), http = require('node:http');
const [, , folder, port, workers, host = '0.0.0.0'] = process.argv;

if (workers && cluster.isPrimary) {
  for (let i = 0; i < workers; i++) cluster.fork();
  process.on('SIGTERM', () => {
    let left = workers;
    cluster.on('exit', () => --left || process.exit(5));
    for (const worker of Object.values(cluster.workers)) worker.process.kill();
  });
} else {
  const server = http.createServer((request, response) => {
    if (request.url === '/open') return server.getConnections((_, open) => response.end(String(open)));
    if (request.method === 'POST') {
      response.setHeader('content-length', request.headers['content-length']);
      return request.pipe(response);
    }
    fs.readFile(folder + request.url, (error, body) => {
      response.setHeader('content-length', body.length);
      response.end(body);
    });
  }).listen(port, host);
  process.on('SIGTERM', () => process.exit(5));
}
