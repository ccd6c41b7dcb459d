/** What proxies cost: throughput through each over that of the server behind it alone, and what each adds to response times. */
import type { JSX } from "preact";
import { addedDuration, duration, percentInterval, rate } from "../format";
import { Drawn } from "../parts/Drawn";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import { isSamePlace, placeInWords } from "../state";
import type { AddedLatency, ProxyCost, Spot } from "../types";
import { byRatio, MOST_ROWS, RatiosFigure, withheldIn } from "./ratios";

export function ProxiesSection({ report, cell: { spot, where } }: { report: Report; cell: Cell }): JSX.Element {
  const costs = report.head.proxy_cost.filter((row) => report.isShown(row.contender));
  const added = report.head.added_latency.filter((row) => report.isShown(row.contender));
  return (
    <Section
      id="proxies"
      title="Proxy cost"
      wide
      question={`What does a proxy cost? Throughput through it to that of the server behind it, alone in its place, same rounds, ${where}: short of 1× it costs. Below, a percentile of the response time through it less the same percentile straight, at the same rate in pairs of windows.`}
    >
      <Drawn report={report} names={rowsAt(costs, spot).map(({ contender }) => contender)} most={MOST_ROWS} />
      {costs.length > 0 && <RatiosFigure report={report} spot={spot} label={`Throughput through each proxy over that without it, ${where}.`} caption="Proxy cost" columns={costColumns(report)} rows={costs} at={rowsAt} />}
      {added.length > 0 && <Added report={report} rows={added} />}
    </Section>
  );
}

function Added({ report, rows }: { report: Report; rows: AddedLatency[] }): JSX.Element {
  return (
    <div>
      <h3>Added to response times</h3>
      <Table caption="Added to response times" columns={addedColumns(report, rows)} rows={rows} across={withheldIn} />
    </div>
  );
}

/** What was compared at a place; the greatest ratio first. */
const rowsAt = (rows: readonly ProxyCost[], spot: Spot): ProxyCost[] => byRatio(rows.filter((row) => isSamePlace(row, spot)));

const cpu = (ns: number | null): string => (ns === null ? "–" : duration(ns));

function costColumns(report: Report): Column<ProxyCost>[] {
  return [
    { head: "proxy", text: true, cell: (row) => <Name report={report} name={row.contender} />, sort: (row) => row.contender },
    { head: "where", text: true, cell: placeInWords, sort: placeInWords },
    { head: "share", cell: (row) => <b>{row.ratio ? percentInterval(row.ratio).estimate : "–"}</b>, sort: (row) => row.ratio?.estimate ?? null },
    { head: "95 % interval", cell: (row) => (row.ratio ? percentInterval(row.ratio).interval : "–") },
    { head: "req/s", cell: (row) => (row.per_second ? rate(row.per_second.estimate) : "–"), sort: (row) => row.per_second?.estimate ?? null },
    { head: "alone, req/s", cell: (row) => (row.straight_per_second ? rate(row.straight_per_second.estimate) : "–"), sort: (row) => row.straight_per_second?.estimate ?? null },
    { head: "CPU/req", cell: (row) => cpu(row.cpu_per_request_ns), sort: (row) => row.cpu_per_request_ns },
    { head: "upstream CPU/req", cell: (row) => cpu(row.upstream_cpu_per_request_ns), sort: (row) => row.upstream_cpu_per_request_ns },
  ];
}

function addedColumns(report: Report, rows: readonly AddedLatency[]): Column<AddedLatency>[] {
  const quantiles = [...new Set(rows.flatMap((row) => row.quantiles.map(({ quantile }) => quantile)))].sort((a, b) => a - b);
  const at = (row: AddedLatency, quantile: number) => row.quantiles.find((of) => of.quantile === quantile)?.added_ns;
  const told = (quantile: number): Column<AddedLatency>[] => [
    {
      head: `p${+(quantile * 100).toFixed(3)}`,
      cell: (row) => {
        const added = at(row, quantile);
        return <b>{added ? addedDuration(added).estimate : "–"}</b>;
      },
      sort: (row) => at(row, quantile)?.estimate ?? null,
    },
    {
      head: "interval",
      cell: (row) => {
        const added = at(row, quantile);
        return added ? addedDuration(added).interval : "–";
      },
    },
  ];
  return [
    { head: "proxy", text: true, cell: (row) => <Name report={report} name={row.contender} />, sort: (row) => row.contender },
    { head: "where", text: true, cell: placeInWords, sort: placeInWords },
    { head: "offered/s", cell: (row) => rate(row.offered_per_second), sort: (row) => row.offered_per_second },
    ...quantiles.flatMap(told),
    { head: "pairs", cell: (row) => String(row.pairs), sort: (row) => row.pairs },
  ];
}
