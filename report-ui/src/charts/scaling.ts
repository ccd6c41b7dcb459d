/** Throughput against connections: a line per contender with intervals, the limit dashed. */
import * as Plot from "@observablehq/plot";
import { rate, rateInterval, tick } from "../format";
import type { Theme } from "../theme";
import type { Interval } from "../types";
import { frame } from "./common";
import { endNames, nameRoom, type Line } from "./lines";

export interface ScalingPoint {
  connections: number;
  throughput: Interval;
}

export interface ScalingData {
  lines: Line<ScalingPoint>[];
  limit: Line<ScalingPoint> | null;
  levels: number[];
}

export function scalingChart(data: ScalingData, theme: Theme, width: number): Element {
  const lines = data.limit ? [...data.lines, data.limit] : data.lines;
  const flat = data.lines.flatMap((line) => line.points.map((point) => ({ ...point, line })));
  const highest = Math.max(1, ...lines.flatMap((line) => line.points.map((point) => point.throughput.high)));
  const height = Math.round(Math.min(460, Math.max(280, width * 0.46)));
  const bounds = { top: 12, bottom: height - 42, right: nameRoom(lines.map((line) => line.title), width), width };
  const y = (value: number): number => bounds.bottom - (value / (highest * 1.02)) * (bounds.bottom - bounds.top);
  const ends = lines.flatMap((line) => {
    const last = line.points.at(-1);
    return last ? [{ title: line.title, color: line.look.color, at: last.throughput.estimate }] : [];
  });
  return Plot.plot({
    ...frame(theme, width),
    height,
    marginLeft: 44,
    marginRight: bounds.right,
    marginTop: bounds.top,
    marginBottom: 42,
    x: { type: "log", domain: extent(data.levels), ticks: data.levels, tickFormat: String, label: "connections", labelAnchor: "center", labelArrow: "none", tickSize: 0, tickPadding: 8 },
    y: { domain: [0, highest * 1.02], tickFormat: (value: number) => tick(rate(value)), label: null, ticks: 5, tickSize: 0 },
    symbol: { type: "identity" },
    marks: [
      Plot.gridY({ stroke: theme.rule, strokeOpacity: 1, ticks: 5 }),
      Plot.ruleY([0], { stroke: theme.soft }),
      ...limitMarks(data.limit, theme),
      Plot.line(flat, { x: "connections", y: (d: Flat) => d.throughput.estimate, z: (d: Flat) => d.line.name, stroke: (d: Flat) => d.line.look.color, strokeWidth: 1.75 }),
      Plot.ruleX(flat, { x: "connections", y1: (d: Flat) => d.throughput.low, y2: (d: Flat) => d.throughput.high, stroke: (d: Flat) => d.line.look.color, strokeWidth: 5, strokeOpacity: 0.4 }),
      Plot.dot(flat, {
        x: "connections",
        y: (d: Flat) => d.throughput.estimate,
        fill: (d: Flat) => d.line.look.color,
        symbol: (d: Flat) => d.line.look.symbol,
        r: 3.8,
        title: (d: Flat) => `${d.line.title}\n${rateInterval(d.throughput).estimate} req/s at ${d.connections}\n${rateInterval(d.throughput).interval}`,
        tip: { fill: theme.paper, stroke: theme.rule },
      }),
      endNames(ends, y, bounds, theme),
    ],
  });
}

type Flat = ScalingPoint & { line: Line<ScalingPoint> };

function limitMarks(limit: ScalingData["limit"], theme: Theme): Plot.Markish[] {
  if (!limit) return [];
  const points = limit.points;
  return [
    Plot.areaY(points, { x: "connections", y1: (d: ScalingPoint) => d.throughput.low, y2: (d: ScalingPoint) => d.throughput.high, fill: theme.ink, fillOpacity: 0.08 }),
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
