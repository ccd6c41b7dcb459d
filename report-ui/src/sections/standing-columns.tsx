/** The columns of the table of standings. */
import { bytes, count, duration, energy, money, rate, rateInterval, score } from "../format";
import { boldColumn, contenderColumn, estimateColumn, figureColumn, intervalColumn, valueColumn } from "../parts/columns";
import type { Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import type { Standing } from "../types";
import { LIMITED_BY } from "../words";

/** Against whom the others are compared: a contender, else the limit, else nobody. */
export interface Comparison {
  head: string;
  of: (standing: Standing) => { text: string; sort: number } | null;
}

/** Those of which the record has something to tell of anybody; what is withheld tells nothing. */
export function standingColumns(report: Report, cell: Cell, comparison: Comparison): Column<Standing>[] {
  const told = cell.standings.filter((standing) => !standing.withheld);
  const tells = ({ head, sort }: Column<Standing>): boolean => ALWAYS.includes(head) || told.some((standing) => sort?.(standing) != null);
  return allColumns(report, comparison).filter(tells);
}

/** A name, and a place for the reason for which its figures are withheld. */
const ALWAYS: readonly string[] = ["contender", "req/s"];

function allColumns(report: Report, comparison: Comparison): Column<Standing>[] {
  return [
    contenderColumn(report, (s) => s.contender, { pin: true }),
    { head: "tier", text: true, cell: (s) => <>{s.tier ?? "–"} <small>{s.letters}</small></>, sort: (s) => s.tier },
    boldColumn("req/s", (s) => s.throughput_per_second, (of) => rateInterval(of).estimate),
    { ...intervalColumn((s) => s.throughput_per_second, (of) => rateInterval(of).interval), sort: lowOf },
    figureColumn("trimmed mean", (s) => s.trimmed_mean_per_second, rate),
    valueColumn(comparison.head, comparison.of, ({ text }) => text, ({ sort }) => sort),
    estimateColumn("p50", (s) => s.p50_ns, ({ estimate }) => duration(estimate)),
    estimateColumn("p99", (s) => s.p99_ns, ({ estimate }) => duration(estimate)),
    figureColumn("cpu/req", (s) => s.cpu_per_request_ns, duration),
    valueColumn("per million", (s) => s.price_per_million, money, ({ amount }) => amount.estimate),
    estimateColumn("energy/req", (s) => s.energy?.whole_uj, ({ estimate }) => energy(estimate)),
    figureColumn("memory", (s) => s.memory_bytes, bytes),
    figureColumn("start-up", (s) => s.startup_ns, duration),
    valueColumn("conform", (s) => s.conformance, score, ({ kept, applicable }) => kept / applicable),
    { head: "failed", cell: (s) => count(s.failed), sort: (s) => s.failed || null },
    { head: "limited by", text: true, cell: (s) => <span title={s.limit_evidence}>{LIMITED_BY[s.limited_by]}</span>, sort: (s) => s.limited_by },
  ];
}

/** An estimate of a single round has no interval. */
const lowOf = ({ throughput_per_second: throughput }: Standing): number | null => (throughput && throughput.confidence > 0 ? throughput.low : null);
