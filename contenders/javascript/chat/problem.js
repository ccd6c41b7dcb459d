'use strict';

// What a person did wrong, as a status of HTTP and a sentence.
module.exports = class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
};
