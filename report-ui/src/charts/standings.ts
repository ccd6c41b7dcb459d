/** Who is how fast: an interval and a dot per contender, its rounds below, tiers as bands, the limit as a line. */
import * as Plot from "@observablehq/plot";
import type { Estimate } from "../format";
import type { Look, Theme } from "../theme";
import type { Interval } from "../types";
import { elide, frame, nameIn, NARROW, reach, widest } from "./common";

export interface StandingRow {
  name: string;
  title: string;
  look: Look;
  value: Interval | null;
  /** Against whom it is compared: `86 %` of the limit, `1.27×` another. */
  share: string | null;
  rounds: number[];
  tier: number | null;
  withheld: string | null;
}

export interface StandingsData {
  /** Best first. */
  rows: StandingRow[];
  limit: { title: string; value: Interval } | null;
  /** Heads of the figures at the right; without the second there is no comparison. */
  heads: { value: string; share: string };
  estimate: (value: Interval) => Estimate;
  axis: (value: number) => string;
}

/** Where names begin: after the tiers. */
const NAME_LEFT = 54;

type Shown = StandingRow & { value: Interval };

export function standingsChart(data: StandingsData, theme: Theme, width: number): Element {
  const { rows, limit } = data;
  const narrow = width < NARROW;
  const tiered = rows.some((row) => row.tier !== null);
  const shown = rows.filter((row): row is Shown => row.value !== null && row.withheld === null);
  const highest = Math.max(Number.MIN_VALUE, limit ? reach(limit.value) : 0, ...shown.flatMap((row) => [reach(row.value), ...row.rounds]));
  const left = narrow ? 4 : Math.min(widest(rows.map((row) => row.title), true), width * 0.25) + (tiered ? NAME_LEFT : 4) + 8;
  const right = narrow ? 66 : data.heads.share ? 140 : 76;
  const top = 42;
  const rowHeight = narrow ? 46 : 32;
  const place: Place = { left, right, narrow, tiered, domain: [0, highest * 1.02], width };
  return Plot.plot({
    ...frame(theme, width),
    height: rows.length * rowHeight + top + 30,
    marginLeft: left,
    marginRight: right,
    marginTop: top,
    marginBottom: 30,
    x: { domain: place.domain, label: null, tickFormat: data.axis, ticks: Math.max(3, Math.floor(width / 140)), tickSize: 0 },
    y: { type: "band", domain: rows.map((row) => row.name), padding: 0, axis: null },
    marks: [
      ...tierBands(rows, place, theme),
      Plot.gridX({ stroke: theme.rule, strokeOpacity: 1 }),
      ...limitLine(data, place, theme),
      ...marks(data, shown, place, theme),
      ...names(rows, place, theme),
      ...values(data, shown, place, theme),
      ...withheld(rows, limit, place, theme),
    ],
  });
}

interface Place {
  left: number;
  right: number;
  narrow: boolean;
  tiered: boolean;
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

function limitLine({ limit, estimate }: StandingsData, place: Place, theme: Theme): Plot.Markish[] {
  if (!limit) return [];
  const at = limit.value;
  const label = `limit: ${limit.title} ${estimate(at).estimate}`;
  return [
    Plot.rect([at], { x1: "low", x2: Math.min(at.high, place.domain[1]), fill: theme.ink, fillOpacity: 0.08, insetTop: -6 }),
    Plot.ruleX([at], { x: "estimate", stroke: theme.ink, strokeDasharray: "4 3", insetTop: -10 }),
    Plot.text([at], { x: "estimate", text: [label], frameAnchor: "top", textAnchor: "end", dy: place.narrow ? -18 : -24, dx: 3, fill: theme.ink }),
  ];
}

function marks(data: StandingsData, shown: Shown[], { narrow, domain: [, end] }: Place, theme: Theme): Plot.Markish[] {
  const dy = narrow ? 9 : 0;
  const inset = (half: number): { insetTop: number; insetBottom: number } => {
    const middle = narrow ? 23 : 16;
    return { insetTop: middle - half + dy, insetBottom: middle - half - dy };
  };
  const rounds = shown.flatMap((row) => row.rounds.map((perSecond) => ({ name: row.name, perSecond, color: row.look.color })));
  const color = (row: Shown): string => row.look.color;
  return [
    Plot.ruleY(shown, { y: "name", x1: 0, x2: (row: Shown) => row.value.low, stroke: theme.soft, strokeOpacity: 0.45, strokeDasharray: "1 4", dy }),
    Plot.barX(shown, {
      y: "name",
      x1: (row: Shown) => row.value.low,
      x2: (row: Shown) => Math.min(row.value.high, end),
      fill: color,
      fillOpacity: 0.32,
      ...inset(7),
    }),
    Plot.tickX(rounds, { y: "name", x: "perSecond", stroke: "color", strokeOpacity: 0.75, insetTop: (narrow ? 23 : 16) + dy + 8, insetBottom: (narrow ? 23 : 16) - dy - 13 }),
    Plot.dot(shown, { y: "name", x: (row: Shown) => row.value.estimate, fill: color, r: 3.4, dy, title: (row: Shown) => describe(data, row), tip: { fill: theme.paper, stroke: theme.rule } }),
  ];
}

function describe({ estimate, heads }: StandingsData, row: Shown): string {
  const value = estimate(row.value);
  const share = row.share ? `\n${row.share} ${heads.share}` : "";
  return `${row.title}\n${value.estimate} ${heads.value}\n${value.interval}${share}`;
}

function names(rows: StandingRow[], place: Place, theme: Theme): Plot.Markish[] {
  return [
    Plot.text(rows, {
      y: "name",
      ...nameIn(roomForNames(place), (row: StandingRow) => (place.narrow ? tierAndTitle(row) : row.title)),
      frameAnchor: "left",
      textAnchor: "start",
      dx: place.narrow ? 0 : nameLeft(place) - place.left,
      dy: place.narrow ? -9 : 0,
      fill: (row: StandingRow) => (row.withheld === null ? theme.ink : theme.soft),
    }),
  ];
}

/** Beside the marks, or above them as far as the figure at the right. */
const roomForNames = (place: Place): number => (place.narrow ? place.width - place.left - place.right : place.left - nameLeft(place)) - 8;

const nameLeft = ({ tiered }: Place): number => (tiered ? NAME_LEFT : 4);

function tierAndTitle(row: StandingRow): string {
  return row.tier === null ? row.title : `${row.tier}  ${row.title}`;
}

/** The figures at the right, so that the chart can be read without its table. */
function values({ heads, estimate }: StandingsData, shown: Shown[], place: Place, theme: Theme): Plot.Markish[] {
  const column = (text: (row: Shown) => string, dx: number, dy: number, weight: number): Plot.Markish =>
    Plot.text(shown, { y: "name", text, frameAnchor: "right", textAnchor: "end", dx, dy, fontWeight: weight, fontVariant: "tabular-nums" });
  const head = (text: string, dx: number): Plot.Markish =>
    Plot.text([text], { text: [text], frameAnchor: "top-right", textAnchor: "end", dx, dy: -24, fill: theme.soft });
  const value = (row: Shown): string => estimate(row.value).estimate;
  const share = (row: Shown): string => row.share ?? "–";
  const wanted = heads.share !== "";
  if (place.narrow) return [column(value, 62, -9, 600), ...(wanted ? [column(share, 62, 9, 400)] : [])];
  return [column(value, 68, 0, 600), head(heads.value, 68), ...(wanted ? [column(share, 134, 0, 400), head(heads.share, 134)] : [])];
}

/** The reason in place of the number, short of the limit's line; the table has it whole. */
function withheld(rows: StandingRow[], limit: StandingsData["limit"], place: Place, theme: Theme): Plot.Markish[] {
  const end = limit ? limit.value.low / place.domain[1] : 1;
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
