/** Which share of the requests was answered within a time, on a logarithmic axis of time. */
import * as Plot from "@observablehq/plot";
import { duration, percent, percentOfAll } from "../format";
import type { Theme } from "../theme";
import { frame, NARROW } from "./common";
import { timeLabel, timeTicks } from "./curves";
import { boundsOf, endNames, inFocus, strokes, type Line } from "./lines";

export interface SharePoint {
  ns: number;
  /** Share of all requests that were answered rightly within it, 0 to 1. */
  share: number;
}

type Flat = SharePoint & { line: Line<SharePoint> };

export function sharesChart(lines: Line<SharePoint>[], theme: Theme, width: number): Element {
  const ends = lines.map((line) => line.points.at(-1)?.ns ?? 1);
  const last = Math.max(...ends);
  const first = Math.min(last / 10, ...lines.map((line) => line.points[0]?.ns ?? last));
  // Beyond its last answer a line stays where it is: whatever is missing never came.
  const flat = lines.flatMap((line) => {
    const end = line.points.at(-1);
    const points = end && end.ns < last ? [...line.points, { ns: last, share: end.share }] : line.points;
    return points.map((point): Flat => ({ ...point, line }));
  });
  const bounds = boundsOf(lines, width, 46);
  const byMedian = [...inFocus(lines)].sort((a, b) => middle(a) - middle(b));
  const names = byMedian.map((line) => ({ title: line.title, color: line.look.color, x: last, y: line.points.at(-1)?.share ?? 0 }));
  const at = { x: "ns", y: "share" } as const;
  const ticks = timeTicks(first, last).filter((ns) => width > NARROW || /^1/.test(String(ns)));
  return Plot.plot({
    ...frame(theme, width),
    ...bounds.margins,
    x: { type: "log", domain: [first, last], label: "answered within" },
    y: { domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1], tickFormat: percent, label: null, tickSize: 0 },
    marks: [
      Plot.axisX(ticks, { text: timeLabel, labelAnchor: "center", labelArrow: "none", tickSize: 0, tickPadding: 8 }),
      Plot.gridY({ stroke: theme.rule, strokeOpacity: 1, ticks: [0, 0.25, 0.5, 0.75, 1] }),
      Plot.gridX({ stroke: theme.rule, strokeOpacity: 1, ticks }),
      ...strokes(flat, at),
      Plot.tip(flat.filter(({ line }) => !line.look.muted), Plot.pointer({ ...at, title: (d: Flat) => `${d.line.title}\n${percentOfAll(d.share)} within ${duration(d.ns)}`, fill: theme.paper, stroke: theme.rule })),
      endNames(names, bounds, theme),
    ],
  });
}

/** The first bound within which half of the requests were answered. */
export function middle(line: Line<SharePoint>): number {
  return line.points.find((point) => point.share >= 0.5)?.ns ?? Infinity;
}
