/** What the network stack costs: the same program in the same rounds on two networks, both named by stack and wire. */
import type { JSX } from "preact";
import { capitalised } from "../format";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import type { Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import { isBeside, widthOf } from "../state";
import type { Spot, StackComparison, StackRow } from "../types";
import { CountersTable } from "./counters";
import { CrossingPart, titleIn } from "./Crossing";
import { byRatio, MOST_ROWS, P50_COLUMN, ratioColumns, RatiosFigure, speedColumn } from "./ratios";

export function StacksSection({ report, cell: { spot } }: { report: Report; cell: Cell }): JSX.Element {
  const place = `${spot.workload} at ${widthOf(spot)} connections`;
  const shown = report.head.stack_cost.map((comparison) => ({ ...comparison, rows: rowsOf(report, comparison) }));
  return (
    <Section
      id="stacks"
      title="Stack cost"
      wide
      question={`What does the network stack cost? Throughput on the user-space stack over that on the kernel's, same program, same rounds, ${place}: beyond 1× the user-space stack is faster. Dot and bar: estimate and 95 % interval.`}
    >
      <Drawn report={report} names={rowsAt(shown.flatMap(({ rows }) => rows), spot).map(({ contender }) => contender)} most={MOST_ROWS} />
      <div class="prices">
        {shown.map((comparison) => (
          <Comparison key={titleIn(comparison)} report={report} spot={spot} place={place} comparison={comparison} />
        ))}
      </div>
      {shown.map((comparison) => (
        <CrossingPart key={titleIn(comparison)} report={report} spot={spot} comparison={comparison} />
      ))}
      <CountersTable report={report} spot={spot} place={place} />
    </Section>
  );
}

/** Those whom the filters let through; both networks stand in the title. */
const rowsOf = (report: Report, { rows }: StackComparison): StackRow[] => rows.filter((row) => report.isShown(row.contender)).map((row) => ({ ...row, network: null }));

interface Props {
  report: Report;
  spot: Spot;
  place: string;
  comparison: StackComparison;
}

function Comparison({ report, spot, place, comparison }: Props): JSX.Element {
  const title = titleIn(comparison);
  return (
    <div>
      <h3>
        {title} <small>{comparison.same_wire ? "same kind of wire: the stack alone differs" : "another stack and another wire"}</small>
      </h3>
      <p class="key">
        {capitalised(comparison.user_in_words)} against {comparison.kernel_in_words}.
      </p>
      <RatiosFigure report={report} spot={spot} label={`Throughput of ${title} for each contender, ${place}.`} caption={`Stack cost, ${title}`} columns={columns(report, comparison)} rows={comparison.rows} at={rowsAt} />
    </div>
  );
}

/** What was compared at a place, whichever network of it is looked at; the greatest ratio first. */
export const rowsAt = (rows: readonly StackRow[], spot: Spot): StackRow[] => byRatio(rows.filter((row) => isBeside(row, spot)));

function columns(report: Report, { user, kernel }: StackComparison): Column<StackRow>[] {
  return [
    ...ratioColumns(report),
    { head: "faster", text: true, cell: (row) => fasterIn(row, user, kernel), sort: (row) => fasterIn(row, user, kernel) },
    speedColumn(`${user}, req/s`, (row) => row.user_per_second),
    speedColumn(`${kernel}, req/s`, (row) => row.kernel_per_second),
    P50_COLUMN,
  ];
}

/** Which network is shown to be faster, if either is. */
export function fasterIn({ call, ratio }: Pick<StackRow, "call" | "ratio">, user: string, kernel: string): string {
  if (!ratio) return "–";
  if (call === "tie") return "not shown to differ";
  if (call === "equivalent") return "equal";
  return call === null ? "one round" : ratio.estimate > 1 ? user : kernel;
}
