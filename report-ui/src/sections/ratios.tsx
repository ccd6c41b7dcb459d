/** Figures of ratios: what each contender did in one way over what it did in another, in the same rounds, with their table. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ratiosChart } from "../charts/ratios";
import { fewTimes, rate, ratio, ratioInterval } from "../format";
import { Chart } from "../parts/Chart";
import { boldColumn, contenderColumn, estimateColumn, figureColumn, intervalColumn, textColumn } from "../parts/columns";
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
    contenderColumn(report, (row) => row.contender),
    textColumn("where", placeInWords),
    boldColumn("ratio", (row) => row.ratio, ({ estimate }) => ratio(estimate)),
    ratioIntervalColumn((row) => row.ratio),
  ];
}

/** Answers per second. */
export const speedColumn = <Row,>(head: string, of: (row: Row) => Interval | null | undefined): Column<Row> => estimateColumn(head, of, ({ estimate }) => rate(estimate));

export const P50_COLUMN: Column<{ p50_ratio: number | null }> = figureColumn("p50 ratio", (row) => row.p50_ratio, fewTimes);

/** The interval of a ratio; that of a single round has none. */
export const ratioIntervalColumn = <Row,>(of: (row: Row) => Interval | null | undefined): Column<Row> => intervalColumn(of, (ratio) => (ratio.confidence > 0 ? ratioInterval(ratio) : "–"));
