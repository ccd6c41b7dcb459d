/** What all charts share: measures of text, places for labels, the frame. */
import * as Plot from "@observablehq/plot";
import { isTooWide } from "../format";
import type { Theme } from "../theme";
import type { Interval } from "../types";

/** A drawing of some data at some width: the same three in, the same element out. */
export type Draw = (theme: Theme, width: number) => Element;

export const FONT_SIZE = 12.5;
const CHAR_WIDTH = 6.9;

/** Below this many pixels names move above their marks. */
export const NARROW = 560;

/** Bold letters are wider by this. */
const BOLD = 1.12;

/** About how many pixels a text takes; generous, because the reader's font is not known. */
export function textWidth(text: string, bold = false): number {
  return text.length * CHAR_WIDTH * (bold ? BOLD : 1);
}

export function widest(texts: readonly string[], bold = false): number {
  return Math.max(0, ...texts.map((text) => textWidth(text, bold)));
}

/** Shortens a text to about so many pixels. */
export function elide(text: string, pixels: number, bold = false): string {
  const room = Math.max(1, Math.floor(pixels / textWidth("x", bold) + 0.01));
  return text.length <= room ? text : `${text.slice(0, room - 1).trimEnd()}…`;
}

/** How far an axis must reach for an interval: one that says nothing may leave the chart, lest it flatten all others. */
export const reach = (of: Interval): number => (isTooWide(of) ? of.estimate : of.high);

/** What Observable Plot is told about every chart. */
export function frame(theme: Theme, width: number): Plot.PlotOptions {
  return {
    width,
    className: "plot",
    style: { background: "none", color: theme.ink, fontFamily: "inherit", fontSize: `${FONT_SIZE}px`, overflow: "visible" },
  };
}

/**
 * Moves labels apart along one axis until neighbours are `gap` from each other, each as near to its own place as the
 * others and the bounds allow.
 */
export function spread(places: readonly number[], gap: number, low: number, high: number): number[] {
  const order = places.map((place, index) => ({ place, index })).sort((a, b) => a.place - b.place);
  const groups: { sum: number; size: number; members: number[] }[] = [];
  const top = (g: { sum: number; size: number }): number => {
    const start = g.sum / g.size - ((g.size - 1) * gap) / 2;
    return Math.max(low, Math.min(start, high - (g.size - 1) * gap));
  };
  for (const { place, index } of order) {
    let group = { sum: place, size: 1, members: [index] };
    for (;;) {
      const above = groups.at(-1);
      if (!above || top(above) + above.size * gap <= top(group)) break;
      groups.pop();
      group = { sum: above.sum + group.sum, size: above.size + group.size, members: [...above.members, ...group.members] };
    }
    groups.push(group);
  }
  const placed = new Array<number>(places.length).fill(0);
  for (const group of groups) group.members.forEach((index, i) => (placed[index] = top(group) + i * gap));
  return placed;
}
