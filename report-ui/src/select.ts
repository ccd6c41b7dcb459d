/** Questions that several sections ask of the data. */
import type { Source } from "./data";
import { settingOf, settingsOf, spotIndex, widthOf, type View } from "./state";
import { looks, pageTheme, type Look } from "./theme";
import type { Entry, Findings, Head, Interval, Spot, Standing } from "./types";

/** A run with what every section needs to know about its contenders and about what the reader has chosen. */
export interface Report {
  source: Source;
  head: Head;
  view: View;
  choose: (change: Partial<View>) => void;
  entries: Map<string, Entry>;
  limit: Entry | undefined;
  looks: Map<string, Look>;
  /** Whether the filters let a contender through. */
  isShown: (name: string) => boolean;
}

/** A place with what was found there, of those whom the filters let through. */
export interface Cell extends Findings {
  spot: Spot;
  /** `hello at 64 connections`; `hello at 64 connections on user/xdp` where the run has several settings. */
  where: string;
  /** Everybody's, for those who need an index. */
  all: Standing[];
}

export const NO_LOOK: Look = { color: "currentColor", symbol: "circle", dash: "none", muted: false };

export function reportOf(source: Source, view: View, choose: Report["choose"]): Report {
  const head = source.heads[view.run] as Head;
  const limit = head.contenders.find((entry) => entry.kind === "limit");
  const names = head.contenders.map((entry) => entry.name);
  const shown = new Set(head.contenders.filter((entry) => passes(entry, view)).map((entry) => entry.name));
  return {
    source,
    head,
    view,
    choose,
    limit,
    entries: new Map(head.contenders.map((entry) => [entry.name, entry])),
    looks: looks(names, limit?.name, focus(view.pins, [...shown].filter((name) => name !== limit?.name), head.leaders), pageTheme),
    isShown: (name) => shown.has(name) || name === limit?.name,
  };
}

function passes(entry: Entry, { language, kind, find, pins }: View): boolean {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${entry.name} ${entry.title} ${entry.language} ${entry.kind}`.toLowerCase();
  const filtered = (language === "" || entry.language === language) && (kind === "" || entry.kind === kind) && words.every((word) => text.includes(word));
  return filtered || pins.includes(entry.name);
}

/** Whom colours tell apart: the pinned; without any, everybody if they are few, else the fastest. */
export function focus(pins: readonly string[], shown: readonly string[], leaders: readonly string[]): readonly string[] {
  if (pins.length > 0) return pins;
  if (shown.length <= pageTheme.series.length) return shown;
  const first = leaders.filter((name) => shown.includes(name));
  return first.length > 0 ? first : shown.slice(0, pageTheme.series.length);
}

export function cellOf(report: Report, spot: Spot, findings: Findings): Cell {
  const mine = <Row extends { contender: string }>(rows: readonly Row[]): Row[] => rows.filter((row) => report.isShown(row.contender));
  return {
    spot,
    where: `${spot.workload} at ${widthOf(spot)} connections${onSetting(report.head, settingOf(spot))}`,
    all: findings.standings,
    sentences: findings.sentences,
    notes: findings.notes,
    standings: mine(findings.standings),
    pairs: findings.pairs,
    latency: findings.latency.map((judged) => ({ ...judged, standings: mine(judged.standings) })),
    redlines: findings.redlines.map((judged) => ({ ...judged, standings: mine(judged.standings) })),
    samples: mine(findings.samples),
    answered: findings.answered.map((judged) => ({ ...judged, standings: mine(judged.standings) })),
    curves: mine(findings.curves),
    flames: mine(findings.flames),
  };
}

/** ` on user/xdp`, ` on h1+tls`: network and protocol, where the run has several settings. */
export function onSetting({ spots }: Pick<Head, "spots">, setting: string): string {
  return setting && settingsOf(spots).length > 1 ? ` on ${setting}` : "";
}

/** The index of the place that the reader looks at. */
export const spotOf = (report: Report): number => spotIndex(report.head.spots, report.view);

/** Standings other than the limit's, in order. */
export function contendersOf(report: Report, cell: Cell): Standing[] {
  return cell.standings.filter((standing) => standing.contender !== report.limit?.name);
}

export function limitOf(report: Report, cell: Cell): Interval | undefined {
  const standing = cell.standings.find((standing) => standing.contender === report.limit?.name);
  return (standing && !standing.withheld && standing.throughput_per_second) || undefined;
}

export function lookOf(report: Report, name: string): Look {
  return report.looks.get(name) ?? NO_LOOK;
}

/** How many of `names` are in focus where others are not: more than `most`, or too many for colours. Nothing where all are. */
export function drawnOf(report: Report, names: readonly string[], most = 0): { shown: number; of: number } | null {
  const proper = [...new Set(names)].filter((name) => name !== report.limit?.name);
  const shown = proper.filter((name) => !lookOf(report, name).muted).length;
  return names.length > most && shown < proper.length ? { shown, of: proper.length } : null;
}

/** Rows that need much room each: all if they are few, else of those in focus and of the limit. */
export function focused<Row>(report: Report, rows: readonly Row[], nameOf: (row: Row) => string, most: number): Row[] {
  if (rows.length <= most) return [...rows];
  return rows.filter((row) => !lookOf(report, nameOf(row)).muted);
}
