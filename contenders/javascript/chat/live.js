'use strict';

const { STATUS_CODES } = require('node:http');

const { WebSocketServer } = require('ws');

const MAX_MESSAGE_BYTES = 16 << 10;
// How often listeners are asked whether they are still there.
const HEARTBEAT_MS = 30_000;
const PATH = /^\/rooms\/([^/?]+)\/live$/;

// Live messages of a room at /rooms/ID/live: each message as the list has it; whoever sends {"text"} posts.
module.exports = function live(server, chat, sessionOf) {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
  server.on('upgrade', async (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    try {
      const [, id] = PATH.exec(request.url) ?? [];
      const session = await sessionOf(request);
      const room = await chat.enter(session, id);
      sockets.handleUpgrade(request, socket, head, (listener) => listen(chat, session, room, listener));
    } catch (error) {
      refuse(socket, error.status ?? 500);
    }
  });
  setInterval(() => sockets.clients.forEach(heartbeat), HEARTBEAT_MS).unref();
};

function listen(chat, session, room, listener) {
  room.listeners.add(listener);
  listener.isAlive = true;
  listener.on('pong', () => (listener.isAlive = true));
  listener.on('error', () => listener.terminate());
  listener.on('close', () => room.listeners.delete(listener));
  listener.on('message', async (data) => {
    try {
      await chat.post(session, room, JSON.parse(data)?.text);
    } catch (error) {
      const known = error.status || error instanceof SyntaxError;
      if (!known) console.error(error);
      listener.send(JSON.stringify({ error: known ? error.message : 'the store failed' }));
    }
  });
}

function heartbeat(listener) {
  if (!listener.isAlive) return listener.terminate();
  listener.isAlive = false;
  return listener.ping();
}

function refuse(socket, status) {
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
