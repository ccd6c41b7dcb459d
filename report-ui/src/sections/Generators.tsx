/** What other load generators say of the same servers in the same rounds. */
import type { JSX } from "preact";
import { count, duration, rate, ratio } from "../format";
import { contenderColumn, estimateColumn, figureColumn, textColumn } from "../parts/columns";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Report } from "../select";
import { placeInWords } from "../state";
import type { Head } from "../types";
import { ratioIntervalColumn, speedColumn } from "./ratios";

type Cell = Head["by_generator"][number];
type Row = Cell["standings"][number];

export function GeneratorsSection({ report }: { report: Report }): JSX.Element {
  const { by_generator: cells, generators_missing: missing } = report.head;
  const shown = cells.map((cell) => ({ ...cell, standings: cell.standings.filter((row) => report.isShown(row.contender)) }));
  return (
    <Section id="generators" title="Is it the generator?" wide question="What do other load generators get out of the same servers, in windows of their own in the same rounds?">
      {shown.map((cell) => (
        <div key={placeInWords(cell)}>
          <h3>{placeInWords(cell)}</h3>
          <GeneratorTable report={report} cell={cell} />
          <ul class="plain key">
            {cell.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </div>
      ))}
      {missing.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </Section>
  );
}

export function GeneratorTable({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  return <Table caption={`By generator, ${placeInWords(cell)}`} columns={columns(report)} rows={cell.standings} />;
}

function columns(report: Report): Column<Row>[] {
  return [
    contenderColumn(report, (row) => row.contender),
    textColumn("generator", (row) => row.generator),
    speedColumn("req/s", (row) => row.per_second),
    estimateColumn("of ours", (row) => row.to_ours, ({ estimate }) => ratio(estimate)),
    ratioIntervalColumn((row) => row.to_ours),
    figureColumn("per CPU-s", (row) => row.per_cpu_second, rate),
    figureColumn("told p50", (row) => row.told_p50_ns, duration),
    figureColumn("told p99", (row) => row.told_p99_ns, duration),
    figureColumn("failed", (row) => row.failed, count),
  ];
}
