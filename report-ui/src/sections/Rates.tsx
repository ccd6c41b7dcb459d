/** Response times against the offered rate, with redlines and their objective. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { priceChart, type PriceRow } from "../charts/price";
import { ratesChart, type RateLine, type RatePoint } from "../charts/rates";
import { boundedDuration, duration, listed, percent, rate } from "../format";
import { Chart } from "../parts/Chart";
import { Choice } from "../parts/Choice";
import { contenderColumn, figureColumn, textColumn, valueColumn } from "../parts/columns";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import { focused, lookOf, type Cell, type Report } from "../select";
import { objectiveOf, PERCENTILES, type Objective } from "../slo";
import type { Theme } from "../theme";
import type { LatencyStanding, RedlineStanding } from "../types";
import { REDLINE_ENDS } from "../words";
import { loadInWords } from "./Curves";
import { MOST_ROWS } from "./Price";

export function RatesSection({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  const objective = objectiveOf(cell.redlines[0]?.offered ?? "");
  const tails = useMemo(() => tailsOf(report, cell), [report, cell]);
  const names = namesOf(cell);
  const tail = chosenTail(tails, names.length, [report.view.tail, objective?.percentile]);
  const times = cell.latency.length > 0 ? <Times report={report} cell={cell} /> : undefined;
  return (
    <Section id="rates" title="Latency against load" question={question(cell, objective)}>
      {tails.length > 1 && <Choice legend="percentile" options={tails.map(({ percentile }) => percentile)} chosen={tail?.percentile ?? ""} onChoose={(chosen) => report.choose({ tail: chosen })} />}
      {tail ? <TailChart report={report} cell={cell} tail={tail} objective={objective} twin={times} /> : times}
      {tail && <Untold tail={tail} names={names} />}
      {cell.redlines.map(({ offered, standings }) => (
        <Table key={offered} caption={`Redlines, ${offered ?? ""}`} columns={redlineColumns(report)} rows={standings} />
      ))}
    </Section>
  );
}

/** A percentile, with a line for each contender for which it can be told. */
interface Tail {
  percentile: string;
  lines: RateLine[];
}

/** The percentiles that can be told for anybody. */
function tailsOf(report: Report, cell: Cell): Tail[] {
  const all = Object.keys(PERCENTILES).map((percentile) => ({ percentile, lines: linesOf(report, cell, percentile) }));
  return all.filter(({ lines }) => lines.length > 0);
}

/** The first of those wanted that there is, else the highest that can be told for most contenders. */
export function chosenTail<T extends { percentile: string; lines: readonly unknown[] }>(tails: readonly T[], contenders: number, wanted: readonly (string | undefined)[]): T | undefined {
  const asked = wanted.flatMap((one) => tails.find(({ percentile }) => percentile === one) ?? []);
  return asked[0] ?? tails.findLast(({ lines }) => lines.length * 2 > contenders) ?? tails[0];
}

/** Whose times are not withheld. */
function namesOf({ latency, redlines }: Cell): string[] {
  const told = latency.flatMap(({ standings }) => standings.filter(({ withheld }) => !withheld));
  return [...new Set([...told, ...redlines.flatMap(({ standings }) => standings)].map(({ contender }) => contender))];
}

/** The one rate that was offered to all; null where there are several, or where a rate was searched for. */
export function rateOf({ latency, redlines }: Pick<Cell, "latency" | "redlines">): number | null {
  const told = latency.flatMap(({ standings }) => standings.filter(({ withheld }) => !withheld));
  const rates = new Set(told.map((standing) => standing.offered_per_second));
  return redlines.length === 0 && rates.size === 1 ? (told[0]?.offered_per_second ?? null) : null;
}

function question(cell: Cell, objective: Objective | undefined): string {
  const offered = rateOf(cell);
  const at = offered === null ? "as the offered rate grows" : `at ${rate(offered)} requests per second offered to each`;
  const what = `How long do requests take, from when they were due, ${at}, ${cell.where}?`;
  return objective ? `${what} The redline is the highest rate that keeps ${objective.words}.` : `${what} Dot and bar: median over rounds and its interval.`;
}

interface TailProps {
  report: Report;
  cell: Cell;
  tail: Tail;
  objective: Objective | undefined;
  twin: JSX.Element | undefined;
}

/** Lines over the offered rates, or a dot for each contender where there is one rate only. */
function TailChart({ report, cell, tail: { percentile, lines }, objective, twin }: TailProps): JSX.Element {
  const offered = rateOf(cell);
  const draw = useMemo(() => {
    const longest = objective?.percentile === percentile ? objective.longest_ns : null;
    const rows = focused(report, lines, ({ name }) => name, MOST_ROWS).flatMap(rowsOf);
    return (theme: Theme, width: number) => (offered === null ? ratesChart({ lines, percentile, longest }, theme, width) : priceChart(rows, duration, theme, width));
  }, [report, lines, percentile, offered]);
  const against = offered === null ? "against the offered rate" : `at ${rate(offered)} requests per second`;
  return (
    <>
      <Drawn report={report} names={lines.map(({ name }) => name)} most={offered === null ? undefined : MOST_ROWS} />
      <Chart label={`${percentile} of the response time ${against}, ${cell.where}.`} draw={draw} twin={twin} />
    </>
  );
}

/** The one point of a line as a row. */
const rowsOf = ({ name, title, look, points }: RateLine): PriceRow[] => points.slice(0, 1).map(({ ns, low, high, isBound }) => ({ name, title, look, value: ns, range: [low, high], isBound }));

/** Who has no figure, lest it be looked for. */
function Untold({ tail: { percentile, lines }, names }: { tail: Tail; names: readonly string[] }): JSX.Element | null {
  const untold = names.filter((name) => !lines.some((line) => line.name === name));
  return untold.length === 0 ? null : <p class="key">{`${percentile} cannot be told for ${listed(untold)}.`}</p>;
}

/** A line for each contender through the loads that were offered to it; the windows of a search are dots. */
function linesOf(report: Report, cell: Cell, tail: string): RateLine[] {
  const names = [...new Set([...cell.latency, ...cell.redlines].flatMap(({ standings }) => standings.map(({ contender }) => contender)))];
  const lines = names.map((name) => ({
    name,
    title: name,
    look: lookOf(report, name),
    points: pointsOf(cell, name, PERCENTILES[tail] ?? 0.99),
    trials: trialsOf(report, cell, name, PERCENTILES[tail] ?? 0.99),
    redline: redlineOf(cell, name),
  }));
  return lines.filter((line) => line.points.length + line.trials.length > 0);
}

function pointsOf(cell: Cell, name: string, quantile: number): RatePoint[] {
  const points = cell.latency.flatMap(({ offered, standings }) => {
    const standing = standings.find(({ contender, withheld }) => contender === name && !withheld);
    const found = standing?.quantiles.find((one) => one.quantile === quantile);
    if (standing?.offered_per_second == null || !found) return [];
    const { response_ns: { estimate, low, high }, is_lower_bound: isBound } = found;
    // An upper end of a lower bound is none.
    return [{ offered: standing.offered_per_second, ns: estimate, low, high: isBound ? estimate : high, isBound, load: loadInWords(offered ?? "max") }];
  });
  return points.sort((a, b) => a.offered - b.offered);
}

function trialsOf({ head }: Report, { samples, redlines }: Cell, name: string, quantile: number): RateLine["trials"] {
  const at = head.sample_quantiles.indexOf(quantile);
  const searched = new Set(redlines.map(({ offered }) => offered));
  return samples.flatMap(({ contender, offered, offered_per_second: rate, quantiles_ns: times, are_lower_bounds: bounds, void: broken }) => {
    const ns = times[at];
    return contender === name && searched.has(offered) && rate != null && ns != null ? [{ offered: rate, ns, isBound: bounds[at] === true, isVoid: broken.length > 0 }] : [];
  });
}

function redlineOf({ redlines }: Cell, name: string): RateLine["redline"] {
  const standing = redlines[0]?.standings.find(({ contender }) => contender === name);
  return standing?.kept_per_second ? { kept: standing.kept_per_second, missed: standing.missed_per_second } : null;
}

function Times({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  const rows = cell.latency.flatMap(({ offered, standings }) => standings.map((standing) => ({ ...standing, load: offered ?? "max" })));
  return <Table caption={`Response times at given rates, ${cell.where}`} columns={timeColumns(report)} rows={rows} across={(row) => (row.withheld ? <em>{row.load}, withheld: {row.withheld}</em> : null)} />;
}

function timeColumns(report: Report): Column<LatencyStanding & { load: string }>[] {
  const at = (row: LatencyStanding, quantile: number): LatencyStanding["quantiles"][number] | undefined => row.quantiles.find((one) => one.quantile === quantile);
  return [
    contenderColumn(report, (row) => row.contender),
    textColumn("load", (row) => row.load),
    figureColumn("offered req/s", (row) => row.offered_per_second, rate),
    figureColumn("of capacity", (row) => row.share_of_capacity, percent),
    ...Object.entries(PERCENTILES).map(([head, quantile]): Column<LatencyStanding & { load: string }> =>
      valueColumn(head, (row) => at(row, quantile), (found) => boundedDuration(found.response_ns.estimate, found.is_lower_bound), (found) => found.response_ns.estimate),
    ),
  ];
}

function redlineColumns(report: Report): Column<RedlineStanding>[] {
  return [
    contenderColumn(report, (row) => row.contender),
    figureColumn("kept up to", (row) => row.kept_per_second, rate),
    figureColumn("missed from", (row) => row.missed_per_second, rate),
    figureColumn("of capacity", (row) => row.share_of_capacity, percent),
    figureColumn("kept again at", (row) => row.recovered_per_second, rate),
    figureColumn("servers", (row) => row.servers, String),
    { head: "windows", cell: (row) => `${row.windows}${row.void_windows > 0 ? `, ${row.void_windows} void` : ""}`, sort: (row) => row.windows },
    { head: "search", text: true, cell: (row) => REDLINE_ENDS[row.end] || "confirmed", sort: (row) => row.end },
  ];
}
