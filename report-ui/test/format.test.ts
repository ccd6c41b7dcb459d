import { describe, expect, test } from "vitest";
import cases from "../../crates/report/tests/format_cases.json";
import * as format from "../src/format";

describe("numbers read as the cases shared with the crate say", () => {
  const plain = { rate: format.rate, duration: format.duration, energy: format.energy, bytes: format.bytes, percent: format.percent, percent_of_all: format.percentOfAll, percentile: format.percentile, ratio: format.ratio, count: format.count, span: format.span };
  test.each(Object.entries(plain))("%s", (kind, write) => {
    for (const [value, text] of cases[kind as keyof typeof plain] as [number, string][]) expect(write(value)).toBe(text);
  });

  const intervals = { rate_interval: format.rateInterval, energy_interval: format.energyInterval, duration_interval: format.durationInterval, percent_interval: format.percentInterval, added_duration: format.addedDuration };
  test.each(Object.entries(intervals))("%s", (kind, write) => {
    for (const [[estimate, low, high], one, both] of cases[kind as keyof typeof intervals] as [[number, number, number], string, string][]) {
      expect(write({ estimate, low, high, confidence: 0.95 })).toEqual({ estimate: one, interval: both });
    }
  });
});

test("amounts of money", () => {
  for (const [[estimate, currency], text] of cases.money as [[number, string], string][]) {
    expect(format.money({ amount: { estimate, low: estimate, high: estimate, confidence: 0 }, currency })).toBe(text);
  }
});

test("scores", () => {
  for (const [[kept, applicable], text] of cases.score as [[number, number], string][]) expect(format.score({ kept, applicable })).toBe(text);
});

test("an estimate of a single round has no interval", () => {
  expect(format.rateInterval({ estimate: 78_000, low: 78_000, high: 78_000, confidence: 0 })).toEqual({ estimate: "78.0k", interval: "–" });
});

test("small numbers have two digits that matter, beside each other alike", () => {
  expect([2, 2.1, 0.5, 0.0123, 9.94, 9.96, 12.3, 0].map(format.few)).toEqual(["2.0", "2.1", "0.50", "0.012", "9.9", "10", "12", "0"]);
});

test("quotients and calls for an answer have two digits that matter, too", () => {
  expect([1.262, 0.5].map(format.fewTimes)).toEqual(["1.3×", "0.50×"]);
  expect([0, 0.0004, 0.0123, 2].map(format.callsPerAnswer)).toEqual(["0", "< 0.001", "0.012", "2.0"]);
});

test("figures of a drawer have three digits that matter", () => {
  expect([0, 0.01234, 9.1, 12_345].map(format.significant)).toEqual(["0", "0.0123", "9.1", "12300"]);
  expect(format.megabytes(9_137_000)).toBe("9.14");
});

test("what is worth two digits has no more", () => {
  expect([7203.4, 87, 123_456].map(format.roughly)).toEqual(["7,200", "87", "120,000"]);
});

test("differences have a sign, unless they are next to nothing", () => {
  expect([0.023, -0.5, 0.00001].map(format.signedPercent)).toEqual(["+2.3 %", "−50 %", "below 0.01 %"]);
});

test("intervals of quotients", () => {
  expect([format.ratioInterval({ low: 1.26, high: 1.2849 }), format.fineRatioInterval({ low: 1.00412, high: 1.012 })]).toEqual(["[1.26× … 1.28×]", "[1.004 … 1.012]"]);
});

test("times of day are in words, and text that is none stays", () => {
  expect(["2026-11-20T22:07:31Z", "soon"].map(format.readableTime)).toEqual(["20 November 2026, 22:07 UTC", "soon"]);
});

test("a time that is a lower bound says so", () => {
  expect([format.boundedDuration(5e9, true), format.boundedDuration(5e9, false)]).toEqual(["> 5.00 s", "5.00 s"]);
});

test("names are listed as in a sentence", () => {
  expect([["a"], ["a", "b"], ["a", "b", "c"]].map(format.listed)).toEqual(["a", "a and b", "a, b and c"]);
});

test("figures stay with their units", () => {
  expect(format.unbroken("serves 1.26 ± 0.01 times, 86 % in 5 ms of 9 MB so 3 do")).toBe("serves 1.26\u00a0±\u00a00.01 times, 86\u00a0% in 5\u00a0ms of 9\u00a0MB so 3 do");
});

test("ticks lose the zeros that say nothing", () => {
  expect(["20.0k", "1.50M", "0.50 ms", "200 µs", "10 %", "+2.0 %"].map(format.tick)).toEqual(["20k", "1.5M", "0.5 ms", "200 µs", "10 %", "+2 %"]);
});
