/** A percentile of the response time against the offered rate; the objective as a line, each redline as a band below it. */
import * as Plot from "@observablehq/plot";
import { boundedDuration, duration, rate, rateTick, tick } from "../format";
import type { Theme } from "../theme";
import { frame } from "./common";
import { timeLabel, timeTicks, withTicks } from "./curves";
import { boundsOf, endNames, inFocus, strokes, type End, type Line } from "./lines";

export interface RatePoint {
  offered: number;
  ns: number;
  low: number;
  high: number;
  /** Whether it is only known that it took longer. */
  isBound: boolean;
  /** The load, in words. */
  load: string;
}

/** A window of the search for a redline. */
export interface Trial {
  offered: number;
  ns: number;
  isBound: boolean;
  isVoid: boolean;
}

export interface RateLine extends Line<RatePoint> {
  trials: Trial[];
  /** Between the rate that was kept and the one that was missed. */
  redline: { kept: number; missed: number | null } | null;
}

export interface RatesData {
  lines: RateLine[];
  percentile: string;
  /** The objective, if it is one for this percentile. */
  longest: number | null;
}

type Flat = RatePoint & { line: RateLine };
type FlatTrial = Trial & { line: RateLine };

export function ratesChart(data: RatesData, theme: Theme, width: number): Element {
  const { lines, longest } = data;
  const flat = lines.flatMap((line) => line.points.map((point): Flat => ({ ...point, line })));
  const focus = flat.filter(({ line }) => !line.look.muted);
  const trials = inFocus(lines).flatMap((line) => (line as RateLine).trials.map((trial): FlatTrial => ({ ...trial, line: line as RateLine })));
  const times = [...flat.flatMap((point) => [point.low, point.high]), ...trials.map((trial) => trial.ns), ...(longest ? [longest] : [])].filter((ns) => ns > 0);
  const [low, high] = withTicks(Math.min(...times) / 1.15, Math.max(...times) * 1.15);
  const rates = [...flat, ...trials].map((point) => point.offered);
  const domain = rateDomain(rates);
  const bounds = boundsOf(lines, width, 62);
  const at = { x: "offered", y: "ns" } as const;
  return Plot.plot({
    ...frame(theme, width),
    ...bounds.margins,
    x: { domain, label: "offered requests per second", labelAnchor: "center", labelArrow: "none", tickFormat: rateTick, ticks: Math.max(3, Math.floor(width / 140)), tickSize: 0, tickPadding: 8 },
    y: { type: "log", domain: [low, high], label: null },
    marks: [
      Plot.axisY(timeTicks(low, high), { text: timeLabel, tickSize: 0 }),
      Plot.gridY({ stroke: theme.rule, strokeOpacity: 1, ticks: timeTicks(low, high) }),
      ...objective(data, theme),
      ...redlines(lines, domain, theme),
      Plot.dot(trials.filter((trial) => !trial.isVoid), { ...at, fill: (d: FlatTrial) => d.line.look.color, fillOpacity: 0.55, r: 2.6 }),
      Plot.dot(trials.filter((trial) => trial.isVoid), { ...at, stroke: (d: FlatTrial) => d.line.look.color, fill: theme.paper, r: 2.6 }),
      ...strokes(flat, at),
      Plot.ruleX(focus, { x: "offered", y1: "low", y2: "high", stroke: (d: Flat) => d.line.look.color, strokeWidth: 5, strokeOpacity: 0.35 }),
      Plot.dot(focus, { ...at, fill: (d: Flat) => d.line.look.color, r: 3.6 }),
      Plot.tip([...focus, ...trials], Plot.pointer({ ...at, title: (d: Flat | FlatTrial) => describe(d, data.percentile), fill: theme.paper, stroke: theme.rule })),
      endNames(ends(lines), bounds, theme),
    ],
  });
}

function rateDomain(rates: readonly number[]): [number, number] {
  const most = Math.max(...rates);
  const least = Math.min(...rates);
  // A search close to one rate would be a heap of dots on an axis from zero.
  return least > most / 2 ? [least - (most - least) * 0.08 - most * 0.01, most * 1.02] : [0, most * 1.04];
}

function ends(lines: readonly RateLine[]): End[] {
  return (inFocus(lines) as RateLine[]).flatMap((line) => {
    const last = line.points.at(-1) ?? line.trials.slice().sort((a, b) => a.offered - b.offered).at(-1);
    return last ? [{ title: line.title, color: line.look.color, x: last.offered, y: last.ns }] : [];
  });
}

function objective({ longest, percentile }: RatesData, theme: Theme): Plot.Markish[] {
  if (longest === null) return [];
  return [
    Plot.ruleY([longest], { stroke: theme.caution, strokeDasharray: "4 3" }),
    Plot.text([longest], { y: (ns: number) => ns, text: [`objective: ${percentile} < ${tick(duration(longest))}`], frameAnchor: "left", textAnchor: "start", dx: 6, dy: -9, fill: theme.caution, stroke: theme.paper, strokeWidth: 4 }),
  ];
}

function redlines(lines: readonly RateLine[], domain: [number, number], theme: Theme): Plot.Markish[] {
  const found = (inFocus(lines) as RateLine[]).flatMap((line) => (line.redline ? [{ line, kept: line.redline.kept, missed: line.redline.missed ?? domain[1] }] : []));
  return found.flatMap(({ line, kept, missed }, i) => [
    Plot.rect([0], { x1: kept, x2: missed, fill: line.look.color, fillOpacity: 0.22 }),
    Plot.ruleX([kept], { stroke: line.look.color, strokeWidth: 1.5 }),
    Plot.text([kept], { x: kept, text: [`${line.title}: redline ${rate(kept)}`], frameAnchor: "bottom", textAnchor: "end", dx: -6, dy: -8 - i * 17, fill: theme.ink, stroke: theme.paper, strokeWidth: 4 }),
  ]);
}

function describe(point: Flat | FlatTrial, percentile: string): string {
  const head = `${point.line.title}\n${percentile} ${boundedDuration(point.ns, point.isBound)} at ${rate(point.offered)} req/s`;
  if ("load" in point) return `${head}\n${point.load}, ${point.isBound ? `from ${duration(point.low)}` : `${duration(point.low)} … ${duration(point.high)}`}`;
  return `${head}\n${point.isVoid ? "void window" : "a window"} of the search`;
}
