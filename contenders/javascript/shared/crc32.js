'use strict';

const zlib = require('node:zlib');

/** The CRC-32 of `part` behind bytes whose CRC-32 is `sum`: zlib's own from Node.js 20.15 and 22.2 on. */
module.exports = zlib.crc32 ?? slowly;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  return sum;
});

function slowly(part, sum) {
  let crc = ~sum;
  for (const byte of part) crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return ~crc >>> 0;
}
