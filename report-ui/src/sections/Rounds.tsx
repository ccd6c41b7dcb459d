/** Every round as it was measured. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { RoundDot, RoundStrip } from "../charts/over-time";
import { rawRoundsChart } from "../charts/rounds";
import { rate, span } from "../format";
import { Chart } from "../parts/Chart";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import type { Theme } from "../theme";
import { AS_MEASURED, stripsOf } from "./OverTime";

export function RoundsSection({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  const strips = useMemo(() => stripsOf(report, cell), [report, cell]);
  const draw = useMemo(() => (theme: Theme, width: number) => rawRoundsChart(strips, theme, width), [strips]);
  return (
    <Section
      id="rounds"
      title="Every raw round"
      question={`What do the estimates rest on? Validated answers per second in each window, first round above the last, ${cell.where}. ${AS_MEASURED} Hollow: void, or withheld.`}
    >
      <Chart
        label={`Throughput of every measured window of each contender, ${cell.where}.`}
        draw={draw}
        twin={roundsTable(report, strips, `Every round, ${cell.where}`)}
      />
    </Section>
  );
}

/** The windows of some contenders in true order. */
export function roundsTable(report: Report, strips: readonly RoundStrip[], caption: string): JSX.Element {
  const rows = strips.flatMap((strip) => strip.dots.map((dot) => ({ ...dot, name: strip.name }))).sort((a, b) => a.offsetNs - b.offsetNs);
  return <Table caption={caption} columns={columns(report, rows)} rows={rows} />;
}

type Row = RoundDot & { name: string };

function columns(report: Report, rows: readonly Row[]): Column<Row>[] {
  const usual: Column<Row> = { head: "at usual speed", cell: (dot) => (dot.usualPerSecond === null ? "–" : rate(dot.usualPerSecond)), sort: (dot) => dot.usualPerSecond };
  return [
    { head: "contender", text: true, cell: (dot) => <Name report={report} name={dot.name} />, sort: (dot) => dot.name },
    { head: "round", cell: (dot) => dot.round + 1, sort: (dot) => dot.round },
    { head: "at", cell: (dot) => span(dot.offsetNs), sort: (dot) => dot.offsetNs },
    { head: "req/s", cell: (dot) => (dot.perSecond === null ? "–" : rate(dot.perSecond)), sort: (dot) => dot.perSecond },
    ...(rows.some((dot) => dot.usualPerSecond !== null) ? [usual] : []),
    { head: "objection", text: true, cell: (dot) => dot.why, sort: (dot) => dot.why || null },
  ];
}
