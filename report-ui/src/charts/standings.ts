/** Who is how fast: an interval and a dot per contender, its rounds below, tiers as bands, the limit as a line. */
import * as Plot from "@observablehq/plot";
import { percent, rate, rateInterval, tick } from "../format";
import type { Look, Theme } from "../theme";
import type { Interval } from "../types";
import { elide, frame, NARROW, widest } from "./common";

export interface StandingRow {
  name: string;
  title: string;
  look: Look;
  throughput: Interval | null;
  share: Interval | null;
  rounds: number[];
  tier: number | null;
  withheld: string | null;
}

export interface StandingsData {
  /** Fastest first. */
  rows: StandingRow[];
  limit: { title: string; throughput: Interval } | null;
}

/** Where names begin: after the tiers. */
const NAME_LEFT = 54;

type Shown = StandingRow & { throughput: Interval };

export function standingsChart(data: StandingsData, theme: Theme, width: number): Element {
  const { rows, limit } = data;
  const narrow = width < NARROW;
  const shown = rows.filter((row): row is Shown => row.throughput !== null && row.withheld === null);
  const highest = Math.max(1, limit?.throughput.high ?? 0, ...shown.flatMap((row) => [row.throughput.high, ...row.rounds]));
  const left = narrow ? 4 : Math.min(widest(rows.map((row) => row.title), true), width * 0.25) + NAME_LEFT + 8;
  const right = narrow ? 58 : 128;
  const top = 42;
  const rowHeight = narrow ? 46 : 32;
  const place: Place = { left, right, narrow, domain: [0, highest * 1.02], width };
  return Plot.plot({
    ...frame(theme, width),
    height: rows.length * rowHeight + top + 30,
    marginLeft: left,
    marginRight: right,
    marginTop: top,
    marginBottom: 30,
    x: { domain: place.domain, label: null, tickFormat: (x: number) => tick(rate(x)), ticks: Math.max(3, Math.floor(width / 140)), tickSize: 0 },
    y: { type: "band", domain: rows.map((row) => row.name), padding: 0, axis: null },
    marks: [
      ...tierBands(rows, place, theme),
      Plot.gridX({ stroke: theme.rule, strokeOpacity: 1 }),
      ...limitLine(limit, place, theme),
      ...marks(shown, narrow, theme),
      ...names(rows, place, theme),
      ...values(shown, place, theme),
      ...withheld(rows, limit, place, theme),
    ],
  });
}

interface Place {
  left: number;
  right: number;
  narrow: boolean;
  domain: [number, number];
  width: number;
}

/** Every other tier is shaded across the whole width, and each is named at its first row. */
function tierBands(rows: StandingRow[], place: Place, theme: Theme): Plot.Markish[] {
  const first = rows.filter((row, i) => row.tier !== null && row.tier !== rows[i - 1]?.tier);
  return [
    Plot.barX(rows.filter((row) => row.tier !== null && row.tier % 2 === 1), {
      y: "name",
      x1: place.domain[0],
      x2: place.domain[1],
      fill: theme.band,
      insetLeft: -place.left,
      insetRight: -place.right,
    }),
    Plot.text(place.narrow ? [] : first, {
      y: "name",
      text: (row: StandingRow) => `tier ${row.tier}`,
      frameAnchor: "left",
      textAnchor: "start",
      dx: 8 - place.left,
      fill: theme.soft,
    }),
  ];
}

function limitLine(limit: StandingsData["limit"], place: Place, theme: Theme): Plot.Markish[] {
  if (!limit) return [];
  const at = limit.throughput;
  const label = `limit: ${limit.title} ${rateInterval(at).estimate}`;
  return [
    Plot.rect([at], { x1: "low", x2: "high", fill: theme.ink, fillOpacity: 0.08, insetTop: -6 }),
    Plot.ruleX([at], { x: "estimate", stroke: theme.ink, strokeDasharray: "4 3", insetTop: -10 }),
    Plot.text([at], { x: "estimate", text: [label], frameAnchor: "top", textAnchor: "end", dy: place.narrow ? -18 : -24, dx: 3, fill: theme.ink }),
  ];
}

function marks(shown: Shown[], narrow: boolean, theme: Theme): Plot.Markish[] {
  const dy = narrow ? 9 : 0;
  const inset = (half: number): { insetTop: number; insetBottom: number } => {
    const middle = narrow ? 23 : 16;
    return { insetTop: middle - half + dy, insetBottom: middle - half - dy };
  };
  const rounds = shown.flatMap((row) => row.rounds.map((perSecond) => ({ name: row.name, perSecond, color: row.look.color })));
  const color = (row: Shown): string => row.look.color;
  return [
    Plot.ruleY(shown, { y: "name", x1: 0, x2: (row: Shown) => row.throughput.low, stroke: theme.soft, strokeOpacity: 0.45, strokeDasharray: "1 4", dy }),
    Plot.barX(shown, {
      y: "name",
      x1: (row: Shown) => row.throughput.low,
      x2: (row: Shown) => row.throughput.high,
      fill: color,
      fillOpacity: 0.32,
      ...inset(7),
    }),
    Plot.tickX(rounds, { y: "name", x: "perSecond", stroke: "color", strokeOpacity: 0.75, insetTop: (narrow ? 23 : 16) + dy + 8, insetBottom: (narrow ? 23 : 16) - dy - 13 }),
    Plot.dot(shown, { y: "name", x: (row: Shown) => row.throughput.estimate, fill: color, r: 3.4, dy, title: describe, tip: { fill: theme.paper, stroke: theme.rule } }),
  ];
}

function describe(row: Shown): string {
  const { estimate, interval } = rateInterval(row.throughput);
  const share = row.share ? `\n${percent(row.share.estimate)} of the limit` : "";
  return `${row.title}\n${estimate} req/s\n${interval}${share}`;
}

function names(rows: StandingRow[], place: Place, theme: Theme): Plot.Markish[] {
  return [
    Plot.text(rows, {
      y: "name",
      text: (row: StandingRow) => (place.narrow ? tierAndTitle(row) : elide(row.title, place.left - NAME_LEFT - 8, true)),
      frameAnchor: "left",
      textAnchor: "start",
      dx: place.narrow ? 0 : NAME_LEFT - place.left,
      dy: place.narrow ? -9 : 0,
      fill: (row: StandingRow) => (row.withheld === null ? theme.ink : theme.soft),
      fontWeight: 600,
    }),
  ];
}

function tierAndTitle(row: StandingRow): string {
  return row.tier === null ? row.title : `${row.tier}  ${row.title}`;
}

/** The figures at the right, so that the chart can be read without its table. */
function values(shown: Shown[], place: Place, theme: Theme): Plot.Markish[] {
  const column = (text: (row: Shown) => string, dx: number, dy: number, weight: number): Plot.Markish =>
    Plot.text(shown, { y: "name", text, frameAnchor: "right", textAnchor: "end", dx, dy, fontWeight: weight, fontVariant: "tabular-nums" });
  const head = (text: string, dx: number): Plot.Markish =>
    Plot.text([text], { text: [text], frameAnchor: "top-right", textAnchor: "end", dx, dy: -24, fill: theme.soft });
  const speed = (row: Shown): string => rateInterval(row.throughput).estimate;
  const share = (row: Shown): string => (row.share ? percent(row.share.estimate) : "–");
  if (place.narrow) return [column(speed, 54, -9, 600), column(share, 54, 9, 400)];
  return [column(speed, 62, 0, 600), column(share, 118, 0, 400), head("req/s", 62), head("of limit", 118)];
}

/** The reason in place of the number, short of the limit's line; the table has it whole. */
function withheld(rows: StandingRow[], limit: StandingsData["limit"], place: Place, theme: Theme): Plot.Markish[] {
  const end = limit ? limit.throughput.low / place.domain[1] : 1;
  const room = (place.width - place.left - place.right) * end - 16;
  return [
    Plot.text(rows.filter((row) => row.withheld !== null), {
      y: "name",
      text: (row: StandingRow) => elide(`withheld: ${row.withheld}`, room),
      title: (row: StandingRow) => `withheld: ${row.withheld}`,
      frameAnchor: "left",
      textAnchor: "start",
      dx: place.narrow ? 0 : 6,
      dy: place.narrow ? 9 : 0,
      fill: theme.caution,
      stroke: theme.paper,
      strokeWidth: 5,
    }),
  ];
}
