/** Where the time goes, and why one spends more than another: of those that were profiled. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { codeOf, partsChart } from "../charts/parts";
import { capitalised, duration, durationInterval, percent } from "../format";
import { Chart } from "../parts/Chart";
import { estimateColumn, textColumn } from "../parts/columns";
import { Legend, sortsOf } from "../parts/Legend";
import { Prose } from "../parts/Prose";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import { atLoad, isSamePlace } from "../state";
import type { Theme } from "../theme";
import type { Explained, Interval, Line, PartName, Spending } from "../types";
import { Flames } from "./Flames";

export const explainedAt = (report: Report, cell: Cell): Explained[] => report.head.why.filter((why) => isSamePlace(why, cell.spot));

export function WhySection({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  return (
    <Section
      id="why"
      title="Where the time goes"
      wide
      question={`On what does each server spend its CPU time? For each right answer, ${cell.where}, from stacks that were sampled in slices of load apart from the measured windows.`}
    >
      {explainedAt(report, cell).map((why) => (
        <Load key={why.offered ?? "max"} report={report} why={why} />
      ))}
      {cell.flames.length > 0 && <Flames flames={cell.flames} />}
    </Section>
  );
}

function Load({ report, why }: { report: Report; why: Explained }): JSX.Element {
  const rows = useMemo(() => why.spendings.filter(({ contender }) => report.isShown(contender)), [report, why]);
  const draw = useMemo(() => (theme: Theme, width: number) => partsChart({ rows, parts: why.parts }, theme, width), [rows, why]);
  const load = capitalised(atLoad(why.offered));
  return (
    <div>
      <h3>{load}</h3>
      {why.sentences.map((sentence) => (
        <p key={sentence}><Prose words={sentence} /></p>
      ))}
      <Legend entries={sortsOf(why.parts.map(codeOf))} />
      <Chart label={`CPU time for each answer by parts, ${load}.`} draw={draw} twin={<Table caption={`CPU time for each answer by parts, ${load}`} columns={partColumns(rows)} rows={why.parts} />} />
      {why.compared.map(({ base, contender, lines }) => (
        <div key={contender}>
          <h4>
            {contender} less {base}
          </h4>
          <Table caption={`${contender} less ${base}, ${load}`} columns={lineColumns(base, contender, lines)} rows={lines} />
        </div>
      ))}
      <details class="twin">
        <summary>What this rests on</summary>
        <ul>
          {why.grounds.map(({ contender, doing, grounds, is_faithful }) => (
            <li key={contender}>
              <b>{contender}</b>: {doing}. {is_faithful ? grounds : <em>{grounds}</em>}.
            </li>
          ))}
        </ul>
        <p class="key">{why.rules}</p>
      </details>
    </div>
  );
}

/** A column for each contender, a row for each part. */
function partColumns(rows: readonly Spending[]): Column<PartName>[] {
  const spent = (row: Spending, part: PartName): Spending["parts"][number] | undefined => row.parts.find((of) => of.part === part.part);
  const told = ({ restarts }: Spending, ns: Interval): string => {
    const { estimate, interval } = durationInterval(ns);
    return restarts > 1 ? `${estimate} ${interval}` : duration(ns.estimate);
  };
  const of = (row: Spending): Column<PartName>[] => [
    estimateColumn(row.contender, (part) => spent(row, part)?.ns, (ns) => told(row, ns)),
    { head: `share of ${row.contender}`, cell: (part) => percent((spent(row, part)?.ns.estimate ?? 0) / Math.max(1, row.cpu_ns.estimate)) },
  ];
  return [textColumn("part", ({ name }) => name), ...rows.flatMap(of)];
}

/** Texts as every format has them. */
function lineColumns(base: string, contender: string, lines: readonly Line[]): Column<Line>[] {
  const because: Column<Line> = { head: "for each answer", text: true, cell: (line) => line.because };
  return [
    { head: "part", text: true, cell: ({ name }) => name },
    { head: base, cell: (line) => line.base },
    { head: contender, cell: (line) => line.contender },
    { head: "difference", cell: ({ difference }) => <b>{difference}</b> },
    { head: "95 % interval", cell: ({ interval }) => interval },
    ...(lines.some((line) => line.because !== "") ? [because] : []),
  ];
}
