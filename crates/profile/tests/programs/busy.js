'use strict';

function ofMyOwn(rounds) {
  let sum = 0;
  for (let i = 0; i < rounds; i += 1) sum = (sum * 31 + i) % 1_000_003;
  return sum;
}

function busy() {
  ofMyOwn(200_000);
  setImmediate(busy);
}

busy();
