/** Figures of ratios: what each contender did in one way over what it did in another, in the same rounds, with their table. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ratiosChart } from "../charts/ratios";
import { few, rate, ratio } from "../format";
import { Chart } from "../parts/Chart";
import { Name } from "../parts/Name";
import { Table, type Column } from "../parts/Table";
import { focused, lookOf, type Report } from "../select";
import { placeInWords } from "../state";
import type { Theme } from "../theme";
import type { Interval, ProxyCost, Spot } from "../types";

/** Of more contenders than this only those in focus. */
export const MOST_ROWS = 24;

type Placed = Parameters<typeof placeInWords>[0];

/** One contender at one place. */
export type RatioRow = Placed & Pick<ProxyCost, "contender" | "ratio" | "withheld">;

interface Props<Row> {
  report: Report;
  spot: Spot;
  /** What the chart shows, for those who cannot see it. */
  label: string;
  caption: string;
  columns: readonly Column<Row>[];
  /** Everything that was compared; the table has it all. */
  rows: readonly Row[];
  /** What of it is drawn at a place. */
  at: (rows: readonly Row[], spot: Spot) => readonly Row[];
}

export function RatiosFigure<Row extends RatioRow>({ report, spot, label, caption, columns, rows, at }: Props<Row>): JSX.Element {
  const here = useMemo(() => at(rows, spot), [report, caption, rows.length, spot]);
  const draw = useMemo(() => {
    const drawn = focused(report, here, (row) => row.contender, MOST_ROWS).filter((row) => row.ratio);
    const all = drawn.map(({ contender, ratio }) => ({ title: contender, look: lookOf(report, contender), theirs: null, ours: ratio }));
    return (theme: Theme, width: number) => ratiosChart(all, theme, width);
  }, [report, here]);
  const twin = <Table caption={caption} columns={columns} rows={rows} across={withheldIn} />;
  return here.some((row) => row.ratio) ? <Chart label={label} draw={draw} twin={twin} /> : twin;
}

/** Where and why a row has no figures; nothing of one that has them. */
export const withheldIn = (row: Placed & Pick<RatioRow, "withheld">): JSX.Element | null => (row.withheld ? <em>{placeInWords(row)}, withheld: {row.withheld}</em> : null);

/** The greatest ratio first. */
export function byRatio<Row extends Pick<RatioRow, "ratio">>(rows: readonly Row[]): Row[] {
  const key = (row: Row): number => row.ratio?.estimate ?? -1;
  return [...rows].sort((a, b) => key(b) - key(a));
}

/** Who, where, and the ratio with its interval. */
export function ratioColumns(report: Report): Column<RatioRow>[] {
  return [
    { head: "contender", text: true, cell: (row) => <Name report={report} name={row.contender} />, sort: (row) => row.contender },
    { head: "where", text: true, cell: placeInWords, sort: placeInWords },
    { head: "ratio", cell: (row) => <b>{row.ratio ? ratio(row.ratio.estimate) : "–"}</b>, sort: (row) => row.ratio?.estimate ?? null },
    { head: "95 % interval", cell: (row) => intervalIn(row.ratio) },
  ];
}

export const speedColumn = <Row,>(head: string, value: (row: Row) => Interval | null): Column<Row> => ({
  head,
  sort: (row) => value(row)?.estimate ?? null,
  cell: (row) => {
    const found = value(row);
    return found ? rate(found.estimate) : "–";
  },
});

export const P50_COLUMN: Column<{ p50_ratio: number | null }> = {
  head: "p50 ratio",
  cell: (row) => (row.p50_ratio === null ? "–" : `${few(row.p50_ratio)}×`),
  sort: (row) => row.p50_ratio,
};

export const intervalIn = (of: Interval | null): string => (of && of.confidence > 0 ? `[${ratio(of.low)} … ${ratio(of.high)}]` : "–");
