/** What other load generators say of the same servers in the same rounds. */
import type { JSX } from "preact";
import { count, duration, rate, ratio } from "../format";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Report } from "../select";
import { placeInWords } from "../state";
import type { Head } from "../types";
import { intervalIn } from "./ratios";

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
  const figure = (head: string, value: (row: Row) => number | null | undefined, format: (value: number) => string): Column<Row> => ({
    head,
    sort: (row) => value(row) ?? null,
    cell: (row) => {
      const found = value(row);
      return found === null || found === undefined ? "–" : format(found);
    },
  });
  return [
    { head: "contender", text: true, cell: (row) => <Name report={report} name={row.contender} />, sort: (row) => row.contender },
    { head: "generator", text: true, cell: (row) => row.generator, sort: (row) => row.generator },
    figure("req/s", (row) => row.per_second?.estimate, rate),
    figure("of ours", (row) => row.to_ours?.estimate, ratio),
    { head: "95 % interval", cell: (row) => intervalIn(row.to_ours) },
    figure("per CPU-s", (row) => row.per_cpu_second, rate),
    figure("told p50", (row) => row.told_p50_ns, duration),
    figure("told p99", (row) => row.told_p99_ns, duration),
    figure("failed", (row) => row.failed, count),
  ];
}
