import { describe, expect, test } from "vitest";
import cases from "../../crates/report/tests/format_cases.json";
import * as format from "../src/format";

describe("numbers read as the cases shared with the crate say", () => {
  const plain = { rate: format.rate, duration: format.duration, energy: format.energy, bytes: format.bytes, percent: format.percent, percent_of_all: format.percentOfAll, ratio: format.ratio, count: format.count, span: format.span };
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
