/** What the work that is repeated here has published, beside what was found here: as ratios, for the machines differ. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ratiosChart } from "../charts/ratios";
import { count, percent, percentInterval, rateInterval, ratio } from "../format";
import { Chart } from "../parts/Chart";
import { textColumn } from "../parts/columns";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import { lookOf, NO_LOOK, type Report } from "../select";
import type { Theme } from "../theme";
import type { Beside, BesideRow } from "../types";

export function PublishedSection({ report }: { report: Report }): JSX.Element | null {
  const { published } = report.head;
  if (!published) return null;
  const table = { ...published, rows: published.rows.filter((row) => row.contender === null || report.isShown(row.contender)) };
  const question = `Is the order the same as others found it? ${table.source}: ${table.quantity}. Other machines, other years: only ratios compare${table.baseline ? `, here to ${table.baseline}` : ""}. Hollow: published; filled: found here, on ${table.network}${table.rows.some(({ network }) => network) ? " where a row names no other network" : ""}.`;
  return (
    <Section id="published" title="As published" wide question={question}>
      {table.baseline !== null && (
        <div class="prices">
          {table.columns.map((column, i) => (
            <Ratios key={column} report={report} table={table} column={i} />
          ))}
        </div>
      )}
      <Table caption={`${table.quantity}, as published and as found here`} columns={columns(report, table)} rows={table.rows} />
      {table.sentences.map((sentence) => (
        <p key={sentence} class="key">
          {sentence}
        </p>
      ))}
    </Section>
  );
}

function Ratios({ report, table, column }: { report: Report; table: Beside; column: number }): JSX.Element {
  const draw = useMemo(() => {
    const rows = table.rows.map((row) => ({
      title: row.title,
      look: row.contender === null ? NO_LOOK : lookOf(report, row.contender),
      theirs: row.ratio_to_baseline[column] ?? null,
      ours: row.our_ratio[column] ?? null,
    }));
    return (theme: Theme, width: number) => ratiosChart(rows.filter((row) => row.theirs !== null || row.ours !== null), theme, width);
  }, [report, column]);
  const heading = headOf(table, column);
  return (
    <div>
      <h3>{heading}</h3>
      <Chart label={`Ratios to the baseline, published and found here, ${heading}; the table below holds the figures.`} draw={draw} />
    </div>
  );
}

/** What a column stands for. */
function headOf({ figures, columns }: Beside, column: number): string {
  const head = columns[column] ?? "";
  return figures === "throughput" ? `${head} connections` : `within ${head} ms`;
}

function columns(report: Report, table: Beside): Column<BesideRow>[] {
  return [
    { head: "contender", text: true, cell: (row) => (row.contender !== null && report.entries.has(row.contender) ? <Name report={report} name={row.contender} /> : row.title), sort: (row) => row.title },
    textColumn("at the source", (row) => row.title),
    ...(table.rows.some(({ network }) => network) ? [{ head: "network here", text: true, cell: ({ network }: BesideRow) => network ?? table.network }] : []),
    ...table.columns.flatMap((head, i) => figureColumns(table, head, i)),
  ];
}

function figureColumns({ figures }: Beside, head: string, i: number): Column<BesideRow>[] {
  const theirs = (value: number): string => (figures === "throughput" ? count(Math.round(value)) : percent(value));
  const ours = figures === "throughput" ? rateInterval : percentInterval;
  const quotient = (value: number | null | undefined): JSX.Element | null => (value === null || value === undefined ? null : <small>{ratio(value)}</small>);
  return [
    {
      head: `${head} published`,
      sort: (row) => row.values[i] ?? null,
      cell: (row) => {
        const value = row.values[i] ?? null;
        return value === null ? "–" : <>{theirs(value)} {quotient(row.ratio_to_baseline[i])}</>;
      },
    },
    {
      head: `${head} here`,
      sort: (row) => row.ours[i]?.estimate ?? null,
      cell: (row) => {
        const value = row.ours[i] ?? null;
        return value === null ? <span title={row.not_run ?? ""}>{row.not_run ? "not run" : "–"}</span> : <><b>{ours(value).estimate}</b> {quotient(row.our_ratio[i]?.estimate)}</>;
      },
    },
  ];
}
