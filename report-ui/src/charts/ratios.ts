/** Ratios to the same baseline, up to two in each row: what others published, hollow, and what was found here with its interval. */
import * as Plot from "@observablehq/plot";
import { ratio, ratioInterval, tick } from "../format";
import type { Look, Theme } from "../theme";
import type { Interval } from "../types";
import { frame, nameIn, widest } from "./common";

export interface RatioRow {
  title: string;
  look: Look;
  theirs: number | null;
  ours: Interval | null;
}

const ROW = 26;

export function ratiosChart(rows: readonly RatioRow[], theme: Theme, width: number): Element {
  const left = Math.min(widest(rows.map((row) => row.title), true), width * 0.42) + 10;
  const values = rows.flatMap((row) => [row.theirs ?? 1, row.ours?.low ?? 1, row.ours?.high ?? 1]).filter((value) => value > 0);
  const domain: [number, number] = [Math.min(1, ...values) / 1.15, Math.max(1, ...values) * 1.15];
  const at = (_: RatioRow, i: number): number => i;
  const both = rows.map((row, i) => ({ ...row, i })).filter((row) => row.theirs !== null && row.ours !== null);
  const ours = rows.map((row, i) => ({ ...row, i })).filter((row): row is RatioRow & { i: number; ours: Interval } => row.ours !== null);
  const theirs = rows.map((row, i) => ({ ...row, i })).filter((row) => row.theirs !== null);
  return Plot.plot({
    ...frame(theme, width),
    height: rows.length * ROW + 32,
    marginLeft: left,
    marginRight: 14,
    marginTop: 4,
    marginBottom: 28,
    x: { type: "log", domain, label: null },
    y: { type: "band", domain: rows.map((_, i) => i), padding: 0, axis: null },
    marks: [
      Plot.axisX(ratioTicks(domain), { text: (x: number) => tick(ratio(x)), tickSize: 0 }),
      Plot.gridX({ stroke: theme.rule, strokeOpacity: 1, ticks: ratioTicks(domain) }),
      Plot.ruleX([1], { stroke: theme.soft }),
      Plot.ruleY(both, { y: "i", x1: "theirs", x2: (row: (typeof ours)[number]) => row.ours.estimate, stroke: (row: RatioRow) => row.look.color, strokeOpacity: 0.5 }),
      Plot.ruleY(ours, { y: "i", x1: (row: (typeof ours)[number]) => row.ours.low, x2: (row: (typeof ours)[number]) => row.ours.high, stroke: (row: RatioRow) => row.look.color, strokeWidth: 7, strokeOpacity: 0.35 }),
      Plot.dot(theirs, { y: "i", x: "theirs", stroke: theme.soft, fill: theme.paper, strokeWidth: 1.5, r: 3.6 }),
      Plot.dot(ours, { y: "i", x: (row: (typeof ours)[number]) => row.ours.estimate, fill: (row: RatioRow) => row.look.color, r: 3.8, title: describe, tip: { fill: theme.paper, stroke: theme.rule } }),
      Plot.text(rows, { y: at, ...nameIn(left - 10, (row: RatioRow) => row.title), frameAnchor: "left", textAnchor: "start", dx: -left, fill: (row: RatioRow) => (row.ours ? theme.ink : theme.soft) }),
    ],
  });
}

function describe({ title, theirs, ours }: RatioRow): string {
  const published = theirs === null ? "" : `\npublished ${ratio(theirs)}`;
  return `${title}${published}${ours ? `\nhere ${ratio(ours.estimate)}\n${ratioInterval(ours)}` : ""}`;
}

const ROUND = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
/** For ranges in which only one of those lies. */
const FINE = [0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 1.7];
/** Narrower ranges than this have room for tenths on both sides of 1. */
const NARROW_RANGE = 1.6;

/** Round ratios inside the range. */
export function ratioTicks([low, high]: readonly [number, number]): number[] {
  const inside = (all: readonly number[]): number[] => all.filter((ratio) => ratio >= low && ratio <= high);
  const round = inside(ROUND);
  if (round.length > 1) return round;
  return high / low < NARROW_RANGE ? inside(FINE) : inside([0.7, 1, 1.5]);
}
