/** What proxies cost: throughput through each over that of the server behind it alone, and what each adds to response times. */
import type { JSX } from "preact";
import { addedDuration, duration, percentInterval, percentile, rate } from "../format";
import { boldColumn, contenderColumn, figureColumn, intervalColumn, textColumn } from "../parts/columns";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import { isSamePlace, placeInWords } from "../state";
import type { AddedLatency, ProxyCost, Spot } from "../types";
import { byRatio, MOST_ROWS, RatiosFigure, speedColumn, withheldIn } from "./ratios";

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

function costColumns(report: Report): Column<ProxyCost>[] {
  return [
    contenderColumn(report, (row) => row.contender, { head: "proxy" }),
    textColumn("where", placeInWords),
    boldColumn("share", (row) => row.ratio, (ratio) => percentInterval(ratio).estimate),
    intervalColumn((row) => row.ratio, (ratio) => percentInterval(ratio).interval),
    speedColumn("req/s", (row) => row.per_second),
    speedColumn("alone, req/s", (row) => row.straight_per_second),
    figureColumn("CPU/req", (row) => row.cpu_per_request_ns, duration),
    figureColumn("upstream CPU/req", (row) => row.upstream_cpu_per_request_ns, duration),
  ];
}

function addedColumns(report: Report, rows: readonly AddedLatency[]): Column<AddedLatency>[] {
  const quantiles = [...new Set(rows.flatMap((row) => row.quantiles.map(({ quantile }) => quantile)))].sort((a, b) => a - b);
  const at = (row: AddedLatency, quantile: number) => row.quantiles.find((of) => of.quantile === quantile)?.added_ns;
  const told = (quantile: number): Column<AddedLatency>[] => [
    boldColumn(`p${percentile(quantile)}`, (row) => at(row, quantile), (added) => addedDuration(added).estimate),
    intervalColumn((row) => at(row, quantile), (added) => addedDuration(added).interval, "interval"),
  ];
  return [
    contenderColumn(report, (row) => row.contender, { head: "proxy" }),
    textColumn("where", placeInWords),
    figureColumn("offered/s", (row) => row.offered_per_second, rate),
    ...quantiles.flatMap(told),
    figureColumn("pairs", (row) => row.pairs, String),
  ];
}
