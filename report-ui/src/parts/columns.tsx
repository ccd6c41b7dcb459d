/** The columns that tables share: who, words, figures, estimates. What is not known is a dash, and comes last when it is sorted. */
import type { ComponentChildren } from "preact";
import type { Report } from "../select";
import type { Interval } from "../types";
import { Name } from "./Name";
import type { Column } from "./Table";

type Known<Value> = Value | null | undefined;

/** Who it is, with the mark that the charts have. */
export const contenderColumn = <Row,>(report: Report, nameOf: (row: Row) => string, { head = "contender", pin = false }: { head?: string; pin?: boolean } = {}): Column<Row> => ({
  head,
  text: true,
  cell: (row) => <Name report={report} name={nameOf(row)} pin={pin} />,
  sort: nameOf,
});

/** Words, by which it sorts. */
export const textColumn = <Row,>(head: string, of: (row: Row) => string | null): Column<Row> => ({ head, text: true, cell: of, sort: of });

/** What a row has of something, however it is told. */
export const valueColumn = <Row, Value>(head: string, of: (row: Row) => Known<Value>, tell: (value: Value) => ComponentChildren, by: (value: Value) => number, absent: ComponentChildren = "–"): Column<Row> => ({
  head,
  cell: (row) => {
    const value = of(row);
    return value === null || value === undefined ? absent : tell(value);
  },
  sort: (row) => {
    const value = of(row);
    return value === null || value === undefined ? null : by(value);
  },
});

/** A number. */
export const figureColumn = <Row,>(head: string, of: (row: Row) => Known<number>, format: (value: number) => string, absent?: ComponentChildren): Column<Row> =>
  valueColumn(head, of, format, (value) => value, absent);

/** The estimate of what has an interval, too. */
export const estimateColumn = <Row,>(head: string, of: (row: Row) => Known<Interval>, format: (value: Interval) => string): Column<Row> =>
  valueColumn(head, of, format, ({ estimate }) => estimate);

/** An estimate that is what the table is about. */
export const boldColumn = <Row,>(head: string, of: (row: Row) => Known<Interval>, format: (value: Interval) => string): Column<Row> => {
  const { cell, ...column } = estimateColumn(head, of, format);
  return { ...column, cell: (row) => <b>{cell(row)}</b> };
};

/** The interval of an estimate that stands beside it; it sorts by nothing. */
export const intervalColumn = <Row,>(of: (row: Row) => Known<Interval>, format: (value: Interval) => string, head = "95 % interval"): Column<Row> => {
  const { cell } = estimateColumn(head, of, format);
  return { head, cell };
};
