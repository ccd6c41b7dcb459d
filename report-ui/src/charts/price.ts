/** What a contender costs in one currency: a dot on a line from zero, with its figure. */
import * as Plot from "@observablehq/plot";
import type { Look, Theme } from "../theme";
import { frame, elide, textWidth, widest } from "./common";

export interface PriceRow {
  name: string;
  title: string;
  look: Look;
  value: number | null;
}

export function priceChart(rows: PriceRow[], format: (value: number) => string, theme: Theme, width: number): Element {
  const known = rows.filter((row): row is PriceRow & { value: number } => row.value !== null);
  const left = Math.min(widest(rows.map((row) => row.title), true), width * 0.4) + 8;
  const right = Math.max(0, ...known.map((row) => textWidth(format(row.value)))) + 16;
  return Plot.plot({
    ...frame(theme, width),
    height: rows.length * 26 + 8,
    marginLeft: left,
    marginRight: right,
    marginTop: 4,
    marginBottom: 4,
    x: { domain: [0, Math.max(Number.MIN_VALUE, ...known.map((row) => row.value))], axis: null },
    y: { type: "band", domain: rows.map((row) => row.name), padding: 0, axis: null },
    marks: [
      Plot.ruleX([0], { stroke: theme.soft }),
      Plot.ruleY(known, { y: "name", x1: 0, x2: "value", stroke: (row: PriceRow) => row.look.color, strokeWidth: 1.5, strokeOpacity: 0.55 }),
      Plot.dot(known, { y: "name", x: "value", fill: (row: PriceRow) => row.look.color, r: 4 }),
      Plot.text(known, { y: "name", x: "value", text: (row: PriceRow & { value: number }) => format(row.value), textAnchor: "start", dx: 9, fontVariant: "tabular-nums" }),
      Plot.text(rows, { y: "name", text: (row: PriceRow) => elide(row.title, left - 8, true), frameAnchor: "left", textAnchor: "start", dx: -left, fontWeight: 600 }),
      Plot.text(rows.filter((row) => row.value === null), { y: "name", text: () => "not observed", frameAnchor: "left", textAnchor: "start", dx: 9, fill: theme.soft }),
    ],
  });
}
