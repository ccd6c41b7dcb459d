import { describe, expect, test } from "vitest";
import { flameChart, titleOf } from "../src/charts/flame";
import { codeOf, partsChart } from "../src/charts/parts";
import { callAt, foundShare, hottest, pathOf, treeOf } from "../src/flame";
import type { Flame, PartName, Spending } from "../src/types";
import { theme } from "./fixtures";

const interval = (estimate: number): { estimate: number; low: number; high: number; confidence: number } => ({ estimate, low: estimate, high: estimate, confidence: 0.95 });

/** all → main → (handle → write, wait) */
const flame = (ns: number[]): Flame => ({ contender: "a", offered: "max", restarts: 5, names: ["all", "main", "handle", "write", "wait"], kinds: ["unknown", "native", "native", "kernel", "kernel"], depth: [0, 1, 2, 3, 2], name: [0, 1, 2, 3, 4], ns });
const one = flame([10_000, 10_000, 6_000, 4_000, 3_000]);
const other = flame([8_000, 8_000, 5_000, 1_000, 2_000]);

describe("calls", () => {
  test("are a tree whose callers lead to the root", () => {
    const write = callAt(treeOf(one), ["main", "handle", "write"]);
    expect(pathOf(write).map(({ name }) => name)).toEqual(["all", "main", "handle", "write"]);
    expect([write.ns, write.base]).toEqual([4_000, null]);
    expect(callAt(treeOf(one), ["main", "gone", "write"]).name, "as far as names lead").toBe("main");
  });

  test("are compared where the same functions call them", () => {
    const root = treeOf(one, { ...other, names: ["all", "main", "handle", "send", "wait"] });
    expect([callAt(root, ["main", "handle"]).base, callAt(root, ["main", "handle", "write"]).base, callAt(root, ["main", "wait"]).base]).toEqual([5_000, 0, 2_000]);
  });

  test("have their own time, which adds up to that of the root", () => {
    const hot = hottest(treeOf(one), treeOf(other));
    expect(hot.map(({ name, own, base }) => [name, own, base])).toEqual([["write", 4_000, 1_000], ["wait", 3_000, 2_000], ["handle", 2_000, 4_000], ["main", 1_000, 1_000]]);
    expect(hot.reduce((sum, { own }) => sum + own, 0)).toBe(10_000);
  });

  test("of a function that calls itself count once", () => {
    const again: Flame = { ...one, names: ["all", "walk"], kinds: ["unknown", "native"], depth: [0, 1, 2], name: [0, 1, 1], ns: [100, 100, 60] };
    expect(hottest(treeOf(again))).toEqual([{ name: "walk", own: 100, total: 100, base: null }]);
  });

  test("are found with what they call, a match within a match once", () => {
    expect(foundShare(treeOf(one), "HANDLE")).toBeCloseTo(0.6);
    expect(foundShare(treeOf(one), "a")).toBeCloseTo(1);
    expect(foundShare(treeOf(one), "")).toBe(0);
  });
});

describe("a flame graph", () => {
  const rects = (chart: Element): number[] => [...chart.querySelectorAll("rect")].map((rect) => Number(rect.getAttribute("width")));

  test("draws each call as wide as its time, and the call that is looked at over the whole width", () => {
    const root = treeOf(one);
    expect(rects(flameChart({ zoom: root, find: "", onZoom: () => undefined }, theme, 1000)).map(Math.round)).toEqual([999, 999, 599, 399, 299]);
    const zoomed = flameChart({ zoom: callAt(root, ["main", "handle"]), find: "", onZoom: () => undefined }, theme, 1000);
    expect(rects(zoomed).map(Math.round), "its callers, itself, and what it calls").toEqual([999, 999, 999, 666]);
  });

  test("goes to the call that is pressed, and marks what is found", () => {
    const pressed: string[] = [];
    const chart = flameChart({ zoom: treeOf(one), find: "wait", onZoom: ({ name }) => pressed.push(name) }, theme, 1000);
    chart.querySelectorAll("g.call")[2]?.dispatchEvent(new Event("click"));
    expect(pressed).toEqual(["handle"]);
    expect([...chart.querySelectorAll("rect[stroke]")].map((rect) => rect.parentElement?.querySelector("text")?.textContent)).toEqual(["wait"]);
  });

  test("has a colour for each sort of code, and others for more and less", () => {
    const fills = (chart: Element): (string | null)[] => [...chart.querySelectorAll("rect")].map((rect) => rect.getAttribute("fill"));
    const draw = (root: ReturnType<typeof treeOf>): Element => flameChart({ zoom: root, find: "", onZoom: () => undefined }, theme, 1000);
    const { native, kernel, unknown } = theme.code;
    expect(fills(draw(treeOf(one)))).toEqual([unknown, native, native, kernel, kernel]);
    expect(new Set(fills(draw(treeOf(one, other))))).toEqual(new Set([theme.more]));
    expect(new Set(fills(draw(treeOf(other, one))))).toEqual(new Set([theme.less]));
  });

  test("tells by how much a call differs", () => {
    expect(titleOf(callAt(treeOf(one, other), ["main", "handle", "write"]))).toBe("write\n4.00 µs for each answer, 40 %\n+3.00 µs against 1.00 µs");
  });

  test("of nothing is empty, not an error", () => {
    const nothing = treeOf({ ...one, names: [], kinds: [], depth: [], name: [], ns: [] });
    expect(flameChart({ zoom: nothing, find: "", onZoom: () => undefined }, theme, 280).querySelectorAll("rect")).toHaveLength(1);
  });
});

test("a part has the colour of its sort of code, none of a contender's", () => {
  const part = (part: PartName["part"], is_kernel: boolean): PartName => ({ part, name: part, is_kernel });
  const parts = [part("send", true), part("runtime", false), part("jit", false), part("unassigned", false)];
  expect(parts.map(codeOf)).toEqual(["kernel", "native", "jit", "unknown"]);
  const spending = { contender: "a", restarts: 5, samples: 100, cpu_ns: interval(4_000), sampled_share: 1, unnamed_share: 0, parts: parts.map(({ part }) => ({ part, ns: interval(1_000) })), counts: [] };
  const fills = [...partsChart({ rows: [spending], parts }, theme, 900).querySelectorAll('g[aria-label="bar"] rect')].map((bar) => bar.getAttribute("fill"));
  expect(fills).toEqual(Object.values(theme.code));
});

test("bars of parts have one scale and one order", () => {
  const parts: PartName[] = [{ part: "send", name: "TCP send", is_kernel: true }, { part: "application", name: "own code", is_kernel: false }];
  const spending = (contender: string, send: number, own: number): Spending => ({ contender, restarts: 5, samples: 100, cpu_ns: interval(send + own), sampled_share: 1, unnamed_share: 0, parts: [{ part: "application", ns: interval(own) }, { part: "send", ns: interval(send) }], counts: [] });
  for (const width of [280, 900, 2400]) {
    const chart = partsChart({ rows: [spending("a", 4_000, 2_000), spending("b", 4_000, 6_000)], parts }, theme, width);
    const bars = [...chart.querySelectorAll('g[aria-label="bar"] rect')].map((rect) => [Number(rect.getAttribute("x")), Number(rect.getAttribute("width"))] as const);
    const [sendA, ownA, sendB, ownB] = bars.map(([, wide]) => wide) as [number, number, number, number];
    expect(sendA).toBeCloseTo(sendB, 0);
    expect(ownB / ownA).toBeCloseTo(3, 0);
    expect(bars[0]?.[0], "the kernel's first").toBeCloseTo(bars[2]?.[0] ?? NaN, 0);
    expect(chart.getAttribute("width")).toBe(String(width));
  }
});
