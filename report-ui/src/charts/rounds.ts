/** Every raw round: a row for each contender, a mark for each window where its throughput lies, hollow when void. */
import * as Plot from "@observablehq/plot";
import { rate, tick } from "../format";
import type { Theme } from "../theme";
import { frame, nameIn, NARROW, widest } from "./common";
import type { RoundDot, RoundStrip } from "./over-time";

interface Placed extends RoundDot {
  name: string;
  title: string;
  color: string;
  perSecond: number;
  /** From the first round at the top to the last at the bottom of the row, −1 to 1. */
  level: number;
}

const ROW = 30;

export function rawRoundsChart(strips: readonly RoundStrip[], theme: Theme, width: number): Element {
  const rounds = Math.max(1, ...strips.flatMap((strip) => strip.dots.map((dot) => dot.round)));
  const placed = strips.flatMap((strip) => strip.dots.flatMap((dot) => place(strip, dot, rounds)));
  const narrow = width < NARROW;
  const left = narrow ? 4 : Math.min(widest(strips.map((strip) => strip.title), true), width * 0.25) + 12;
  const row = narrow ? ROW + 18 : ROW;
  const high = Math.max(1, ...placed.map((dot) => dot.perSecond));
  const at = { fy: "name", x: "perSecond", y: "level" } as const;
  return Plot.plot({
    ...frame(theme, width),
    height: strips.length * row + 34,
    marginLeft: left,
    marginRight: 12,
    marginTop: 4,
    marginBottom: 30,
    x: { domain: [0, high * 1.02], label: null, tickFormat: (x: number) => tick(rate(x)), ticks: Math.max(3, Math.floor(width / 140)), tickSize: 0 },
    y: { domain: [narrow ? -3.4 : -1.5, 1.5], reverse: true, axis: null },
    fy: { domain: strips.map((strip) => strip.name), axis: null, padding: 0 },
    marks: [
      Plot.frame({ anchor: "bottom", stroke: theme.rule, insetLeft: -left }),
      Plot.gridX({ stroke: theme.rule, strokeOpacity: 1 }),
      Plot.text(strips, { fy: "name", ...nameIn((narrow ? width : left) - 12, (strip: RoundStrip) => strip.title), frameAnchor: narrow ? "top-left" : "left", textAnchor: "start", dx: narrow ? 0 : -left, dy: narrow ? 4 : 0, fill: theme.ink }),
      Plot.dot(placed.filter((dot) => dot.why === ""), { ...at, fill: "color", fillOpacity: 0.85, r: 2.6 }),
      Plot.dot(placed.filter((dot) => dot.why !== ""), { ...at, stroke: "color", fill: theme.paper, r: 2.8, strokeWidth: 1.3 }),
      Plot.tip(placed, Plot.pointer({ ...at, title: describe, fill: theme.paper, stroke: theme.rule })),
    ],
  });
}

function place(strip: RoundStrip, dot: RoundDot, rounds: number): Placed[] {
  if (dot.perSecond === null) return [];
  return [{ ...dot, perSecond: dot.perSecond, name: strip.name, title: strip.title, color: strip.look.color, level: (2 * dot.round) / rounds - 1 }];
}

function describe(dot: Placed): string {
  return `${dot.title}, round ${dot.round + 1}\n${rate(dot.perSecond)} req/s${dot.why === "" ? "" : `\n${dot.why}`}`;
}
