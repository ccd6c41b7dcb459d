/** What the line charts share: the strokes, and a name at the end of each line, moved apart where lines meet. */
import * as Plot from "@observablehq/plot";
import type { Look, Theme } from "../theme";
import { elide, spread, widest } from "./common";

export interface Line<Point> {
  name: string;
  title: string;
  look: Look;
  points: Point[];
}

export interface Bounds {
  top: number;
  bottom: number;
  right: number;
  width: number;
  margins: { height: number; marginLeft: number; marginRight: number; marginTop: number; marginBottom: number };
}

const LABEL_GAP = 16;

/** Lines that have a name and a colour. */
export const inFocus = <Point>(lines: readonly Line<Point>[]): Line<Point>[] => lines.filter((line) => !line.look.muted);

/** Where the lines may be: the names stand right of them. */
export function boundsOf(lines: readonly Line<unknown>[], width: number, left: number): Bounds {
  const titles = inFocus(lines).map((line) => line.title);
  const least = titles.length * LABEL_GAP + 60;
  const height = Math.round(Math.max(least, Math.min(460, Math.max(280, width * 0.46))));
  const right = Math.min(widest(titles), width * 0.28) + 20;
  return { top: 12, bottom: height - 42, right, width, margins: { height, marginLeft: left, marginRight: right, marginTop: 12, marginBottom: 42 } };
}

/** The lines themselves, those in focus above the others. A mark has one dash pattern, so each pattern is a mark. */
export function strokes<Row extends { line: Line<never> | Line<unknown> }>(rows: readonly Row[], at: Plot.LineOptions): Plot.Markish[] {
  const muted = rows.filter((row) => row.line.look.muted);
  const dashes = [...new Set(rows.filter((row) => !row.line.look.muted).map((row) => row.line.look.dash))];
  const base: Plot.LineOptions = { ...at, z: (row: Row) => row.line.name, stroke: (row: Row) => row.line.look.color };
  const focus = (dash: string): Plot.Markish =>
    Plot.line(rows.filter((row) => !row.line.look.muted && row.line.look.dash === dash), { ...base, strokeWidth: 1.75, ...(dash === "none" ? {} : { strokeDasharray: dash }) });
  return [Plot.line(muted, { ...base, strokeWidth: 1, strokeOpacity: 0.28 }), ...dashes.map(focus)];
}

/** Names at the right edge, each with a leader from its line's last point. `y` maps a value to pixels. */
export function endNames(
  ends: readonly { title: string; color: string; at: number }[],
  y: (value: number) => number,
  { top, bottom, right, width }: Bounds,
  theme: Theme,
): Plot.Markish {
  const places = spread(ends.map((end) => y(end.at)), LABEL_GAP, top, bottom);
  return (_index, _scales, _channels, _dimensions, context) => {
    const group = context.document.createElementNS("http://www.w3.org/2000/svg", "g");
    const add = (tag: string, attributes: Record<string, string | number>): Element => {
      const element = context.document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
      group.append(element);
      return element;
    };
    ends.forEach((end, i) => {
      const place = places[i] ?? 0;
      add("path", { d: `M${width - right + 5},${y(end.at)}L${width - right + 14},${place}`, stroke: end.color, "stroke-opacity": 0.6, fill: "none" });
      add("text", { x: width - right + 18, y: place, dy: "0.35em", fill: theme.ink, "text-anchor": "start" }).textContent = elide(end.title, right - 16);
    });
    return group;
  };
}
