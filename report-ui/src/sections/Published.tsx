/** What the work that is repeated here has published, beside what was found here. */
import type { ComponentChildren, JSX } from "preact";
import { count, percent, rateInterval, ratio } from "../format";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import type { Interval, Published, PublishedRow } from "../types";
import { useCells } from "../useFindings";

const RATES = "requests per second";

export function PublishedSection({ report }: { report: Report }): JSX.Element | null {
  const { published } = report.head.run.experiment;
  const cells = useCells(report, (spot) => spot.workload === report.view.workload && spot.pipeline === 1) ?? [];
  if (!published) return null;
  return (
    <Section id="published" title="As published" wide question={`What did others find? ${published.source}: ${published.quantity}. Other machines, other years: compare the order and the ratios, not the figures.`}>
      <Table caption={`${published.quantity}, as published and as found here`} columns={columns(report, published, cells)} rows={published.row} />
    </Section>
  );
}

function columns(report: Report, published: Published, cells: readonly Cell[]): Column<PublishedRow>[] {
  const theirs = (heading: string, i: number): Column<PublishedRow>[] => [
    { head: heading, sort: (row) => row.values[i] ?? null, cell: (row) => figure(row.values[i]) },
    ...(isMeasured(published, cells, heading) ? [{ head: `${heading} here`, sort: (row: PublishedRow) => ours(cells, heading, row)?.estimate ?? null, cell: (row: PublishedRow) => here(cells, heading, row, i) }] : []),
  ];
  return [
    { head: "source's name", text: true, cell: (row) => row.title, sort: (row) => row.title },
    { head: "here", text: true, cell: (row) => (row.contender && report.entries.has(row.contender) ? <Name report={report} name={row.contender} /> : "–"), sort: (row) => row.contender ?? null },
    ...published.columns.flatMap(theirs),
  ];
}

function isMeasured(published: Published, cells: readonly Cell[], heading: string): boolean {
  return published.quantity === RATES && cells.some(({ spot }) => String(spot.connections) === heading);
}

/** Our throughput in the column's cell: its heading is a number of connections. */
export function ours(cells: readonly Cell[], heading: string, row: PublishedRow): Interval | null {
  const cell = cells.find(({ spot }) => String(spot.connections) === heading);
  const standing = cell?.standings.find(({ contender }) => contender === row.contender);
  return (standing && !standing.withheld && standing.throughput_per_second) || null;
}

function here(cells: readonly Cell[], heading: string, row: PublishedRow, i: number): ComponentChildren {
  const found = ours(cells, heading, row);
  if (!found) return "–";
  const value = row.values[i];
  return (
    <>
      <b>{rateInterval(found).estimate}</b> {value ? <small>{ratio(found.estimate / value)}</small> : null}
    </>
  );
}

function figure(value: number | undefined): string {
  if (value === undefined) return "–";
  return value <= 1 ? percent(value) : count(Math.round(value));
}
