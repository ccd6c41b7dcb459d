/** How throughput changes with the number of connections. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { scalingChart, type ScalingPoint } from "../charts/scaling";
import type { Line } from "../charts/lines";
import { rateInterval } from "../format";
import { Chart } from "../parts/Chart";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import { lookOf, titleOf, type Report } from "../select";
import type { Theme } from "../theme";

export function ScalingSection({ report, workload, levels }: { report: Report; workload: string; levels: number[] }): JSX.Element {
  const lines = useMemo(() => linesOf(report, workload), [report, workload]);
  const draw = useMemo(() => {
    const limit = lines.find((line) => line.name === report.limit?.name) ?? null;
    const others = lines.filter((line) => line !== limit);
    return (theme: Theme, width: number) => scalingChart({ lines: others, limit, levels: [...levels].sort((a, b) => a - b) }, theme, width);
  }, [lines, levels, report]);
  return (
    <Section id="scaling" title="Scaling with connections" question={`Does it hold its throughput as connections grow? Validated answers per second, ${workload}; the limit is dashed.`}>
      <Chart
        label={`Throughput against connections for each contender, ${workload}.`}
        draw={draw}
        twin={<Table caption={`Throughput by connections, ${workload}`} columns={columns(report, levels)} rows={lines} />}
      />
    </Section>
  );
}

function linesOf(report: Report, workload: string): Line<ScalingPoint>[] {
  const lines = new Map<string, Line<ScalingPoint>>();
  for (const cell of report.page.verdict.cells.filter((cell) => cell.workload === workload)) {
    for (const { contender, throughput_per_second: throughput, withheld } of cell.standings) {
      if (!throughput || withheld) continue;
      const line = lines.get(contender) ?? { name: contender, title: titleOf(report, contender), look: lookOf(report, contender), points: [] };
      line.points.push({ connections: cell.connections, throughput });
      lines.set(contender, line);
    }
  }
  for (const line of lines.values()) line.points.sort((a, b) => a.connections - b.connections);
  return [...lines.values()];
}

function columns(report: Report, levels: number[]): Column<Line<ScalingPoint>>[] {
  const at = (line: Line<ScalingPoint>, level: number): ScalingPoint | undefined => line.points.find((point) => point.connections === level);
  return [
    { head: "contender", text: true, cell: (line) => <Name report={report} name={line.name} />, sort: (line) => line.title },
    ...levels.map((level): Column<Line<ScalingPoint>> => ({
      head: String(level),
      sort: (line) => at(line, level)?.throughput.estimate ?? null,
      cell: (line) => {
        const point = at(line, level);
        if (!point) return "–";
        const { estimate, interval } = rateInterval(point.throughput);
        return <><b>{estimate}</b> {interval}</>;
      },
    })),
  ];
}
