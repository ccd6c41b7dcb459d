/** One amount for each contender, what it costs or how long it takes: a dot on a line from zero, its interval, its figure. */
import * as Plot from "@observablehq/plot";
import { bounded } from "../format";
import type { Look, Theme } from "../theme";
import { frame, nameIn, textWidth, widest } from "./common";

export interface PriceRow {
  name: string;
  title: string;
  look: Look;
  value: number | null;
  /** How far its interval reaches, where it has one. */
  range?: readonly [low: number, high: number];
  /** Whether it is only known that it is more. */
  isBound?: boolean;
}

type Known = PriceRow & { value: number };

export function priceChart(rows: PriceRow[], format: (value: number) => string, theme: Theme, width: number): Element {
  const known = rows.filter((row): row is Known => row.value !== null);
  const left = Math.min(widest(rows.map((row) => row.title), true), width * 0.4) + 8;
  const told = ({ value, isBound }: Known): string => bounded(format(value), isBound === true);
  const right = Math.max(0, ...known.map((row) => textWidth(told(row)))) + 16;
  const end = ({ value, range }: Known): number => range?.[1] ?? value;
  return Plot.plot({
    ...frame(theme, width),
    height: rows.length * 26 + 8,
    marginLeft: left,
    marginRight: right,
    marginTop: 4,
    marginBottom: 4,
    x: { domain: [0, Math.max(Number.MIN_VALUE, ...known.map(end))], axis: null },
    y: { type: "band", domain: rows.map((row) => row.name), padding: 0, axis: null },
    marks: [
      Plot.ruleX([0], { stroke: theme.soft }),
      Plot.ruleY(known, { y: "name", x1: 0, x2: "value", stroke: (row: PriceRow) => row.look.color, strokeWidth: 1.5, strokeOpacity: 0.55 }),
      Plot.ruleY(known.filter(({ range }) => range), { y: "name", x1: (row: Known) => row.range?.[0], x2: end, stroke: (row: Known) => row.look.color, strokeWidth: 7, strokeOpacity: 0.35 }),
      Plot.dot(known, { y: "name", x: "value", fill: (row: PriceRow) => row.look.color, r: 4 }),
      Plot.text(known, { y: "name", x: end, text: told, textAnchor: "start", dx: 9, fontVariant: "tabular-nums" }),
      Plot.text(rows, { y: "name", ...nameIn(left - 8, (row: PriceRow) => row.title), frameAnchor: "left", textAnchor: "start", dx: -left }),
      Plot.text(rows.filter((row) => row.value === null), { y: "name", text: () => "not observed", frameAnchor: "left", textAnchor: "start", dx: 9, fill: theme.soft }),
    ],
  });
}
