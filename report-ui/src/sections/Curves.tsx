/** How long requests took, by percentile: response times where a rate was offered, else service times. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { curvesChart, type CurvePoint } from "../charts/curves";
import type { Line } from "../charts/lines";
import { duration, percentile } from "../format";
import { Chart } from "../parts/Chart";
import { Choice } from "../parts/Choice";
import { contenderColumn, figureColumn } from "../parts/columns";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import { lookOf, type Cell, type Report } from "../select";
import type { Theme } from "../theme";
import type { Curve } from "../types";

const TABLE_QUANTILES = [0.5, 0.9, 0.99, 0.999, 0.9999];

/** A closed loop: each request follows the response to the one before. */
export const CAPACITY = "max";

/** The loads of which there are durations, in the order of the record. */
export function loadsOf(cell: Cell): string[] {
  return [...new Set(cell.curves.map((curve) => curve.offered))];
}

/** The load that is drawn: what was asked for, else the rate that is the same for all, else the first. */
export function loadOf({ view }: Report, cell: Cell): string {
  const loads = loadsOf(cell);
  const order = [view.load, "common", CAPACITY];
  return order.find((load) => loads.includes(load)) ?? loads[0] ?? CAPACITY;
}

/** `service time`, or `response time, 50% offered`; with what it means. */
export function durationOf(load: string, cell: Cell): { title: string; meaning: string } {
  if (isClosed(load)) {
    return { title: "Service time", meaning: `once sent, ${cell.where}, ${loadInWords(load)}: a closed loop says nothing about times at a given rate` };
  }
  return { title: "Response time", meaning: `from when they were due, ${cell.where}, ${loadInWords(load)}` };
}

/** Whether the next request follows the last response, without end or for so many: `13000 requests`. */
export const isClosed = (load: string): boolean => load === CAPACITY || load.endsWith(" requests");

export function loadInWords(load: string): string {
  if (load === CAPACITY) return "as fast as it answers";
  if (load === "common") return "at one rate for all";
  if (load.endsWith("%")) return `at ${load.replace("%", " %")} of its own capacity`;
  return load.endsWith(" requests") ? `for ${load}` : `at ${load}`;
}

export function LoadChoice({ report, cell }: { report: Report; cell: Cell }): JSX.Element | null {
  const loads = loadsOf(cell);
  if (loads.length < 2) return null;
  return <Choice legend="load" options={loads} chosen={loadOf(report, cell)} onChoose={(load) => report.choose({ load })} />;
}

/** The curves of those whose numbers are not withheld, in the order of the standings. */
export function curvesOf(report: Report, cell: Cell): Curve[] {
  const load = loadOf(report, cell);
  const order = new Map(cell.standings.map((standing, i) => [standing.contender, i]));
  const withheld = new Set(cell.standings.filter((standing) => standing.withheld).map((standing) => standing.contender));
  const place = (curve: Curve): number => order.get(curve.contender) ?? order.size;
  return cell.curves
    .filter((curve) => curve.offered === load && !(load === CAPACITY && withheld.has(curve.contender)))
    .sort((a, b) => place(a) - place(b));
}

export function CurvesSection({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  const lines = useMemo(() => linesOf(report, cell), [report, cell]);
  const draw = useMemo(() => (theme: Theme, width: number) => curvesChart(lines, theme, width), [lines]);
  const { title, meaning } = durationOf(loadOf(report, cell), cell);
  return (
    <Section id="times" title={`${title} by percentile`} question={`How long did requests take? ${title} ${meaning}. Line: median over rounds; band: least to greatest.`}>
      <LoadChoice report={report} cell={cell} />
      <Drawn report={report} names={lines.map(({ name }) => name)} />
      {lines.length > 0 && (
        <Chart
          label={`${title} by percentile for each contender, ${cell.where}.`}
          draw={draw}
          twin={<Table caption={`${title} by percentile, ${cell.where}`} columns={columns(report)} rows={lines} />}
        />
      )}
    </Section>
  );
}

function linesOf(report: Report, cell: Cell): Line<CurvePoint>[] {
  const lines = curvesOf(report, cell).map((curve) => ({
    name: curve.contender,
    title: curve.contender,
    look: lookOf(report, curve.contender),
    points: pointsOf(report, curve),
  }));
  return lines.filter((line) => line.points.length > 0);
}

function pointsOf(report: Report, { median_ns, low_ns, high_ns }: Curve): CurvePoint[] {
  return median_ns.flatMap((median, i) => {
    if (median === null) return [];
    return [{ quantile: report.head.quantiles[i] ?? 0, median_ns: median, low_ns: low_ns[i] ?? median, high_ns: high_ns[i] ?? median }];
  });
}

function columns(report: Report): Column<Line<CurvePoint>>[] {
  const at = (line: Line<CurvePoint>, quantile: number): number | undefined => line.points.find((point) => point.quantile === quantile)?.median_ns;
  return [
    contenderColumn(report, (line) => line.name),
    ...TABLE_QUANTILES.map((quantile): Column<Line<CurvePoint>> => figureColumn(`${percentile(quantile)} %`, (line) => at(line, quantile), duration)),
  ];
}
