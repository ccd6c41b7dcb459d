'use strict';

const { createHash, randomBytes, scrypt, timingSafeEqual } = require('node:crypto');
const { promisify } = require('node:util');

const KEY_BYTES = 32;
const derive = promisify(scrypt);

// Passwords are stored as scrypt makes them (RFC 7914), with Node's default costs and a salt each.
async function hash(password) {
  const salt = randomBytes(16);
  const key = await derive(password, salt, KEY_BYTES);
  return { salt: salt.toString('hex'), hash: key.toString('hex') };
}

async function isRight(password, stored) {
  const key = await derive(password, Buffer.from(stored.salt, 'hex'), KEY_BYTES);
  return timingSafeEqual(key, Buffer.from(stored.hash, 'hex'));
}

const newToken = () => randomBytes(32).toString('base64url');

// Sessions are stored under this, so that whoever reads the store cannot take one over.
const nameOf = (token) => createHash('sha256').update(token).digest('hex');

module.exports = { hash, isRight, newToken, nameOf };
