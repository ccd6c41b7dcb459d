'use strict';

const fs = require('node:fs');
const path = require('node:path');

const script = fs.readFileSync(path.join(__dirname, 'client.js'));

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (text) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]);

function page(title, main) {
  return `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>${escape(title)}</title><script src="/client.js" defer></script></head>
<body><main>
${main}
</main></body>
</html>
`;
}

const home = page(
  'Chat',
  `<h1>Chat</h1>
<form id="who"><input name="name" placeholder="name" required>
<input name="password" type="password" placeholder="password" required>
<button value="/login">Log in</button> <button value="/register">Register</button></form>
<form id="make"><input name="room" placeholder="new room" required>
<input name="password" type="password" placeholder="its password" required><button>Open a room</button></form>
<p id="problem"></p><ul id="rooms"></ul>`,
);

function room(id, messages) {
  const line = ({ from, text }) => `<li><b>${escape(from)}</b> <span>${escape(text)}</span></li>`;
  return page(
    id,
    `<h1>${escape(id)}</h1>
<ul id="messages">
${messages.map(line).join('\n')}
</ul>
<form id="say"><input name="text" maxlength="2000" required autofocus><button>Say</button></form>
<p id="problem"></p>`,
  );
}

module.exports = { home, room, script };
