/**
 * Every measured window in true order: one strip per contender, how far each window lies from that contender's own
 * middle. Windows that something speaks against are hollow; a cross is a run that died before this cell.
 */
import * as Plot from "@observablehq/plot";
import { rate, signedPercent, span, tick } from "../format";
import type { Look, Theme } from "../theme";
import { frame, nameIn, NARROW, widest } from "./common";

export interface RoundDot {
  offsetNs: number;
  round: number;
  /** Absent where the run died before this cell. */
  perSecond: number | null;
  /** The same at the machine's usual speed; absent where it does not count. */
  usualPerSecond: number | null;
  /** What speaks against it; empty for a sound one. */
  why: string;
}

export interface RoundStrip {
  name: string;
  title: string;
  look: Look;
  dots: RoundDot[];
}

export interface RoundsData {
  strips: RoundStrip[];
  /** When each round began, in nanoseconds after the start. */
  starts: number[];
  /** When the last one had ended. */
  end: number;
}

interface Placed extends RoundDot {
  name: string;
  title: string;
  color: string;
  deviation: number;
  shown: number;
}

/** Where names stand in their strips these reach up by so many ranges, so that no window lies under a name. */
const NAME_ROOM = 1.9;
/** The strips' vertical range is never finer than this, so that quiet rounds look quiet. */
const LEAST_RANGE = 0.02;
const SECOND_NS = 1e9;
/** How far apart the ticks of time may be, in seconds. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 18_000, 36_000];
const DAY = 86_400;

/** The middle from which a strip's deviations are taken: the median of the sound ones, else of all. */
export function middleOf(dots: readonly RoundDot[]): number | null {
  const all = dots.filter((dot) => dot.perSecond !== null);
  const counted = all.filter((dot) => dot.why === "");
  const values = (counted.length > 0 ? counted : all).map((dot) => dot.perSecond ?? 0).sort((a, b) => a - b);
  const [low, high] = [values[(values.length - 1) >> 1], values[values.length >> 1]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

export function overTimeChart(data: RoundsData, theme: Theme, width: number): Element {
  const placed = data.strips.flatMap(place);
  const counted = placed.filter((dot) => dot.why === "");
  const range = Math.max(LEAST_RANGE, ...(counted.length > 0 ? counted : placed).map((dot) => Math.abs(dot.deviation))) * 1.15;
  for (const dot of placed) dot.shown = Math.max(-range, Math.min(range, dot.deviation));
  const narrow = width < NARROW;
  const left = narrow ? 44 : Math.min(widest(data.strips.map((strip) => strip.title), true), width * 0.25) + 50;
  return Plot.plot({
    ...frame(theme, width),
    height: data.strips.length * (narrow ? 74 : 52) + 60,
    marginLeft: left,
    marginRight: 8,
    marginTop: 24,
    marginBottom: 36,
    x: { domain: [0, data.end], label: "time since the start", labelAnchor: "center", labelArrow: "none", tickFormat: (ns: number) => tick(span(ns)).replace(" 0 s", ""), ticks: timeSteps(data, width), tickSize: 0 },
    y: { domain: [-range, narrow ? range * NAME_ROOM : range], label: null, axis: null },
    fy: { domain: data.strips.map((strip) => strip.name), axis: null, padding: 0.16 },
    marks: [
      ...rangeLabels(data.strips[0], rounded(range), theme),
      Plot.frame({ fill: theme.band, fillOpacity: 0.7 }),
      Plot.ruleY([0], { stroke: theme.soft, strokeOpacity: 0.6 }),
      Plot.ruleX(data.starts, { stroke: theme.paper, strokeWidth: 2 }),
      Plot.text(data.starts.map((ns, round) => ({ ns, round, name: data.strips[0]?.name })), { x: "ns", fy: "name", text: (d: { round: number }) => (narrow ? `${d.round + 1}` : `round ${d.round + 1}`), frameAnchor: "top", textAnchor: "start", dy: -13, dx: 3, fill: theme.soft }),
      ...names(data.strips, narrow ? width - 68 : left - 50, left, narrow, theme),
      ...dots(placed, data.end, theme),
    ],
  });
}

function place(strip: RoundStrip): Placed[] {
  const middle = middleOf(strip.dots);
  return strip.dots.map((dot) => {
    const deviation = dot.perSecond === null || middle === null || middle === 0 ? 0 : dot.perSecond / middle - 1;
    return { ...dot, name: strip.name, title: strip.title, color: strip.look.color, deviation, shown: deviation };
  });
}

/** The range, written once: all strips share it. */
function rangeLabels(first: RoundStrip | undefined, range: number, theme: Theme): Plot.Markish[] {
  const ends = first ? [range, -range].map((share) => ({ share, name: first.name })) : [];
  return [
    Plot.text(ends, { fy: "name", y: "share", frameAnchor: "left", textAnchor: "end", dx: -6, text: (d: { share: number }) => tick(signedPercent(d.share)), fill: theme.soft, fontSize: 11 }),
  ];
}

function names(strips: RoundStrip[], room: number, left: number, narrow: boolean, theme: Theme): Plot.Markish[] {
  return [
    Plot.text(strips, {
      fy: "name",
      ...nameIn(room, (strip: RoundStrip) => strip.title),
      frameAnchor: narrow ? "top-left" : "left",
      textAnchor: "start",
      dx: narrow ? 6 : -left,
      dy: narrow ? 4 : 0,
      fill: theme.ink,
    }),
  ];
}

function dots(placed: Placed[], end: number, theme: Theme): Plot.Markish[] {
  const windows = placed.filter((dot) => dot.perSecond !== null);
  const common = { x: "offsetNs", y: "shown", fy: "name" } as const;
  const cut = windows.filter((dot) => dot.shown !== dot.deviation);
  return [
    Plot.dot(windows.filter((dot) => dot.why !== ""), { ...common, stroke: "color", fill: theme.paper, r: 3.6, strokeWidth: 1.5 }),
    Plot.dot(windows.filter((dot) => dot.why === ""), { ...common, fill: "color", r: 3.6 }),
    ...cutLabels(cut, end, theme),
    Plot.dot(placed.filter((dot) => dot.perSecond === null), { x: "offsetNs", y: 0, fy: "name", symbol: "times", stroke: theme.caution, strokeWidth: 2, r: 5 }),
    Plot.tip(placed, Plot.pointer({ ...common, title: describe, fill: theme.paper, stroke: theme.rule })),
  ];
}

/** How far off the windows are that lie beyond their strip; the labels stay inside the strip and the chart. */
function cutLabels(cut: Placed[], end: number, theme: Theme): Plot.Markish[] {
  const isLate = (dot: Placed): boolean => dot.offsetNs > end * 0.88;
  return [true, false].flatMap((late) =>
    [true, false].map((high) =>
      Plot.text(cut.filter((dot) => isLate(dot) === late && dot.deviation > 0 === high), {
        x: "offsetNs",
        y: "shown",
        fy: "name",
        text: (dot: Placed) => signedPercent(dot.deviation),
        dx: late ? -9 : 9,
        dy: high ? 5 : -5,
        textAnchor: late ? "end" : "start",
        fill: theme.caution,
      }),
    ),
  );
}

function describe(dot: Placed): string {
  const speed = dot.perSecond === null ? "" : `\n${rate(dot.perSecond)} req/s, ${signedPercent(dot.deviation)}`;
  return `${dot.title}, round ${dot.round + 1}${speed}${dot.why === "" ? "" : `\n${dot.why}`}`;
}

/** The range, as the nearest round figure below it. */
function rounded(range: number): number {
  const unit = 10 ** Math.floor(Math.log10(range));
  return Math.floor(range / unit) * unit;
}

/** Whole seconds or minutes, for about one tick every 110 pixels. */
function timeSteps({ end }: RoundsData, width: number): number[] {
  const wanted = Math.max(2, Math.floor(width / 110));
  const step = SECOND_NS * (TIME_STEPS.find((seconds) => end / (seconds * SECOND_NS) <= wanted) ?? DAY);
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}
