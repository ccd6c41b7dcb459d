/** Every round as it was measured. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { RoundDot, RoundStrip } from "../charts/over-time";
import { rawRoundsChart } from "../charts/rounds";
import { rate, span } from "../format";
import { Chart } from "../parts/Chart";
import { contenderColumn, figureColumn } from "../parts/columns";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import type { Theme } from "../theme";
import { AS_MEASURED, stripsOf } from "./strips";

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
  const usual = figureColumn<Row>("at usual speed", (dot) => dot.usualPerSecond, rate);
  return [
    contenderColumn(report, (dot) => dot.name),
    { head: "round", cell: (dot) => dot.round + 1, sort: (dot) => dot.round },
    figureColumn("at", (dot) => dot.offsetNs, span),
    figureColumn("req/s", (dot) => dot.perSecond, rate),
    ...(rows.some((dot) => dot.usualPerSecond !== null) ? [usual] : []),
    { head: "objection", text: true, cell: (dot) => dot.why, sort: (dot) => dot.why || null },
  ];
}
