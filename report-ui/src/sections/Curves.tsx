/** How long requests took, by percentile. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { curvesChart, type CurvePoint } from "../charts/curves";
import type { Line } from "../charts/lines";
import { duration } from "../format";
import { Chart } from "../parts/Chart";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import { lookOf, titleOf, type Report } from "../select";
import type { Theme } from "../theme";
import type { CellVerdict, Curve } from "../types";

const TABLE_QUANTILES = [0.5, 0.9, 0.99, 0.999, 0.9999];

export function CurvesSection({ report, cell }: { report: Report; cell: CellVerdict }): JSX.Element | null {
  const lines = useMemo(() => linesOf(report, cell), [report, cell]);
  const draw = useMemo(() => (theme: Theme, width: number) => curvesChart(lines, theme, width), [lines]);
  if (lines.length === 0) return null;
  const where = `${cell.workload} at ${cell.connections} in flight`;
  return (
    <Section id="times" title="Service time" question={`How long did requests take once sent? By percentile, ${where}; line: median over rounds, band: least to greatest.`}>
      <Chart
        label={`Service time by percentile for each contender, ${where}.`}
        draw={draw}
        twin={<Table caption={`Service time by percentile, ${where}`} columns={columns(report)} rows={lines} />}
      />
    </Section>
  );
}

/** Curves of the contenders whose numbers are not withheld, in the order of the standings. */
function linesOf(report: Report, cell: CellVerdict): Line<CurvePoint>[] {
  const shown = cell.standings.filter((standing) => !standing.withheld);
  return shown.flatMap(({ contender }) => {
    const same = (c: { contender: string; workload: string; connections: number }): boolean =>
      c.contender === contender && c.workload === cell.workload && c.connections === cell.connections;
    const curve = report.page.curves.find(same);
    return curve ? [{ name: contender, title: titleOf(report, contender), look: lookOf(report, contender), points: pointsOf(report, curve) }] : [];
  });
}

function pointsOf(report: Report, { median_ns, low_ns, high_ns }: Curve): CurvePoint[] {
  return median_ns.map((median, i) => ({
    quantile: report.page.quantiles[i] ?? 0,
    median_ns: median,
    low_ns: low_ns[i] ?? median,
    high_ns: high_ns[i] ?? median,
  }));
}

function columns(report: Report): Column<Line<CurvePoint>>[] {
  const at = (line: Line<CurvePoint>, quantile: number): number | null =>
    line.points.find((point) => point.quantile === quantile)?.median_ns ?? null;
  return [
    { head: "contender", text: true, cell: (line) => <Name report={report} name={line.name} />, sort: (line) => line.title },
    ...TABLE_QUANTILES.map((quantile): Column<Line<CurvePoint>> => ({
      head: `${+(quantile * 100).toFixed(2)} %`,
      sort: (line) => at(line, quantile),
      cell: (line) => {
        const ns = at(line, quantile);
        return ns === null ? "–" : duration(ns);
      },
    })),
  ];
}
