/** How throughput changes with the number of connections. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { scalingChart } from "../charts/scaling";
import { Chart } from "../parts/Chart";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import { Table } from "../parts/Table";
import { onSetting, type Cell, type Report } from "../select";
import { settingOf } from "../state";
import type { Theme } from "../theme";
import { useCells } from "../useCells";
import { columnsBy, linesBy } from "./by-number";

export function ScalingSection({ report, cell: { spot: here } }: { report: Report; cell: Cell }): JSX.Element {
  // Levels of another depth or in another setting are no scaling.
  const cells = useCells(report, (spot) => spot.workload === here.workload && spot.pipeline === here.pipeline && settingOf(spot) === settingOf(here));
  const where = `${here.workload}${onSetting(report.head, settingOf(here))}`;
  const levels = useMemo(() => cells.map(({ spot }) => spot.connections).sort((a, b) => a - b), [cells]);
  const lines = useMemo(() => linesBy(report, cells, (spot) => spot.connections), [report, cells]);
  const draw = useMemo(() => {
    const limit = lines.find((line) => line.name === report.limit?.name) ?? null;
    const others = lines.filter((line) => line !== limit);
    return (theme: Theme, width: number) => scalingChart({ lines: others, limit, levels }, theme, width);
  }, [lines, levels, report]);
  return (
    <Section id="scaling" title="Scaling with connections" question={`Does it hold its throughput as connections grow? Validated answers per second, ${where}${report.limit ? "; the limit is dashed" : ""}.`}>
      <Drawn report={report} names={lines.map(({ name }) => name)} />
      <Chart
        label={`Throughput against connections for each contender, ${where}.`}
        draw={draw}
        twin={<Table caption={`Throughput by connections, ${where}`} columns={columnsBy(report, levels)} rows={lines} />}
      />
    </Section>
  );
}
