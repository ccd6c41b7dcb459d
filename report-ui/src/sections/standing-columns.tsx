/** The columns of the table of standings. */
import { bytes, count, duration, energy, money, rate, rateInterval, score } from "../format";
import { Name } from "../parts/Name";
import type { Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import type { Standing } from "../types";
import words from "../words.json";
import type { Comparison } from "./Standings";

export const LIMITED_BY: Record<Standing["limited_by"], string> = words.limited_by;

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
    { head: "contender", text: true, cell: (s) => <Name report={report} name={s.contender} pin />, sort: (s) => s.contender },
    { head: "tier", text: true, cell: (s) => <>{s.tier ?? "–"} <small>{s.letters}</small></>, sort: (s) => s.tier },
    { head: "req/s", cell: (s) => <b>{s.throughput_per_second ? rateInterval(s.throughput_per_second).estimate : "–"}</b>, sort: (s) => s.throughput_per_second?.estimate ?? null },
    { head: "95 % interval", cell: (s) => (s.throughput_per_second ? rateInterval(s.throughput_per_second).interval : "–"), sort: lowOf },
    figure("trimmed mean", (s) => s.trimmed_mean_per_second, rate),
    { head: comparison.head, cell: (s) => comparison.of(s)?.text ?? "–", sort: (s) => comparison.of(s)?.sort ?? null },
    figure("p50", (s) => s.p50_ns?.estimate, duration),
    figure("p99", (s) => s.p99_ns?.estimate, duration),
    figure("cpu/req", (s) => s.cpu_per_request_ns, duration),
    { head: "per million", cell: (s) => (s.price_per_million ? money(s.price_per_million) : "–"), sort: (s) => s.price_per_million?.amount.estimate ?? null },
    figure("energy/req", (s) => s.energy?.whole_uj.estimate, energy),
    figure("memory", (s) => s.memory_bytes, bytes),
    figure("start-up", (s) => s.startup_ns, duration),
    { head: "conform", cell: (s) => (s.conformance ? score(s.conformance) : "–"), sort: (s) => (s.conformance ? s.conformance.kept / s.conformance.applicable : null) },
    { head: "failed", cell: (s) => count(s.failed), sort: (s) => s.failed || null },
    { head: "limited by", text: true, cell: (s) => <span title={s.limit_evidence}>{LIMITED_BY[s.limited_by]}</span>, sort: (s) => s.limited_by },
  ];
}

/** An estimate of a single round has no interval. */
const lowOf = ({ throughput_per_second: throughput }: Standing): number | null => (throughput && throughput.confidence > 0 ? throughput.low : null);

function figure(head: string, value: (s: Standing) => number | null | undefined, format: (value: number) => string): Column<Standing> {
  const told = (s: Standing): number | null => value(s) ?? null;
  return {
    head,
    sort: told,
    cell: (s) => {
      const known = told(s);
      return known === null ? "–" : format(known);
    },
  };
}
