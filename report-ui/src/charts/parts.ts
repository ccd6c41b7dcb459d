/** Where the time of an answer goes: a bar for each contender on one scale, parts in the same order in all. */
import * as Plot from "@observablehq/plot";
import { duration, percent } from "../format";
import type { Theme } from "../theme";
import type { PartName, Spending } from "../types";
import { elide, frame, textWidth, widest } from "./common";

export interface PartsData {
  rows: readonly Spending[];
  parts: readonly PartName[];
}

interface Segment {
  contender: string;
  name: string;
  ns: number;
  from: number;
  share: number;
  fill: string;
  opacity: number;
}

const BAR = 34;

export function partsChart({ rows, parts }: PartsData, theme: Theme, width: number): Element {
  const left = Math.min(widest(rows.map(({ contender }) => contender), true), width * 0.35) + 8;
  const right = widest(rows.map(({ cpu_ns }) => duration(cpu_ns.estimate))) + 16;
  const most = Math.max(Number.MIN_VALUE, ...rows.map(({ cpu_ns }) => cpu_ns.estimate));
  const pixels = (ns: number): number => (ns / most) * Math.max(1, width - left - right);
  const segments = rows.flatMap((row) => segmentsOf(row, parts, theme));
  const named = segments.filter(({ name, ns }) => pixels(ns) >= textWidth(name.slice(0, 4)) + 10);
  return Plot.plot({
    ...frame(theme, width),
    height: rows.length * BAR + 8,
    marginLeft: left,
    marginRight: right,
    marginTop: 4,
    marginBottom: 4,
    x: { domain: [0, most], axis: null },
    y: { type: "band", domain: rows.map(({ contender }) => contender), padding: 0.2, axis: null },
    marks: [
      Plot.barX(segments, {
        y: "contender",
        x1: "from",
        x2: (d: Segment) => d.from + d.ns,
        fill: "fill",
        fillOpacity: "opacity",
        stroke: theme.paper,
        title: (d: Segment) => `${d.contender}: ${d.name}\n${duration(d.ns)} for each answer, ${percent(d.share)}`,
        tip: { fill: theme.paper, stroke: theme.rule },
      }),
      Plot.text(named, { y: "contender", x: "from", text: (d: Segment) => elide(d.name, pixels(d.ns) - 8), textAnchor: "start", dx: 4, fill: theme.ink }),
      Plot.text(rows, { y: "contender", x: (d: Spending) => d.cpu_ns.estimate, text: (d: Spending) => duration(d.cpu_ns.estimate), textAnchor: "start", dx: 9, fontVariant: "tabular-nums" }),
      Plot.text(rows, { y: "contender", text: (d: Spending) => elide(d.contender, left - 8, true), frameAnchor: "left", textAnchor: "start", dx: -left, fontWeight: 600 }),
    ],
  });
}

/** The kernel's parts in one colour, the program's in another, neighbours told apart by their fullness. */
function segmentsOf(row: Spending, parts: readonly PartName[], theme: Theme): Segment[] {
  let from = 0;
  return parts.flatMap(({ part, name, is_kernel }, i) => {
    const ns = row.parts.find((of) => of.part === part)?.ns.estimate ?? 0;
    const fill = part === "unassigned" ? theme.soft : ((is_kernel ? theme.series[0] : theme.series[1]) ?? theme.ink);
    const segment = { contender: row.contender, name, ns, from, share: row.cpu_ns.estimate > 0 ? ns / row.cpu_ns.estimate : 0, fill, opacity: i % 2 === 0 ? 0.42 : 0.26 };
    from += ns;
    return ns > 0 ? [segment] : [];
  });
}
