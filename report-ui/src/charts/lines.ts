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
/** Between a last point and its leader. */
const LEADER_GAP = 5;

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

/** A line's last point, as the scales' values. */
export interface End {
  title: string;
  color: string;
  x: number;
  y: number;
}

/** Names at the right edge, each with a leader from its line's last point. */
export function endNames(ends: readonly End[], { top, bottom, right, width }: Bounds, theme: Theme): Plot.Markish {
  return (_index, scales, _channels, _dimensions, { document }) => {
    const group = document.createElementNS("http://www.w3.org/2000/svg", "g");
    const add = (parent: Element, tag: string, attributes: Record<string, string | number>, text = ""): Element => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
      element.textContent = text;
      parent.append(element);
      return element;
    };
    const points = ends.map((end) => ({ ...end, x: scales.x?.(end.x) + LEADER_GAP, y: scales.y?.(end.y) }));
    const places = spread(points.map(({ y }) => y), LABEL_GAP, top, bottom);
    const edge = width - right + LEADER_GAP;
    points.forEach(({ title, color, x, y }, i) => {
      const place = places[i] ?? 0;
      add(group, "path", { d: `M${x},${y}H${edge}L${edge + 9},${place}`, stroke: color, "stroke-opacity": 0.6, fill: "none" });
      const written = elide(title, right - 16);
      const name = add(group, "text", { x: edge + 13, y: place, dy: "0.35em", fill: theme.ink, "text-anchor": "start" }, written);
      if (written !== title) add(name, "title", {}, title);
    });
    return group;
  };
}
