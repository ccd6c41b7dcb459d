/** Durations by percentile on an axis of equal nines: the median over the rounds, and a band from least to greatest. */
import * as Plot from "@observablehq/plot";
import { duration, percentile, tick } from "../format";
import type { Theme } from "../theme";
import { frame } from "./common";
import { boundsOf, endNames, inFocus, strokes, type Line } from "./lines";

const TICKS = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/** With more time ticks than this only the powers of ten stay. */
const MOST_TICKS = 10;

/** A quantile of a duration: over rounds the median, the least and the greatest. */
export interface CurvePoint {
  quantile: number;
  median_ns: number;
  low_ns: number;
  high_ns: number;
}

type Flat = CurvePoint & { line: Line<CurvePoint> };

/** Where a quantile stands: 90 % at 1, 99 % at 2, 99.9 % at 3. */
export const nines = (quantile: number): number => -Math.log10(1 - quantile);

export function curvesChart(lines: Line<CurvePoint>[], theme: Theme, width: number): Element {
  const flat = lines.flatMap((line) => line.points.map((point): Flat => ({ ...point, line })));
  const focus = flat.filter(({ line }) => !line.look.muted);
  const times = flat.flatMap((point) => [point.low_ns, point.high_ns]).filter((ns) => ns > 0);
  const [low, high] = withTicks(Math.min(...times) / 1.08, Math.max(...times) * 1.08);
  const reach = flat.map((point) => nines(point.quantile));
  const [first, last] = [Math.min(...reach), Math.max(...reach)];
  const bounds = boundsOf(lines, width, 58);
  const ends = inFocus(lines).flatMap((line) => {
    const end = line.points.at(-1);
    return end ? [{ title: line.title, color: line.look.color, x: nines(end.quantile), y: end.median_ns }] : [];
  });
  const perNine = (width - 58 - bounds.right) / (last - first);
  const crowded = perNine * (nines(0.9) - nines(0.5)) < 46;
  const ticks = TICKS.filter((quantile) => nines(quantile) <= last + 1e-9 && !(quantile === 0.5 && crowded));
  const at = { x: (d: Flat) => nines(d.quantile), y: "median_ns" } as const;
  return Plot.plot({
    ...frame(theme, width),
    ...bounds.margins,
    x: { domain: [first, last], ticks: ticks.map(nines), tickFormat: (x: number) => nineLabel(x), label: "percentile", labelAnchor: "center", labelArrow: "none", tickSize: 0, tickPadding: 8 },
    y: { type: "log", domain: [low, high], label: null },
    marks: [
      Plot.axisY(timeTicks(low, high), { text: timeLabel, tickSize: 0 }),
      Plot.gridY({ stroke: theme.rule, strokeOpacity: 1, ticks: timeTicks(low, high) }),
      Plot.gridX({ stroke: theme.rule, strokeOpacity: 1, ticks: ticks.map(nines) }),
      Plot.areaY(focus, { x: at.x, y1: "low_ns", y2: "high_ns", z: (d: Flat) => d.line.name, fill: (d: Flat) => d.line.look.color, fillOpacity: 0.16 }),
      ...strokes(flat, at),
      Plot.tip(focus, Plot.pointer({
        ...at,
        title: (d: Flat) => `${d.line.title}\n${percentile(d.quantile)} % within ${duration(d.median_ns)}\nrounds: ${duration(d.low_ns)} … ${duration(d.high_ns)}`,
        fill: theme.paper,
        stroke: theme.rule,
      })),
      endNames(ends, bounds, theme),
    ],
  });
}

function nineLabel(x: number): string {
  return `${percentile(1 - 10 ** -x)} %`;
}

/** The label of a time. It is given as text because Plot leaves out some formatted labels of a logarithmic axis. */
export const timeLabel = (ns: number): string => tick(duration(ns));

/** A range that has two ticks at least: it reaches as far as the next 1, 2 or 5 times a power of ten on either side where it had fewer. */
export function withTicks(low: number, high: number): [low: number, high: number] {
  if (timeTicks(low, high).length > 1) return [low, high];
  const steps = timeTicks(low / 10, high * 10);
  return [steps.findLast((step) => step <= low) ?? low, steps.find((step) => step >= high) ?? high];
}

/** 1, 2 and 5 times the powers of ten inside the range, or the powers alone in a wide one. */
export function timeTicks(low: number, high: number): number[] {
  const ticks: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    ticks.push(...[1, 2, 5].map((step) => step * power).filter((tick) => tick >= low && tick <= high));
  }
  return ticks.length > MOST_TICKS ? ticks.filter((tick) => /^1(e|0|$)/.test(String(tick))) : ticks;
}
