/** What the two line charts share: a name at the end of each line, moved apart where lines meet. */
import * as Plot from "@observablehq/plot";
import type { Look, Theme } from "../theme";
import { elide, spread, widest } from "./common";

export interface Line<Point> {
  name: string;
  title: string;
  look: Look;
  points: Point[];
}

/** Room for the names at the right. */
export function nameRoom(titles: readonly string[], width: number): number {
  return Math.min(widest(titles), width * 0.28) + 20;
}

/** Names at the right edge, each with a leader from its line's last point. `y` maps a value to pixels. */
export function endNames(
  ends: readonly { title: string; color: string; at: number }[],
  y: (value: number) => number,
  bounds: { top: number; bottom: number; right: number; width: number },
  theme: Theme,
): Plot.Markish {
  const { top, bottom, right, width } = bounds;
  const places = spread(ends.map((end) => y(end.at)), 16, top, bottom);
  return (_index, _scales, _channels, _dimensions, context) => {
    const doc = context.document;
    const group = doc.createElementNS("http://www.w3.org/2000/svg", "g");
    ends.forEach((end, i) => {
      const place = places[i] ?? 0;
      const leader = doc.createElementNS("http://www.w3.org/2000/svg", "path");
      leader.setAttribute("d", `M${width - right + 5},${y(end.at)}L${width - right + 14},${place}`);
      leader.setAttribute("stroke", end.color);
      leader.setAttribute("stroke-opacity", "0.6");
      leader.setAttribute("fill", "none");
      const name = doc.createElementNS("http://www.w3.org/2000/svg", "text");
      name.setAttribute("x", String(width - right + 18));
      name.setAttribute("y", String(place));
      name.setAttribute("dy", "0.35em");
      name.setAttribute("fill", theme.ink);
      name.setAttribute("text-anchor", "start");
      name.textContent = elide(end.title, right - 16);
      group.append(leader, name);
    });
    return group;
  };
}
