/** The columns of the table of standings. */
import { bytes, count, duration, energy, rate, rateInterval, score } from "../format";
import { Name } from "../parts/Name";
import type { Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import type { Standing } from "../types";
import type { Comparison } from "./Standings";

export const LIMITED_BY: Record<Standing["limited_by"], string> = {
  server: "server",
  server_core: "one core",
  generator: "generator",
  both: "both",
  database: "database",
  upstream: "upstream",
  link: "link",
  connections: "connections",
  neither: "waiting",
  unknown: "unknown",
};

export function standingColumns(report: Report, cell: Cell, comparison: Comparison): Column<Standing>[] {
  const anyFailed = cell.standings.some((standing) => standing.failed > 0);
  const anyAsked = cell.standings.some((standing) => standing.conformance);
  const all: (Column<Standing> & { only?: boolean })[] = [
    { head: "contender", text: true, cell: (s) => <Name report={report} name={s.contender} pin />, sort: (s) => s.contender },
    { head: "tier", text: true, cell: (s) => <>{s.tier ?? "–"} <small>{s.letters}</small></>, sort: (s) => s.tier },
    { head: "req/s", cell: (s) => <b>{s.throughput_per_second ? rateInterval(s.throughput_per_second).estimate : "–"}</b>, sort: (s) => s.throughput_per_second?.estimate ?? null },
    { head: "95 % interval", cell: (s) => (s.throughput_per_second ? rateInterval(s.throughput_per_second).interval : "–") },
    { head: "trimmed mean", cell: (s) => (s.trimmed_mean_per_second == null ? "–" : rate(s.trimmed_mean_per_second)), sort: (s) => s.trimmed_mean_per_second ?? null, only: cell.standings.some((s) => s.trimmed_mean_per_second != null) },
    { head: comparison.head, cell: (s) => comparison.of(s)?.text ?? "–", sort: (s) => comparison.of(s)?.sort ?? null, only: comparison.head !== "" },
    ...figures(cell.standings.some((s) => s.energy)),
    { head: "conform", cell: (s) => (s.conformance ? score(s.conformance) : "–"), sort: (s) => (s.conformance ? s.conformance.kept / s.conformance.applicable : null), only: anyAsked },
    { head: "failed", cell: (s) => count(s.failed), sort: (s) => s.failed, only: anyFailed },
    { head: "limited by", text: true, cell: (s) => <span title={s.limit_evidence}>{LIMITED_BY[s.limited_by]}</span>, sort: (s) => s.limited_by },
  ];
  return all.filter((column) => column.only !== false);
}

function figures(anyEnergy: boolean): (Column<Standing> & { only?: boolean })[] {
  const figure = (head: string, value: (s: Standing) => number | null, format: (value: number) => string): Column<Standing> => ({
    head,
    sort: value,
    cell: (s) => {
      const known = value(s);
      return known === null ? "–" : format(known);
    },
  });
  return [
    figure("p50", (s) => s.p50_ns?.estimate ?? null, duration),
    figure("p99", (s) => s.p99_ns?.estimate ?? null, duration),
    figure("cpu/req", (s) => s.cpu_per_request_ns ?? null, duration),
    { ...figure("energy/req", (s) => s.energy?.whole_uj.estimate ?? null, energy), only: anyEnergy },
    figure("memory", (s) => s.memory_bytes ?? null, bytes),
    figure("start-up", (s) => s.startup_ns ?? null, duration),
  ];
}
