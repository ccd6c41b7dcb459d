'use strict';

const { MongoClient } = require('mongodb');

const Problem = require('./problem.js');
const { Room, RECENT } = require('./room.js');
const secrets = require('./secrets.js');

const NAME = /^[A-Za-z0-9-]{1,40}$/;
const PASSWORD_LENGTHS = [8, 200];
const MAX_TEXT = 2000;
const MAX_ROOMS = 1000;
// Sessions that are kept in memory; one that was forgotten is read from the store again.
const MAX_SESSIONS = 10_000;
// Error of the server: a document with this _id is there already.
const DUPLICATE = 11_000;

// Users, sessions, rooms and messages. The store is the truth. This process alone writes to it, so it may keep what it has
// read: sessions, and rooms with their last messages. A message counts as said when the store has it.
class Chat {
  static async open(url) {
    const client = await new MongoClient(url).connect();
    return new Chat(client, client.db('chat'));
  }

  constructor(client, store) {
    Object.assign(this, { client, store });
    this.rooms = new Map();
    this.sessions = new Map();
  }

  async register(name, password) {
    check(isName(name), 'a name is made of A-Z, a-z, 0-9 and -, at most 40 of them');
    checkPassword(password);
    await this.insert('users', { _id: name, password: await secrets.hash(password) });
    return this.begin(name);
  }

  async login(name, password) {
    const user = typeof name === 'string' && (await this.find('users', name));
    const right = user && typeof password === 'string' && (await secrets.isRight(password, user.password));
    if (!right) throw new Problem(401, 'no such name, or not its password');
    return this.begin(name);
  }

  async begin(user) {
    const token = secrets.newToken();
    await this.insert('sessions', { _id: secrets.nameOf(token), user, rooms: [] });
    return token;
  }

  async session(token) {
    const id = token && secrets.nameOf(token);
    const session = id && (this.sessions.get(id) ?? (await this.readSession(id)));
    if (!session) throw new Problem(401, 'log in first');
    return session;
  }

  async readSession(id) {
    const stored = await this.find('sessions', id);
    // Another request may have read it meanwhile; there must be one for all.
    if (!stored || this.sessions.has(id)) return this.sessions.get(id);
    if (this.sessions.size >= MAX_SESSIONS) this.sessions.delete(this.sessions.keys().next().value);
    const session = { id, user: stored.user, rooms: new Set(stored.rooms) };
    this.sessions.set(id, session);
    return session;
  }

  async list() {
    const rooms = await this.store.collection('rooms').find().toArray();
    return rooms.map(({ _id }) => _id).sort();
  }

  async make(session, id, password) {
    check(isName(id), 'a room is called by A-Z, a-z, 0-9 and -, at most 40 of them');
    checkPassword(password);
    const count = await this.store.collection('rooms').countDocuments();
    check(count < MAX_ROOMS, `there are ${MAX_ROOMS} rooms already`, 409);
    await this.insert('rooms', { _id: id, password: await secrets.hash(password) });
    await this.admit(session, id);
  }

  async join(session, id, password) {
    const room = await this.room(id);
    const right = typeof password === 'string' && (await secrets.isRight(password, room.password));
    if (!right) throw new Problem(403, 'not the password of this room');
    await this.admit(session, id);
  }

  // All rooms at once: of two updates at the same time the later one has what the earlier one added.
  async admit(session, id) {
    session.rooms.add(id);
    const rooms = [...session.rooms];
    await this.store.collection('sessions').updateOne({ _id: session.id }, { $set: { rooms } });
  }

  // The room, for somebody who has joined it.
  async enter(session, id) {
    const room = await this.room(id);
    if (!session.rooms.has(id)) throw new Problem(403, 'join this room first');
    return room;
  }

  async room(id) {
    if (!this.rooms.has(id)) this.rooms.set(id, this.readRoom(id));
    const room = await this.rooms.get(id);
    if (!room) throw new Problem(404, 'no such room');
    return room;
  }

  // What is not there, or could not be read, is looked for again the next time.
  async readRoom(id) {
    let room;
    try {
      const stored = await this.find('rooms', id);
      if (stored) room = new Room(id, stored.password, await this.readRecent(id));
    } finally {
      if (!room) this.rooms.delete(id);
    }
    return room;
  }

  async readRecent(id) {
    const newest = this.messages(id).find().sort({ _id: -1 }).limit(RECENT);
    const stored = await newest.toArray();
    return stored.reverse().map(({ _id, from, text, at }) => ({ id: String(_id), from, text, at }));
  }

  async post(session, room, text) {
    const good = typeof text === 'string' && text.length > 0 && text.length <= MAX_TEXT;
    check(good, `a message has a text of 1 to ${MAX_TEXT} characters`);
    const said = { from: session.user, text, at: Date.now() };
    const { insertedId } = await this.messages(room.id).insertOne({ ...said });
    const message = { id: String(insertedId), ...said };
    room.add(message);
    return message;
  }

  // A collection for each room: the store reads it as a whole when a room is opened.
  messages(room) {
    return this.store.collection(`messages-${room}`);
  }

  find(collection, id) {
    return this.store.collection(collection).findOne({ _id: id });
  }

  async insert(collection, document) {
    try {
      await this.store.collection(collection).insertOne(document);
    } catch (error) {
      if (error.code === DUPLICATE) throw new Problem(409, 'this name is taken');
      throw error;
    }
  }
}

const isName = (text) => typeof text === 'string' && NAME.test(text);

function checkPassword(password) {
  const [least, most] = PASSWORD_LENGTHS;
  const good = typeof password === 'string' && password.length >= least && password.length <= most;
  check(good, `a password has ${least} to ${most} characters`);
}

function check(holds, otherwise, status = 400) {
  if (!holds) throw new Problem(status, otherwise);
}

module.exports = Chat;
