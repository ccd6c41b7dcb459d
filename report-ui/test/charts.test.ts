import { describe, expect, test } from "vitest";
import { elide, spread, textWidth } from "../src/charts/common";
import { curvesChart, nines, timeTicks, withTicks } from "../src/charts/curves";
import { priceChart } from "../src/charts/price";
import { middleOf, overTimeChart, type RoundDot } from "../src/charts/over-time";
import { ratesChart, type RateLine } from "../src/charts/rates";
import { ratiosChart, ratioTicks } from "../src/charts/ratios";
import { rawRoundsChart } from "../src/charts/rounds";
import { scalingChart } from "../src/charts/scaling";
import { middle, sharesChart } from "../src/charts/shares";
import { standingsChart, type StandingRow, type StandingsData } from "../src/charts/standings";
import { bytes, duration, percent, rate, rateInterval, rateTick } from "../src/format";
import { interval, theme } from "./fixtures";

const look = { color: "#100000", symbol: "circle", dash: "none", muted: false };

const fast: StandingRow = { name: "fast", title: "Fast", look, value: interval(78_000), share: percent(0.86), rounds: [77_500, 78_500], tier: 1, withheld: null };
const slow: StandingRow = { ...fast, name: "slow", title: "Slow", value: interval(31_000), share: percent(0.34), rounds: [31_000], tier: 2 };
const hidden: StandingRow = { ...fast, name: "hidden", title: "Hidden", tier: null, withheld: "the generator was the limit" };
const speeds = { heads: { value: "req/s", share: "of limit" }, estimate: rateInterval, axis: rate };
const standings: StandingsData = { ...speeds, rows: [fast, slow, hidden], limit: { title: "assay serve", value: interval(90_300) } };

/** What is written in a chart, without the titles that a pointer reveals. */
const texts = (chart: Element): string[] => [...chart.querySelectorAll("text")].map((text) => text.firstChild?.textContent ?? "");

describe("standings", () => {
  test("show every figure, the tiers and the limit", () => {
    const shown = texts(standingsChart(standings, theme, 900));
    expect(shown).toEqual(expect.arrayContaining(["Fast", "78.0k", "86 %", "tier 1", "tier 2", "limit: assay serve 90.3k"]));
  });

  test("show the reason of a withheld number and never the number", () => {
    const shown = texts(standingsChart({ ...speeds, rows: [hidden], limit: null }, theme, 900));
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
    expect(texts(standingsChart({ ...speeds, rows: [], limit: null }, theme, 600))).not.toContain("NaN");
  });
});

test("an interval that says nothing leaves the chart and flattens nobody", () => {
  const usual = { estimate: 30_000, low: 29_000, high: 31_000, confidence: 0.95 };
  const wild = { ...usual, low: 3_000, high: 900_000 };
  const scales = (throughput: typeof usual): string => {
    const line = { name: "a", title: "A", look, points: [8, 64].map((connections) => ({ connections, throughput: usual })) };
    const limit = { ...line, name: "limit", title: "The limit", points: [8, 64].map((connections) => ({ connections, throughput })) };
    return texts(scalingChart({ lines: [line], limit, levels: [8, 64] }, theme, 700)).join();
  };
  expect(scales(wild)).toBe(scales(usual));
  const standing = (value: typeof usual): string => texts(standingsChart({ ...speeds, rows: [{ ...fast, value }], limit: null }, theme, 900)).join();
  expect(standing(wild)).toBe(standing(usual));
});

test("scaling draws a line per contender, its intervals, and the limit dashed", () => {
  const points = [16, 64].map((connections) => ({ connections, throughput: interval(connections * 100) }));
  const line = { name: "a", title: "Alpha", look, points };
  const chart = scalingChart({ lines: [line], limit: { ...line, name: "limit", title: "The limit" }, levels: [8, 16, 64] }, theme, 700);
  expect(texts(chart)).toEqual(expect.arrayContaining(["Alpha", "The limit", "8", "16", "64"]));
  expect(chart.querySelectorAll('[stroke-dasharray="4 3"]')).toHaveLength(1);
  expect(chart.querySelectorAll('g[aria-label="rule"] line').length).toBeGreaterThanOrEqual(2);
});

test("curves stand on an axis of equal nines", () => {
  expect([0.9, 0.99, 0.999].map(nines)).toEqual([1, 2, 3].map((n) => expect.closeTo(n, 9)));
  expect(withTicks(90_000, 2_100_000), "as it is").toEqual([90_000, 2_100_000]);
  expect(withTicks(5_430_000, 7_180_000), "no tick inside").toEqual([5_000_000, 10_000_000]);
  expect(withTicks(90_000, 120_000), "one tick inside").toEqual([50_000, 200_000]);
  expect(timeTicks(90_000, 2_100_000)).toEqual([100_000, 200_000, 500_000, 1_000_000, 2_000_000]);
  const points = [0.5, 0.9, 0.99].map((quantile, i) => ({ quantile, median_ns: 1e6 * (i + 1), low_ns: 9e5 * (i + 1), high_ns: 1.1e6 * (i + 1) }));
  const shown = texts(curvesChart([{ name: "a", title: "Alpha", look, points }], theme, 700));
  expect(shown).toEqual(expect.arrayContaining(["Alpha", "50 %", "90 %", "99 %", "1 ms", "2 ms"]));
});

describe("raw rounds", () => {
  const dot = (offsetNs: number, perSecond: number | null, why = ""): RoundDot => ({ offsetNs, round: 0, perSecond, usualPerSecond: null, why });
  const dots = [dot(0, 100), dot(60e9, 102), dot(120e9, 60, "void: steal"), dot(180e9, null, "died")];

  test("are measured from the median of what counts", () => {
    expect(middleOf(dots)).toBe(101);
    expect(middleOf([dot(0, 60, "withheld")])).toBe(60);
    expect(middleOf([dot(0, null, "died")])).toBeNull();
  });

  test("that do not count are hollow, and one off the scale tells by how much", () => {
    const chart = overTimeChart({ strips: [{ name: "a", title: "Alpha", look, dots }], starts: [0], end: 200e9 }, theme, 700);
    expect(chart.querySelectorAll(`g[aria-label="dot"] [fill="${theme.paper}"] circle`)).toHaveLength(1);
    expect(chart.querySelectorAll(`g[aria-label="dot"] circle[fill="${look.color}"]`)).toHaveLength(2);
    expect(texts(chart)).toEqual(expect.arrayContaining(["Alpha", "round 1", "−41 %"]));
  });
});

test("a price that was not observed says so", () => {
  const rows = [{ name: "a", title: "Alpha", look, value: 9e6 }, { name: "b", title: "Beta", look, value: null }];
  expect(texts(priceChart(rows, bytes, theme, 300))).toEqual(expect.arrayContaining(["Alpha", "9.0 MB", "Beta", "not observed"]));
});

test("an amount with an interval has it as a bar that ends before its figure", () => {
  const rows = [{ name: "a", title: "Alpha", look, value: 2e5, range: [1e5, 4e5] as const }, { name: "b", title: "Beta", look, value: 1e5 }];
  const chart = priceChart(rows, duration, theme, 600);
  const bars = [...chart.querySelectorAll('g[aria-label="rule"][stroke-width="7"] line')].map((bar) => [bar.getAttribute("x1"), bar.getAttribute("x2")].map(Number));
  expect(bars).toHaveLength(1);
  const [[from, to]] = bars as [[number, number]];
  const dot = Number(chart.querySelector('g[aria-label="dot"] circle')?.getAttribute("cx"));
  expect(from < dot && dot < to).toBe(true);
  const figure = [...chart.querySelectorAll("text")].find((text) => text.textContent === "200 µs");
  expect(Number(/translate\(([\d.]+)/.exec(figure?.getAttribute("transform") ?? "")?.[1])).toBeGreaterThanOrEqual(to);
});

describe("long names", () => {
  const title = "a-command-that-somebody-wrote-out-in-full-at-last";
  const dots: RoundDot[] = [{ offsetNs: 0, round: 0, perSecond: 100, usualPerSecond: null, why: "" }];
  const strips = [{ name: "a", title, look, dots }];
  const drawn = {
    standings: (width: number) => standingsChart({ ...standings, rows: [{ ...fast, title }] }, theme, width),
    "over time": (width: number) => overTimeChart({ strips, starts: [0], end: 60e9 }, theme, width),
    rounds: (width: number) => rawRoundsChart(strips, theme, width),
  };

  test.each(Object.entries(drawn))("end inside the chart and are told whole where a pointer rests (%s)", (_, draw) => {
    for (const width of [320, 900]) {
      const name = [...draw(width).querySelectorAll("text")].find((text) => text.firstChild?.textContent?.includes("a-com")) as Element;
      const written = name.firstChild?.textContent ?? "";
      expect(written).toMatch(/…$/);
      expect(textWidth(written, true)).toBeLessThan(width);
      expect(name.querySelector("title")?.textContent).toContain(title);
    }
  });

  test("stand above the windows of a narrow chart over time", () => {
    const far = [...dots, { ...(dots[0] as RoundDot), offsetNs: 1, perSecond: 130 }];
    const chart = overTimeChart({ strips: [{ name: "a", title, look, dots: far }], starts: [], end: 60e9 }, theme, 320);
    const highest = Math.min(...[...chart.querySelectorAll('g[aria-label="dot"] circle')].map((dot) => Number(dot.getAttribute("cy"))));
    expect(highest).toBeGreaterThan(24 + 16);
  });

  test("count letters of China, Japan and Korea as two", () => {
    expect(textWidth("日本語")).toBe(textWidth("abcdef"));
    expect(elide("日本語サーバー", textWidth("x") * 7)).toBe("日本語…");
    expect(elide("日本語", textWidth("x") * 6)).toBe("日本語");
    expect(elide("abcdef", textWidth("x") * 4)).toBe("abc…");
  });
});

test("a short run has ticks of whole seconds", () => {
  const strips = [{ name: "a", title: "Alpha", look, dots: [] }];
  expect(texts(overTimeChart({ strips, starts: [], end: 12e9 }, theme, 400))).toEqual(expect.arrayContaining(["0 s", "5 s", "10 s"]));
  expect(texts(overTimeChart({ strips, starts: [], end: 170e9 }, theme, 400))).toEqual(expect.arrayContaining(["1 min", "2 min"]));
});

test("a leader begins where its line ends", () => {
  const line = (name: string, levels: number[]) => ({ name, title: name, look, points: levels.map((connections) => ({ connections, throughput: interval(connections * 100) })) });
  const chart = scalingChart({ lines: [line("short", [8, 16]), line("long", [8, 16, 64])], limit: null, levels: [8, 16, 64] }, theme, 700);
  const starts = [...chart.querySelectorAll('path[stroke-opacity="0.6"]')].map((path) => (path.getAttribute("d") ?? "").slice(1).split(/[,H]/).slice(0, 2).map(Number)) as [number, number][];
  const dots = [...chart.querySelectorAll('g[aria-label="dot"] > g path, g[aria-label="dot"] > path, g[aria-label="dot"] circle')].map((dot) => /translate\(([\d.]+),([\d.]+)/.exec(dot.getAttribute("transform") ?? "")?.slice(1).map(Number)) as [number, number][];
  expect(starts.map(([x, y]) => [x - 5, y].map(Math.round))).toEqual([dots[1], dots[4]].map((dot) => dot?.map(Math.round)));
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

test("a raw round stands where it was measured, hollow when something speaks against it", () => {
  const dots = [{ perSecond: 100, why: "" }, { perSecond: 50, why: "void: steal" }, { perSecond: null, why: "died" }].map((dot, round): RoundDot => ({ ...dot, round, offsetNs: round, usualPerSecond: null }));
  const chart = rawRoundsChart([{ name: "a", title: "Alpha", look, dots }], theme, 700);
  const circles = [...chart.querySelectorAll('g[aria-label="dot"] circle')];
  expect(circles).toHaveLength(2);
  expect(chart.querySelectorAll(`g[aria-label="dot"] [fill="${theme.paper}"] circle, g[aria-label="dot"][fill="${theme.paper}"] circle`)).toHaveLength(1);
});

describe("shares of requests within a time", () => {
  const line = (name: string, last: number, share: number): Parameters<typeof sharesChart>[0][number] => ({ name, title: name, look, points: [{ ns: 1e5, share: 0 }, { ns: last, share }] });

  test("go on at the share that they end with: whatever is missing never came", () => {
    const chart = sharesChart([line("Alpha", 1e6, 0.5), line("Beta", 1e8, 1)], theme, 800);
    const paths = [...chart.querySelectorAll('g[aria-label="line"] path')].map((path) => path.getAttribute("d") ?? "");
    const [, alpha] = [...(paths[0] ?? "").matchAll(/[ML]([\d.]+),([\d.]+)/g)].slice(-2).map((point) => Number(point[1]));
    expect(alpha).toBeGreaterThan(600);
    expect(texts(chart)).toEqual(expect.arrayContaining(["Alpha", "Beta", "0.5 ms", "5 ms", "50 %"]));
  });

  test("are named from the soonest to the latest", () => {
    expect(middle(line("a", 1e6, 0.9))).toBe(1e6);
    expect(middle(line("a", 1e6, 0.4))).toBe(Infinity);
  });
});

describe("latency against load", () => {
  const rated: RateLine = {
    name: "a",
    title: "Alpha",
    look,
    points: [{ offered: 10_000, ns: 1e6, low: 9e5, high: 1.1e6, isBound: false, load: "at 50 %" }, { offered: 19_000, ns: 4e6, low: 3e6, high: 5e6, isBound: false, load: "at 95 %" }],
    trials: [{ offered: 15_000, ns: 2e6, isBound: false, isVoid: false }, { offered: 18_000, ns: 3e6, isBound: true, isVoid: true }],
    redline: { kept: 17_000, missed: 17_300 },
  };

  test("shows the objective, the redline and void windows hollow", () => {
    const chart = ratesChart({ lines: [rated], percentile: "p99", longest: 1e7 }, theme, 800);
    expect(texts(chart)).toEqual(expect.arrayContaining(["Alpha", "objective: p99 < 10 ms", "Alpha: redline 17.0k"]));
    expect(chart.querySelectorAll(`g[aria-label="dot"][fill="${theme.paper}"] circle, g[aria-label="dot"] [fill="${theme.paper}"] circle`)).toHaveLength(1);
  });

  test("has two ticks of time at least, and labels no rate twice", () => {
    const near = [9_960, 10_012, 10_160].map((offered) => ({ offered, ns: 6.24e6, low: 6.2e6, high: 6.3e6, isBound: false, load: "common" }));
    const shown = texts(ratesChart({ lines: [{ ...rated, points: near, trials: [], redline: null }], percentile: "p99", longest: null }, theme, 976));
    expect(shown).toEqual(expect.arrayContaining(["5 ms", "10 ms"]));
    const rates = shown.filter((text) => /^[\d.]+k$/.test(text));
    expect(rates.length).toBeGreaterThan(1);
    expect(new Set(rates).size).toBe(rates.length);
    expect([10_000, 10_050, 10_100, 9_950].map(rateTick)).toEqual(["10k", "", "10.1k", "9.95k"]);
  });

  test("without an objective for the percentile shows none", () => {
    expect(texts(ratesChart({ lines: [rated], percentile: "p50", longest: null }, theme, 800)).join()).not.toContain("objective");
  });
});

test("published ratios stand beside ours on one axis", () => {
  const rows = [{ title: "Alpha", look, theirs: 3.2, ours: interval(1.8) }, { title: "Beta", look, theirs: 7, ours: null }];
  const chart = ratiosChart(rows, theme, 400);
  expect(texts(chart)).toEqual(expect.arrayContaining(["Alpha", "Beta", "1×", "5×"]));
  expect(chart.querySelectorAll('g[aria-label="dot"] circle')).toHaveLength(3);
  expect(ratioTicks([0.4, 3])).toEqual([0.5, 1, 2]);
  expect(ratioTicks([0.9, 1.9])).toEqual([1, 1.5]);
  expect(ratioTicks([0.95, 1.25])).toEqual([1, 1.1, 1.2]);
});
