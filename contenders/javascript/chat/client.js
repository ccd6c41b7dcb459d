'use strict';

// In the browser: logging in, the list of rooms, and a room's live messages.

const $ = (id) => document.getElementById(id);

const told = (error) => {
  $('problem').textContent = error.message;
};

async function ask(method, path, value) {
  const body = value && JSON.stringify(value);
  const answer = await fetch(path, { method, body, headers: { 'Content-Type': 'application/json' } });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

function onSubmit(form, act) {
  form?.addEventListener('submit', (event) => {
    event.preventDefault();
    act(Object.fromEntries(new FormData(form)), event.submitter).catch(told);
  });
}

function roomLine(id) {
  const link = document.createElement('a');
  Object.assign(link, { href: `/rooms/${id}`, textContent: id });
  link.addEventListener('click', (event) => {
    event.preventDefault();
    enter(id).catch(told);
  });
  const line = document.createElement('li');
  line.append(link);
  return line;
}

async function enter(id) {
  const { status } = await fetch(`/rooms/${id}`, { method: 'HEAD' });
  if (status === 403) await ask('POST', `/rooms/${id}/join`, { password: prompt(`Password of ${id}`) ?? '' });
  location.href = `/rooms/${id}`;
}

function show({ from, text, error }) {
  if (error) return told(new Error(error));
  const [line, who, what] = ['li', 'b', 'span'].map((name) => document.createElement(name));
  who.textContent = from;
  what.textContent = text;
  line.append(who, ' ', what);
  return $('messages').append(line);
}

if ($('rooms')) {
  const list = async () => $('rooms').replaceChildren(...(await ask('GET', '/rooms')).map(roomLine));
  onSubmit($('who'), (who, button) => ask('POST', button.value, who));
  onSubmit($('make'), async (room) => {
    await ask('POST', '/rooms', room);
    await list();
  });
  list().catch(told);
} else {
  const live = new WebSocket(`${location.href.replace(/^http/, 'ws')}/live`);
  live.addEventListener('message', ({ data }) => show(JSON.parse(data)));
  onSubmit($('say'), async (said) => {
    live.send(JSON.stringify(said));
    $('say').reset();
  });
}
