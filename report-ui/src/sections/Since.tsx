/** What changed since the last run of the same experiment; what moved stands first. */
import type { JSX } from "preact";
import { capitalised, readableTime, unbroken } from "../format";
import { contenderColumn, textColumn } from "../parts/columns";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Report } from "../select";
import { placeInWords } from "../state";
import type { Since } from "../types";

type Row = Since["rows"][number];

const CALLS: Record<NonNullable<Row["call"]>, string> = { better: "better", worse: "worse", equal: "equal", not_shown: "cannot tell", not_called: "" };

const hasMoved = ({ call }: Row): boolean => call === "better" || call === "worse";

export function SinceSection({ report }: { report: Report }): JSX.Element | null {
  const { since } = report.head;
  if (!since) return null;
  const rows = since.rows.filter(({ contender }) => report.isShown(contender));
  const [moved, others] = [rows.filter(hasMoved), rows.filter((row) => !hasMoved(row))];
  return (
    <Section id="since" title="Since the last run" wide question={`What changed since ${since.run} of ${readableTime(since.started_at)}? ${summary(rows)}`}>
      <ul class="plain">
        {moved.map((row) => (
          <li key={placeInWords(row) + row.contender}>
            <b>{placeInWords(row)}</b> {unbroken(row.sentence)}
          </li>
        ))}
      </ul>
      <Table caption="Since the last run" columns={columns(report)} rows={[...moved, ...others]} across={(row) => (row.call ? null : <em>{placeInWords(row)}: {row.sentence}</em>)} />
      {since.legend && <p class="key">{capitalised(since.legend)}.</p>}
      <ul class="plain key">
        {since.caveats.map((caveat) => (
          <li key={caveat}>{unbroken(caveat)}</li>
        ))}
      </ul>
    </Section>
  );
}

/** `2 of 7 figures moved, 4 did not, 1 cannot be told.` */
export function summary(rows: readonly Row[]): string {
  const moved = rows.filter(hasMoved).length;
  const still = rows.filter(({ call }) => call === "equal").length;
  const parts = [`${moved} of ${rows.length} figures moved`];
  if (still > 0) parts.push(`${still} did not`);
  if (moved + still < rows.length) parts.push(`${rows.length - moved - still} cannot be told`);
  return `${parts.join(", ")}.`;
}

function columns(report: Report): Column<Row>[] {
  return [
    contenderColumn(report, (row) => row.contender),
    textColumn("where", placeInWords),
    textColumn("figure", (row) => row.figure),
    { head: "before", cell: (row) => row.before },
    { head: "now", cell: (row) => row.now },
    { head: "change", cell: (row) => <b>{row.change}</b> },
    { head: "interval", cell: (row) => row.interval },
    { head: "so it is", text: true, cell: (row) => (row.call ? CALLS[row.call] : ""), sort: (row) => row.call ?? null },
  ];
}
