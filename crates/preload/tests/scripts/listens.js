// Listens at a port twice, prints how that went, and stays until its input ends.
const net = require('node:net');
const [, , , port] = process.argv;

function listen(times) {
  if (times === 0) return process.stdin.resume().on('end', () => process.exit());
  const tell = (how) => {
    console.log(how);
    listen(times - 1);
  };
  const server = net.createServer().listen(port, '0.0.0.0', () => tell('listens'));
  server.on('error', (error) => tell(`${error.code} ${error.syscall}`));
}
listen(2);
