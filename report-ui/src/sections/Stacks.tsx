/** What the network stack costs: the same program in the same rounds on two networks, both named by stack and wire. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ratiosChart } from "../charts/ratios";
import { capitalised, few, rate, ratio } from "../format";
import { Chart } from "../parts/Chart";
import { Drawn } from "../parts/Drawn";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import { focused, lookOf, type Cell, type Report } from "../select";
import { isBeside, widthOf } from "../state";
import type { Theme } from "../theme";
import type { Interval, Spot, StackComparison, StackRow } from "../types";
import { CountersTable } from "./counters";
import { CrossingPart, titleIn } from "./Crossing";

/** Of more contenders than this only those in focus. */
const MOST_ROWS = 24;

export function StacksSection({ report, cell: { spot } }: { report: Report; cell: Cell }): JSX.Element {
  const place = `${spot.workload} at ${widthOf(spot)} connections`;
  const shown = report.head.stack_cost.map((comparison) => ({ ...comparison, rows: comparison.rows.filter((row) => report.isShown(row.contender)) }));
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

interface Props {
  report: Report;
  spot: Spot;
  place: string;
  comparison: StackComparison;
}

function Comparison({ report, spot, place, comparison }: Props): JSX.Element {
  const here = useMemo(() => rowsAt(comparison.rows, spot), [report, comparison.user, comparison.kernel, spot]);
  const draw = useMemo(() => {
    const rows = focused(report, here, (row) => row.contender, MOST_ROWS).filter((row) => row.ratio);
    const drawn = rows.map(({ contender, ratio }) => ({ title: contender, look: lookOf(report, contender), theirs: null, ours: ratio }));
    return (theme: Theme, width: number) => ratiosChart(drawn, theme, width);
  }, [report, here]);
  const title = titleIn(comparison);
  const twin = <Table caption={`Stack cost, ${title}`} columns={columns(report, comparison)} rows={comparison.rows} across={(row) => (row.withheld ? <em>{placeOf(row)}, withheld: {row.withheld}</em> : null)} />;
  return (
    <div>
      <h3>
        {title} <small>{comparison.same_wire ? "same kind of wire: the stack alone differs" : "another stack and another wire"}</small>
      </h3>
      <p class="key">
        {capitalised(comparison.user_in_words)} against {comparison.kernel_in_words}.
      </p>
      {here.some((row) => row.ratio) ? <Chart label={`Throughput of ${title} for each contender, ${place}.`} draw={draw} twin={twin} /> : twin}
    </div>
  );
}

/** What was compared at a place, whichever network of it is looked at; the greatest ratio first. */
export function rowsAt(rows: readonly StackRow[], spot: Spot): StackRow[] {
  const here = rows.filter((row) => isBeside(row, spot));
  const key = (row: StackRow): number => row.ratio?.estimate ?? -1;
  return here.sort((a, b) => key(b) - key(a));
}

const placeOf = (row: StackRow): string => [row.workload, "at", widthOf(row), ...(row.offered ? [row.offered] : [])].join(" ");

function columns(report: Report, { user, kernel }: StackComparison): Column<StackRow>[] {
  const speed = (head: string, value: (row: StackRow) => Interval | null): Column<StackRow> => ({
    head,
    sort: (row) => value(row)?.estimate ?? null,
    cell: (row) => {
      const found = value(row);
      return found ? rate(found.estimate) : "–";
    },
  });
  return [
    { head: "contender", text: true, cell: (row) => <Name report={report} name={row.contender} />, sort: (row) => row.contender },
    { head: "where", text: true, cell: placeOf, sort: placeOf },
    { head: "ratio", cell: (row) => <b>{row.ratio ? ratio(row.ratio.estimate) : "–"}</b>, sort: (row) => row.ratio?.estimate ?? null },
    { head: "95 % interval", cell: (row) => intervalIn(row.ratio) },
    { head: "faster", text: true, cell: (row) => fasterIn(row, user, kernel), sort: (row) => fasterIn(row, user, kernel) },
    speed(`${user}, req/s`, (row) => row.user_per_second),
    speed(`${kernel}, req/s`, (row) => row.kernel_per_second),
    { head: "p50 ratio", cell: (row) => (row.p50_ratio === null ? "–" : `${few(row.p50_ratio)}×`), sort: (row) => row.p50_ratio },
  ];
}

export const intervalIn = (of: Interval | null): string => (of && of.confidence > 0 ? `[${ratio(of.low)} … ${ratio(of.high)}]` : "–");

/** Which network is shown to be faster, if either is. */
export function fasterIn({ call, ratio }: Pick<StackRow, "call" | "ratio">, user: string, kernel: string): string {
  if (!ratio) return "–";
  if (call === "tie") return "not shown to differ";
  if (call === "equivalent") return "equal";
  return call === null ? "one round" : ratio.estimate > 1 ? user : kernel;
}
