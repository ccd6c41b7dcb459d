/** How things look: roles for charts, and the look of each contender. Light, dark and print are settled in style.css. */

import type { FrameKind } from "./types";

/** The colours a chart may use; any CSS colour, so that one drawing serves every colour scheme. */
export interface Theme {
  ink: string;
  soft: string;
  rule: string;
  paper: string;
  band: string;
  caution: string;
  /** One per contender, told apart by readers with any colour vision (test/theme.test.ts). */
  series: readonly string[];
  /** Sorts of code; words in ink stand on them. */
  code: Readonly<Record<FrameKind, string>>;
  /** What takes more than elsewhere, and what less; words in ink stand on them too. */
  more: string;
  less: string;
}

/** The page's theme: every role is a variable of style.css. */
export const pageTheme: Theme = {
  ink: "var(--ink)",
  soft: "var(--soft)",
  rule: "var(--rule)",
  paper: "var(--paper)",
  band: "var(--band)",
  caution: "var(--caution)",
  series: Array.from({ length: 8 }, (_, i) => `var(--series-${i + 1})`),
  code: { kernel: "var(--kernel)", native: "var(--native)", jit: "var(--jit)", unknown: "var(--unknown)" },
  more: "var(--more)",
  less: "var(--less)",
};

/** Colour, symbol and dash of one contender: stable, because they follow the order of names and of pinning. */
export interface Look {
  color: string;
  symbol: string;
  dash: string;
  /** Drawn quietly and without a name: there are too many for colours, and others are in focus. */
  muted: boolean;
}

const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross"] as const;
const DASHES = ["none", "7 3", "2 2.5", "9 3 2 3"] as const;

/**
 * The look of each name. Whoever is in focus has a place among the series by the order of all names, or the next one that
 * is free; so a further pin changes nobody else. The limit has none of the series' colours.
 */
export function looks(names: readonly string[], limit: string | undefined, focus: readonly string[], theme: Theme): Map<string, Look> {
  const ranked = names.filter((name) => name !== limit).sort();
  const all = new Map<string, Look>(ranked.map((name) => [name, { color: theme.soft, symbol: "circle", dash: "none", muted: true }]));
  const taken = new Set<number>();
  for (const name of focus.filter((name) => all.has(name))) {
    const slot = freeSlot(ranked.indexOf(name), taken, theme.series.length);
    taken.add(slot);
    all.set(name, { color: theme.series[slot] ?? theme.ink, symbol: SYMBOLS[slot % SYMBOLS.length] ?? "circle", dash: DASHES[slot % DASHES.length] ?? "none", muted: false });
  }
  if (limit !== undefined) all.set(limit, { color: theme.soft, symbol: "circle", dash: "4 3", muted: false });
  return all;
}

function freeSlot(wanted: number, taken: ReadonlySet<number>, slots: number): number {
  const order = Array.from({ length: slots }, (_, i) => (wanted + i) % slots);
  return order.find((slot) => !taken.has(slot)) ?? wanted % slots;
}

const KEY = "assay-colour-scheme";

/** What the reader chose; `null` follows the system. */
export type Scheme = "light" | "dark" | null;

export function chosenScheme(): Scheme {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : null;
  } catch {
    return null; // a browser that keeps nothing for files: the choice lasts as long as the page
  }
}

export function chooseScheme(scheme: Scheme): void {
  if (scheme === null) delete document.documentElement.dataset["scheme"];
  else document.documentElement.dataset["scheme"] = scheme;
  try {
    if (scheme === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, scheme);
  } catch {
    // see chosenScheme
  }
}
