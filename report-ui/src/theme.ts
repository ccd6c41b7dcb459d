/** How things look: roles for charts, and the look of each contender. Light, dark and print are settled in style.css. */

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
};

/** Colour, symbol and dash of one contender: stable, because they follow the order of names. */
export interface Look {
  color: string;
  symbol: string;
  dash: string;
}

const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross"] as const;
const DASHES = ["none", "5 3", "1.5 3"] as const;

/** The look of each name; the limit has none of the series' colours. */
export function looks(names: readonly string[], limit: string | undefined, theme: Theme): Map<string, Look> {
  const ranked = names.filter((name) => name !== limit).sort();
  const look = (i: number): Look => ({
    color: theme.series[i % theme.series.length] ?? theme.ink,
    symbol: SYMBOLS[i % SYMBOLS.length] ?? "circle",
    dash: DASHES[Math.floor(i / theme.series.length) % DASHES.length] ?? "none",
  });
  const all = new Map(ranked.map((name, i) => [name, look(i)]));
  if (limit !== undefined) all.set(limit, { color: theme.soft, symbol: "circle", dash: "4 4" });
  return all;
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
