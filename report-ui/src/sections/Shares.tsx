/** Which share of all requests was answered within a time: failed and lost ones never are. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Line } from "../charts/lines";
import { sharesChart, type SharePoint } from "../charts/shares";
import { count, duration, percentInterval, percentOfAll } from "../format";
import { Chart } from "../parts/Chart";
import { contenderColumn, figureColumn, valueColumn } from "../parts/columns";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import { lookOf, type Cell, type Report } from "../select";
import type { Theme } from "../theme";
import type { AnsweredStanding, AnsweredVerdict } from "../types";
import { CAPACITY, curvesOf, durationOf, LoadChoice, loadOf } from "./Curves";

/** Columns of the table: the powers of ten of the bounds, as far as anything happens there. */
const DECADES = [1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

export function SharesSection({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  const lines = useMemo(() => linesOf(report, cell), [report, cell]);
  const draw = useMemo(() => (theme: Theme, width: number) => sharesChart(lines, theme, width), [lines]);
  const { title, meaning } = durationOf(loadOf(report, cell), cell);
  return (
    <Section id="shares" title="Share of requests answered within a time" question={`How many wait how long? All rounds together; requests that failed are never answered. ${title} ${meaning}.`}>
      <LoadChoice report={report} cell={cell} />
      <Drawn report={report} names={lines.map(({ name }) => name)} />
      {lines.length > 0 && (
        <Chart
          label={`Share of requests answered within a time, for each contender, ${cell.where}.`}
          draw={draw}
          twin={<Table caption={`Share of requests answered within a time, ${cell.where}`} columns={columns(report, lines)} rows={lines} />}
        />
      )}
      {cell.answered.filter(({ offered }) => (offered ?? CAPACITY) === loadOf(report, cell)).map((judged) => (
        <Table key={judged.offered} caption={`${judged.within_ms.length > 0 ? "Shares answered in time" : "Slowest answers"}, ${cell.where}`} columns={answeredColumns(report, judged)} rows={judged.standings} across={(row) => (row.withheld ? <em>withheld: {row.withheld}</em> : null)} />
      ))}
    </Section>
  );
}

function linesOf(report: Report, cell: Cell): Line<SharePoint>[] {
  const { bounds_ns: bounds } = report.head;
  const lines = curvesOf(report, cell).map(({ contender, shares, shares_from: from }) => ({
    name: contender,
    title: contender,
    look: lookOf(report, contender),
    points: shares.flatMap((share, i) => {
      const ns = bounds[from + i];
      return ns === undefined ? [] : [{ ns, share }];
    }),
  }));
  return lines.filter((line) => line.points.length > 0);
}

/** The share within a bound: that of the last point that is not beyond it. */
export function shareWithin(points: readonly SharePoint[], bound: number): number {
  return points.filter((point) => point.ns <= bound).at(-1)?.share ?? 0;
}

function columns(report: Report, lines: readonly Line<SharePoint>[]): Column<Line<SharePoint>>[] {
  const differs = (bound: number): boolean => lines.some(({ points }) => shareWithin(points, bound) > 0) && lines.some(({ points }) => shareWithin(points, bound / 10) < (points.at(-1)?.share ?? 0));
  return [
    contenderColumn(report, (line) => line.name),
    ...DECADES.filter(differs).map((bound): Column<Line<SharePoint>> => figureColumn(`within ${duration(bound)}`, (line) => shareWithin(line.points, bound), percentOfAll)),
    figureColumn("ever", (line) => line.points.at(-1)?.share ?? 0, percentOfAll),
  ];
}

/** What the experiment asked for: the share within each time, median over the rounds with its interval. */
function answeredColumns(report: Report, { within_ms }: AnsweredVerdict): Column<AnsweredStanding>[] {
  return [
    contenderColumn(report, (row) => row.contender),
    ...within_ms.map((ms, i): Column<AnsweredStanding> =>
      valueColumn(duration(ms * 1e6), (row) => row.shares[i], (share) => <span title={percentInterval(share).interval}>{percentOfAll(share.estimate)}</span>, (share) => share.estimate),
    ),
    figureColumn("slowest", (row) => row.slowest_ns, duration),
    figureColumn("unanswered", (row) => row.unanswered, count),
  ];
}
