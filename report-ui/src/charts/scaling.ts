/** Throughput against a number, connections or the work in a request: a line per contender with intervals, the limit dashed. */
import * as Plot from "@observablehq/plot";
import { rate, rateInterval, tick } from "../format";
import type { Theme } from "../theme";
import type { Interval } from "../types";
import { frame, reach } from "./common";
import { boundsOf, endNames, inFocus, strokes, type Line } from "./lines";

export interface ScalingPoint {
  connections: number;
  throughput: Interval;
}

export interface ScalingData {
  lines: Line<ScalingPoint>[];
  limit: Line<ScalingPoint> | null;
  levels: number[];
  /** What the levels are, and what a second counts. */
  label?: string;
  unit?: string;
}

type Flat = ScalingPoint & { line: Line<ScalingPoint> };

export function scalingChart(data: ScalingData, theme: Theme, width: number): Element {
  const lines = data.limit ? [...data.lines, data.limit] : data.lines;
  const flat = data.lines.flatMap((line) => line.points.map((point): Flat => ({ ...point, line })));
  const focus = flat.filter(({ line }) => !line.look.muted);
  const highest = Math.max(1, ...lines.flatMap((line) => line.points.map((point) => reach(point.throughput))));
  const top = highest * 1.02;
  const bounds = boundsOf(lines, width, 44);
  const ends = inFocus(lines).flatMap((line) => {
    const last = line.points.at(-1);
    return last ? [{ title: line.title, color: line.look.color, x: last.connections, y: last.throughput.estimate }] : [];
  });
  const at = { x: "connections", y: (d: Flat) => d.throughput.estimate } as const;
  return Plot.plot({
    ...frame(theme, width),
    ...bounds.margins,
    x: { type: "log", domain: extent(data.levels), label: data.label ?? "connections" },
    y: { domain: [0, top], tickFormat: (value: number) => tick(rate(value)), label: null, ticks: 5, tickSize: 0 },
    symbol: { type: "identity" },
    marks: [
      Plot.axisX(data.levels, { text: String, labelAnchor: "center", labelArrow: "none", tickSize: 0, tickPadding: 8 }),
      Plot.gridY({ stroke: theme.rule, strokeOpacity: 1, ticks: 5 }),
      Plot.ruleY([0], { stroke: theme.soft }),
      ...limitMarks(data.limit, top, theme),
      ...strokes(flat, at),
      Plot.ruleX(focus, { x: "connections", y1: (d: Flat) => d.throughput.low, y2: (d: Flat) => Math.min(d.throughput.high, top), stroke: (d: Flat) => d.line.look.color, strokeWidth: 5, strokeOpacity: 0.4 }),
      Plot.dot(focus, {
        ...at,
        fill: (d: Flat) => d.line.look.color,
        symbol: (d: Flat) => d.line.look.symbol,
        r: 3.8,
        title: (d: Flat) => `${d.line.title}\n${rateInterval(d.throughput).estimate} ${data.unit ?? "req/s"} at ${d.connections}\n${rateInterval(d.throughput).interval}`,
        tip: { fill: theme.paper, stroke: theme.rule },
      }),
      endNames(ends, bounds, theme),
    ],
  });
}

function limitMarks(limit: ScalingData["limit"], top: number, theme: Theme): Plot.Markish[] {
  if (!limit) return [];
  const points = limit.points;
  return [
    Plot.areaY(points, { x: "connections", y1: (d: ScalingPoint) => d.throughput.low, y2: (d: ScalingPoint) => Math.min(d.throughput.high, top), fill: theme.ink, fillOpacity: 0.08 }),
    Plot.line(points, { x: "connections", y: (d: ScalingPoint) => d.throughput.estimate, stroke: theme.ink, strokeDasharray: "4 3" }),
  ];
}

/** The levels' range, widened so that the outermost marks stand free. */
function extent(levels: readonly number[]): [number, number] {
  const low = Math.min(...levels);
  const high = Math.max(...levels);
  const air = (high / low) ** 0.03;
  return [low / air, high * air];
}
