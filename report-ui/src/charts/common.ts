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

/** Letters as wide as two others (Unicode Standard Annex 11): Chinese, Japanese, Korean, and pictures. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

const columnsOf = (letter: string): number => (WIDE.test(letter) ? 2 : 1);

/** About how many pixels a text takes; generous, because the reader's font is not known. */
export function textWidth(text: string, bold = false): number {
  const columns = [...text].reduce((sum, letter) => sum + columnsOf(letter), 0);
  return columns * CHAR_WIDTH * (bold ? BOLD : 1);
}

export function widest(texts: readonly string[], bold = false): number {
  return Math.max(0, ...texts.map((text) => textWidth(text, bold)));
}

/** Shortens a text to about so many pixels. */
export function elide(text: string, pixels: number, bold = false): string {
  const room = Math.max(1, Math.floor(pixels / textWidth("x", bold) + 0.01));
  if (textWidth(text) <= room * textWidth("x")) return text;
  let columns = 0;
  const letters = [...text];
  const end = letters.findIndex((letter) => (columns += columnsOf(letter)) > room - 1);
  return `${letters.slice(0, end).join("").trimEnd()}…`;
}

/** How a chart writes a name: as much of it as there is room for, and otherwise all of it where a pointer rests. */
export function nameIn<Row>(pixels: number, nameOf: (row: Row) => string): Plot.TextOptions {
  const written = (row: Row): string => elide(nameOf(row), pixels, true);
  return { text: written, title: (row: Row) => (written(row) === nameOf(row) ? null : nameOf(row)), fontWeight: 600 };
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
