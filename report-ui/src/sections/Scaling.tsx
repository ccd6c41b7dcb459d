/** How throughput changes with the number of connections. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { scalingChart } from "../charts/scaling";
import { Chart } from "../parts/Chart";
import { Section } from "../parts/Section";
import { Table } from "../parts/Table";
import type { Report } from "../select";
import { widthOf } from "../state";
import type { Theme } from "../theme";
import { useCells } from "../useFindings";
import { columnsBy, linesBy } from "./by-number";

export function ScalingSection({ report, workload }: { report: Report; workload: string }): JSX.Element {
  const cells = useCells(report, (spot) => spot.workload === workload && spot.pipeline === pipelineOf(report));
  const levels = useMemo(() => (cells ?? []).map((cell) => cell.spot.connections).sort((a, b) => a - b), [cells]);
  const lines = useMemo(() => linesBy(report, cells ?? [], (spot) => spot.connections), [report, cells]);
  const draw = useMemo(() => {
    const limit = lines.find((line) => line.name === report.limit?.name) ?? null;
    const others = lines.filter((line) => line !== limit);
    return (theme: Theme, width: number) => scalingChart({ lines: others, limit, levels }, theme, width);
  }, [lines, levels, report]);
  return (
    <Section id="scaling" title="Scaling with connections" question={`Does it hold its throughput as connections grow? Validated answers per second, ${workload}${report.limit ? "; the limit is dashed" : ""}.`}>
      {cells && (
        <Chart
          label={`Throughput against connections for each contender, ${workload}.`}
          draw={draw}
          twin={<Table caption={`Throughput by connections, ${workload}`} columns={columnsBy(report, levels)} rows={lines} />}
        />
      )}
    </Section>
  );
}

/** Depth of the pipelines at the place looked at; levels of another depth are no scaling. */
function pipelineOf({ head, view }: Report): number {
  return head.spots.find((spot) => spot.workload === view.workload && widthOf(spot) === view.width)?.pipeline ?? 1;
}
