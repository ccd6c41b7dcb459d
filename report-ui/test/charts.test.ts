import { describe, expect, test } from "vitest";
import { spread } from "../src/charts/common";
import { curvesChart, nines, timeTicks } from "../src/charts/curves";
import { priceChart } from "../src/charts/price";
import { middleOf, roundsChart, type RoundDot } from "../src/charts/rounds";
import { scalingChart } from "../src/charts/scaling";
import { standingsChart, type StandingRow } from "../src/charts/standings";
import { bytes } from "../src/format";
import type { Theme } from "../src/theme";

const theme: Theme = { ink: "#000001", soft: "#000002", rule: "#000003", paper: "#fffff4", band: "#fffff5", caution: "#000006", series: ["#100000", "#200000"] };
const look = { color: "#100000", symbol: "circle", dash: "none" };
const interval = (estimate: number): { estimate: number; low: number; high: number; confidence: number } => ({ estimate, low: estimate * 0.99, high: estimate * 1.01, confidence: 0.95 });

const fast: StandingRow = { name: "fast", title: "Fast", look, throughput: interval(78_000), share: interval(0.86), rounds: [77_500, 78_500], tier: 1, withheld: null };
const slow: StandingRow = { ...fast, name: "slow", title: "Slow", throughput: interval(31_000), share: interval(0.34), rounds: [31_000], tier: 2 };
const hidden: StandingRow = { ...fast, name: "hidden", title: "Hidden", tier: null, withheld: "the generator was the limit" };
const standings = { rows: [fast, slow, hidden], limit: { title: "assay serve", throughput: interval(90_300) } };

/** What is written in a chart, without the titles that a pointer reveals. */
const texts = (chart: Element): string[] => [...chart.querySelectorAll("text")].map((text) => text.firstChild?.textContent ?? "");

describe("standings", () => {
  test("show every figure, the tiers and the limit", () => {
    const shown = texts(standingsChart(standings, theme, 900));
    expect(shown).toEqual(expect.arrayContaining(["Fast", "78.0k", "86 %", "tier 1", "tier 2", "limit: assay serve 90.3k"]));
  });

  test("show the reason of a withheld number and never the number", () => {
    const shown = texts(standingsChart({ rows: [hidden], limit: null }, theme, 900));
    expect(shown).toContain("withheld: the generator was the limit");
    expect(shown.join()).not.toContain("78.0k");
  });

  test("place the estimate in proportion to zero and the limit", () => {
    const chart = standingsChart(standings, theme, 900);
    const dots = [...chart.querySelectorAll('g[aria-label="dot"] [transform], g[aria-label="dot"] circle')];
    const xs = dots.map((dot) => Number(dot.getAttribute("cx") ?? /translate\(([\d.]+)/.exec(dot.getAttribute("transform") ?? "")?.[1]));
    const zero = Math.min(...[...chart.querySelectorAll('g[aria-label^="x-grid"] line')].map((line) => Number(line.getAttribute("x1") ?? 0)));
    expect(xs).toHaveLength(2);
    const [first, second] = xs as [number, number];
    expect((first - zero) / (second - zero)).toBeCloseTo(78 / 31, 1);
  });

  test("are the same drawing for the same data, theme and width, at any width", () => {
    for (const width of [280, 560, 2400]) {
      const [once, twice] = [1, 2].map(() => standingsChart(standings, theme, width).outerHTML.replace(/-\d+/g, ""));
      expect(once).toBe(twice);
      expect(standingsChart(standings, theme, width).getAttribute("width")).toBe(String(width));
    }
  });

  test("of nobody are an empty chart, not an error", () => {
    expect(texts(standingsChart({ rows: [], limit: null }, theme, 600))).not.toContain("NaN");
  });
});

test("scaling draws a line per contender, its intervals, and the limit dashed", () => {
  const points = [16, 64].map((connections) => ({ connections, throughput: interval(connections * 100) }));
  const line = { name: "a", title: "Alpha", look, points };
  const chart = scalingChart({ lines: [line], limit: { ...line, name: "limit", title: "The limit" }, levels: [16, 64] }, theme, 700);
  expect(texts(chart)).toEqual(expect.arrayContaining(["Alpha", "The limit", "16", "64"]));
  expect(chart.querySelectorAll('[stroke-dasharray="4 3"]')).toHaveLength(1);
  expect(chart.querySelectorAll('g[aria-label="rule"] line').length).toBeGreaterThanOrEqual(2);
});

test("curves stand on an axis of equal nines", () => {
  expect([0.9, 0.99, 0.999].map(nines)).toEqual([1, 2, 3].map((n) => expect.closeTo(n, 9)));
  expect(timeTicks(90_000, 2_100_000)).toEqual([100_000, 200_000, 500_000, 1_000_000, 2_000_000]);
  const points = [0.5, 0.9, 0.99].map((quantile, i) => ({ quantile, median_ns: 1e6 * (i + 1), low_ns: 9e5 * (i + 1), high_ns: 1.1e6 * (i + 1) }));
  const shown = texts(curvesChart([{ name: "a", title: "Alpha", look, points }], theme, 700));
  expect(shown).toEqual(expect.arrayContaining(["Alpha", "50 %", "90 %", "99 %", "1 ms", "2 ms"]));
});

describe("raw rounds", () => {
  const dot = (offsetNs: number, perSecond: number | null, why = ""): RoundDot => ({ offsetNs, round: 0, perSecond, why });
  const dots = [dot(0, 100), dot(60e9, 102), dot(120e9, 60, "void: steal"), dot(180e9, null, "died")];

  test("are measured from the median of what counts", () => {
    expect(middleOf(dots)).toBe(101);
    expect(middleOf([dot(0, 60, "withheld")])).toBe(60);
    expect(middleOf([dot(0, null, "died")])).toBeNull();
  });

  test("that do not count are hollow, and one off the scale tells by how much", () => {
    const chart = roundsChart({ strips: [{ name: "a", title: "Alpha", look, dots }], starts: [0], end: 200e9 }, theme, 700);
    expect(chart.querySelectorAll(`g[aria-label="dot"] [fill="${theme.paper}"] circle`)).toHaveLength(1);
    expect(chart.querySelectorAll(`g[aria-label="dot"] circle[fill="${look.color}"]`)).toHaveLength(2);
    expect(texts(chart)).toEqual(expect.arrayContaining(["Alpha", "round 1", "−41 %"]));
  });
});

test("a price that was not observed says so", () => {
  const rows = [{ name: "a", title: "Alpha", look, value: 9e6 }, { name: "b", title: "Beta", look, value: null }];
  expect(texts(priceChart(rows, bytes, theme, 300))).toEqual(expect.arrayContaining(["Alpha", "9.0 MB", "Beta", "not observed"]));
});

describe("labels that would overlap", () => {
  test("move apart, in order, as little as needed", () => {
    expect(spread([10, 50], 16, 0, 100)).toEqual([10, 50]);
    expect(spread([50, 50], 16, 0, 100)).toEqual([42, 58]);
    const placed = spread([40, 44, 41, 90], 16, 0, 100);
    expect([...placed].sort((a, b) => a - b)).toEqual([placed[0], placed[2], placed[1], placed[3]]);
  });

  test("stay within the bounds", () => {
    expect(spread([0, 1, 2], 10, 0, 100)).toEqual([0, 10, 20]);
    expect(spread([99, 100], 10, 0, 100)).toEqual([90, 100]);
  });
});
