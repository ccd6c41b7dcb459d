'use strict';

// Messages that a room remembers; older ones are in the store alone.
const RECENT = 100;
// Bytes that may wait for a listener; one that reads more slowly is sent away.
const MAX_WAITING_BYTES = 1 << 20;

// A room as it lives in this process: its last messages and who listens.
class Room {
  constructor(id, password, recent) {
    Object.assign(this, { id, password, recent });
    this.listeners = new Set();
  }

  // The last messages, the newest at the end.
  last(count) {
    return this.recent.slice(-count);
  }

  add(message) {
    this.recent.push(message);
    if (this.recent.length > RECENT) this.recent.shift();
    const text = JSON.stringify(message);
    for (const socket of this.listeners) {
      if (socket.bufferedAmount > MAX_WAITING_BYTES) socket.terminate();
      else socket.send(text);
    }
  }
}

module.exports = { Room, RECENT };
