/** Where the time of an answer goes: a bar for each contender on one scale, parts in the same order in all. */
import * as Plot from "@observablehq/plot";
import { duration, percent } from "../format";
import type { Theme } from "../theme";
import type { FrameKind, PartName, Spending } from "../types";
import { elide, frame, nameIn, textWidth, widest } from "./common";

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
        stroke: theme.paper,
        strokeWidth: 1.5,
        title: (d: Segment) => `${d.contender}: ${d.name}\n${duration(d.ns)} for each answer, ${percent(d.share)}`,
        tip: { fill: theme.paper, stroke: theme.rule },
      }),
      Plot.text(named, { y: "contender", x: "from", text: (d: Segment) => elide(d.name, pixels(d.ns) - 8), textAnchor: "start", dx: 4, fill: theme.ink }),
      Plot.text(rows, { y: "contender", x: (d: Spending) => d.cpu_ns.estimate, text: (d: Spending) => duration(d.cpu_ns.estimate), textAnchor: "start", dx: 9, fontVariant: "tabular-nums" }),
      Plot.text(rows, { y: "contender", ...nameIn(left - 8, (d: Spending) => d.contender), frameAnchor: "left", textAnchor: "start", dx: -left }),
    ],
  });
}

/** What sort of code spends a part. */
export function codeOf({ part, is_kernel }: Pick<PartName, "part" | "is_kernel">): FrameKind {
  if (part === "unassigned") return "unknown";
  if (part === "jit") return "jit";
  return is_kernel ? "kernel" : "native";
}

function segmentsOf(row: Spending, parts: readonly PartName[], theme: Theme): Segment[] {
  let from = 0;
  return parts.flatMap((part) => {
    const ns = row.parts.find((of) => of.part === part.part)?.ns.estimate ?? 0;
    const share = row.cpu_ns.estimate > 0 ? ns / row.cpu_ns.estimate : 0;
    const segment = { contender: row.contender, name: part.name, ns, from, share, fill: theme.code[codeOf(part)] };
    from += ns;
    return ns > 0 ? [segment] : [];
  });
}
