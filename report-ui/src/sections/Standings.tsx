/** How fast each contender is in one cell, as intervals against the limit and as a table. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { standingsChart, type StandingRow } from "../charts/standings";
import { bytes, count, duration, percent, rateInterval, score } from "../format";
import { Chart } from "../parts/Chart";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import { contendersOf, limitOf, lookOf, titleOf, type Report } from "../select";
import type { CellVerdict, Standing } from "../types";

const LIMITED_BY: Record<Standing["limited_by"], string> = {
  server: "server",
  server_core: "one core",
  generator: "generator",
  both: "both",
  database: "database",
  link: "link",
  connections: "connections",
  neither: "waiting",
  unknown: "unknown",
};

export function StandingsSection({ report, cell }: { report: Report; cell: CellVerdict }): JSX.Element {
  const draw = useMemo(() => {
    const limit = limitOf(report, cell);
    const rows = contendersOf(report, cell).map((standing) => chartRow(report, standing));
    const title = report.limit ? report.limit.title : "";
    return (...at: [Parameters<typeof standingsChart>[1], number]) =>
      standingsChart({ rows, limit: limit ? { title, throughput: limit } : null }, ...at);
  }, [report, cell]);
  const where = `${cell.workload} at ${cell.connections} connections`;
  return (
    <Section id="standings" title="Standings" wide question={`How fast is each, and how sure is that? Validated answers per second, ${where}.`}>
      <Chart label={`Throughput of each contender with its interval, ${where}; the table below holds the figures.`} draw={draw} />
      <p class="key">
        Dot and bar: estimate and 95 % interval. Ticks: rounds. Dashed line: what this machine could do with these bytes.
        Contenders in one tier are not shown to differ.
      </p>
      <Table
        caption={`Standings, ${where}`}
        columns={columns(report, cell)}
        rows={cell.standings}
        rowClass={(standing) => (standing.contender === report.limit?.name ? "limit" : "")}
        across={(standing) => (standing.withheld ? <em>withheld: {standing.withheld}</em> : null)}
      />
      <p class="key">
        p50 and p99 are service times at {cell.connections} in flight: a closed loop says nothing about times at a given rate.
        Two contenders that share a letter are not shown to differ.
      </p>
    </Section>
  );
}

function chartRow(report: Report, standing: Standing): StandingRow {
  return {
    name: standing.contender,
    title: titleOf(report, standing.contender),
    look: lookOf(report, standing.contender),
    throughput: standing.throughput_per_second ?? null,
    share: standing.share_of_limit ?? null,
    rounds: standing.rounds_per_second.filter((perSecond) => perSecond !== null),
    tier: standing.tier ?? null,
    withheld: standing.withheld ?? null,
  };
}

function columns(report: Report, cell: CellVerdict): Column<Standing>[] {
  const anyFailed = cell.standings.some((standing) => standing.failed > 0);
  const anyAsked = cell.standings.some((standing) => standing.conformance);
  const all: (Column<Standing> & { only?: boolean })[] = [
    { head: "contender", text: true, cell: (s) => <Name report={report} name={s.contender} />, sort: (s) => titleOf(report, s.contender) },
    { head: "tier", text: true, cell: (s) => <>{s.tier ?? "–"} <small>{s.letters}</small></>, sort: (s) => s.tier },
    { head: "req/s", cell: (s) => <b>{s.throughput_per_second ? rateInterval(s.throughput_per_second).estimate : "–"}</b>, sort: (s) => s.throughput_per_second?.estimate ?? null },
    { head: "95 % interval", cell: (s) => (s.throughput_per_second ? rateInterval(s.throughput_per_second).interval : "–") },
    ...figures(),
    { head: "conform", cell: (s) => (s.conformance ? score(s.conformance) : "–"), sort: (s) => (s.conformance ? s.conformance.kept / s.conformance.applicable : null), only: anyAsked },
    { head: "failed", cell: (s) => count(s.failed), sort: (s) => s.failed, only: anyFailed },
    { head: "limited by", text: true, cell: (s) => <span title={s.limit_evidence}>{LIMITED_BY[s.limited_by]}</span>, sort: (s) => s.limited_by },
  ];
  return all.filter((column) => column.only !== false);
}

function figures(): Column<Standing>[] {
  const figure = (head: string, value: (s: Standing) => number | null, format: (value: number) => string): Column<Standing> => ({
    head,
    sort: value,
    cell: (s) => {
      const known = value(s);
      return known === null ? "–" : format(known);
    },
  });
  return [
    figure("of limit", (s) => s.share_of_limit?.estimate ?? null, percent),
    figure("p50", (s) => s.p50_ns?.estimate ?? null, duration),
    figure("p99", (s) => s.p99_ns?.estimate ?? null, duration),
    figure("cpu/req", (s) => s.cpu_per_request_ns ?? null, duration),
    figure("memory", (s) => s.rss_peak_bytes ?? null, bytes),
    figure("start-up", (s) => s.startup_ns ?? null, duration),
  ];
}
