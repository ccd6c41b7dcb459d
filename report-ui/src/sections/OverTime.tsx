/** Throughput over the whole run, rounds in true order. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { overTimeChart } from "../charts/over-time";
import { Chart } from "../parts/Chart";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import { focused, type Cell, type Report } from "../select";
import type { Theme } from "../theme";
import { roundsTable } from "./Rounds";
import { AS_MEASURED, stripsOf } from "./strips";

/** Of more contenders than this only those in focus. */
const MOST_STRIPS = 16;

export function OverTimeSection({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  const all = useMemo(() => stripsOf(report, cell), [report, cell]);
  const strips = useMemo(() => focused(report, all, (strip) => strip.name, MOST_STRIPS), [report, all]);
  const draw = useMemo(() => {
    const { round_offsets_ns: starts, run } = report.head;
    return (theme: Theme, width: number) => overTimeChart({ strips, starts, end: run.elapsed_ns }, theme, width);
  }, [report, strips]);
  return (
    <Section
      id="over-time"
      title="Over time"
      question={`Was anything drifting or disturbed? Each window's distance from its contender's own median, in true order, ${cell.where}. ${AS_MEASURED} Hollow: void, or withheld. Cross: died.`}
    >
      <Drawn report={report} names={all.map(({ name }) => name)} most={MOST_STRIPS} />
      <Chart
        label={`Deviation of every measured window from its contender's median, in order of time, ${cell.where}.`}
        draw={draw}
        twin={roundsTable(report, strips, `Every window in true order, ${cell.where}`)}
      />
    </Section>
  );
}
