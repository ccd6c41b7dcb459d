/** A table whose columns sort when their heads are pressed; it scrolls sideways inside itself, never the page. */
import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { TakeTable } from "./Take";

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ComponentChildren;
  /** What the column sorts by; a column without it cannot be sorted. */
  sort?: (row: Row) => number | string | null;
  /** Words stand left, figures right. */
  text?: boolean;
}

interface Props<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** A class for a row, such as `limit`. */
  rowClass?: (row: Row) => string;
  /** A row that says one thing across all columns but the first. */
  across?: (row: Row) => ComponentChildren | null;
  /** The order as text: a column's head, after a minus when descending. Kept here unless it is kept elsewhere. */
  order?: string;
  onOrder?: (order: string) => void;
}

type Order = { column: number; descending: boolean } | null;

export function Table<Row>({ caption, columns, rows, rowClass, across, order: given, onOrder }: Props<Row>): JSX.Element {
  const table = useRef<HTMLTableElement>(null);
  const [own, setOwn] = useState("");
  const order = orderOf(given ?? own, columns);
  const setOrder = (order: Order): void => (onOrder ?? setOwn)(order ? (order.descending ? "-" : "") + columns[order.column]?.head : "");
  const by = order && columns[order.column]?.sort;
  const sorted = order && by ? sortRows(rows, by, order.descending) : rows;
  const kind = (column: Column<Row>): string => (column.text ? "text" : "figure");
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
        <table ref={table}>
          <caption>{caption}</caption>
          <thead>
            <tr>
              {columns.map((column, i) => (
                <th key={column.head} scope="col" class={kind(column)} aria-sort={sortState(order, i)}>
                  {column.sort ? (
                    <button type="button" onClick={() => setOrder(next(order, i))}>
                      {column.head}
                    </button>
                  ) : (
                    column.head
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map((row, r) => {
              const only = across?.(row) ?? null;
              const shown = only === null ? columns : columns.slice(0, 1);
              return (
                <tr key={r} class={rowClass?.(row) ?? ""}>
                  {shown.map((column, i) =>
                    i === 0 ? (
                      <th key={column.head} scope="row" class={kind(column)}>{column.cell(row)}</th>
                    ) : (
                      <td key={column.head} class={kind(column)}>{column.cell(row)}</td>
                    ),
                  )}
                  {only !== null && <td class="text across" colSpan={columns.length - 1}>{only}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <TakeTable table={table} />
    </>
  );
}

function orderOf(text: string, columns: readonly { head: string }[]): Order {
  const descending = text.startsWith("-");
  const column = columns.findIndex(({ head }) => head === text.slice(descending ? 1 : 0));
  return column < 0 ? null : { column, descending };
}

function sortState(order: Order, column: number): "ascending" | "descending" | "none" {
  if (order?.column !== column) return "none";
  return order.descending ? "descending" : "ascending";
}

/** Pressed once: ascending; twice: descending; three times: as it came. */
function next(order: Order, column: number): Order {
  if (order?.column !== column) return { column, descending: false };
  return order.descending ? null : { column, descending: true };
}

/** A sorted copy; rows without a value come last either way. */
export function sortRows<Row>(rows: readonly Row[], by: (row: Row) => number | string | null, descending: boolean): Row[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    if (typeof x === "number" && typeof y === "number") return sign * (x - y);
    return sign * String(x).localeCompare(String(y));
  });
}
