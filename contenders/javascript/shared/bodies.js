'use strict';

const fs = require('node:fs');
const path = require('node:path');
const process = require('node:process');

/** The texts of several lengths in $FILES, by their paths, read once. */
module.exports = function bodies() {
  const folder = path.join(process.env.FILES, 'body');
  const text = (name) => [`/body/${name}`, fs.readFileSync(path.join(folder, name))];
  return Object.fromEntries(fs.readdirSync(folder).map(text));
};
