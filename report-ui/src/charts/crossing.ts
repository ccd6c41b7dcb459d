/** A ratio against a number, such as the size of a body: a line per contender with intervals, and where both are equal. */
import * as Plot from "@observablehq/plot";
import { ratio, ratioInterval, tick } from "../format";
import type { Theme } from "../theme";
import type { Interval } from "../types";
import { frame } from "./common";
import { boundsOf, endNames, inFocus, strokes, type End, type Line } from "./lines";
import { ratioTicks } from "./ratios";

export interface CrossingPoint {
  number: number;
  ratio: Interval;
}

export interface CrossingData {
  lines: Line<CrossingPoint>[];
  /** What the number is called: `bytes`. */
  label: string;
}

type Flat = CrossingPoint & { line: Line<CrossingPoint> };

/** Both axes are logarithmic: half and twice are equally far from equal. */
export function crossingChart({ lines, label }: CrossingData, theme: Theme, width: number): Element {
  const flat = lines.flatMap((line) => line.points.map((point): Flat => ({ ...point, line })));
  const focus = flat.filter(({ line }) => !line.look.muted);
  const numbers = [...new Set(flat.map((point) => point.number))].sort((a, b) => a - b);
  const domain: [number, number] = [Math.min(1, ...flat.map((d) => d.ratio.low)) / 1.1, Math.max(1, ...flat.map((d) => d.ratio.high)) * 1.1];
  const bounds = boundsOf(lines, width, 44);
  const at = { x: "number", y: (d: Flat) => d.ratio.estimate } as const;
  return Plot.plot({
    ...frame(theme, width),
    ...bounds.margins,
    x: { type: "log", label },
    y: { type: "log", domain, label: null },
    symbol: { type: "identity" },
    marks: [
      Plot.axisX(numbers, { text: String, labelAnchor: "center", labelArrow: "none", tickSize: 0, tickPadding: 8 }),
      Plot.axisY(ratioTicks(domain), { text: (value: number) => tick(ratio(value)), tickSize: 0 }),
      Plot.gridY({ stroke: theme.rule, strokeOpacity: 1, ticks: ratioTicks(domain) }),
      Plot.ruleY([1], { stroke: theme.soft }),
      ...strokes(flat, at),
      Plot.ruleX(focus, { x: "number", y1: (d: Flat) => d.ratio.low, y2: (d: Flat) => d.ratio.high, stroke: (d: Flat) => d.line.look.color, strokeWidth: 5, strokeOpacity: 0.4 }),
      Plot.dot(focus, {
        ...at,
        fill: (d: Flat) => d.line.look.color,
        symbol: (d: Flat) => d.line.look.symbol,
        r: 3.8,
        title: (d: Flat) => `${d.line.title}\n${ratio(d.ratio.estimate)} at ${d.number} ${label}\n${ratioInterval(d.ratio)}`,
        tip: { fill: theme.paper, stroke: theme.rule },
      }),
      endNames(endsOf(lines), bounds, theme),
    ],
  });
}

function endsOf(lines: readonly Line<CrossingPoint>[]): End[] {
  return inFocus(lines).flatMap(({ title, look, points }) => {
    const last = points.at(-1);
    return last ? [{ title, color: look.color, x: last.number, y: last.ratio.estimate }] : [];
  });
}
