import { expect, test } from "vitest";
import { summary } from "../src/sections/Since";
import { atLoad, placeInWords } from "../src/state";
import type { Since } from "../src/types";

const row = (call: Since["rows"][number]["call"]): Since["rows"][number] => ({ call }) as Since["rows"][number];

test("what moved is counted, what did not, and what cannot be told", () => {
  expect(summary([row("better"), row("equal"), row("worse"), row("not_shown"), row(null)])).toBe("2 of 5 figures moved, 1 did not, 2 cannot be told.");
  expect(summary([row("equal")])).toBe("0 of 1 figures moved, 1 did not.");
});

test("a place is told with what is not as usual", () => {
  const place = { workload: "hello", connections: 64, pipeline: 8, network: "user/ring", protocol: "h1+tls" as const, offered: "50%" };
  expect(placeInWords(place)).toBe("hello at 64×8 on user/ring over h1+tls, 50%");
  expect(placeInWords({ workload: "hello", connections: 64 })).toBe("hello at 64");
  expect(placeInWords({ workload: "hello", connections: 64, offered: "common" })).toBe("hello at 64, the common rate");
});

test("a load is told in words", () => {
  expect([undefined, "max", "common", "5000/s"].map(atLoad)).toEqual(["at capacity", "at capacity", "at the common rate", "at 5000/s"]);
});
