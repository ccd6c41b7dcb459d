// @vitest-environment node
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { looks, pageTheme } from "../src/theme";

type Triple = [number, number, number];

const css = readFileSync(new URL("../src/style.css", import.meta.url), "utf8");
const light = paletteOf(css.slice(css.indexOf(":root {"), css.indexOf("@media screen")));
const dark = paletteOf(css.slice(css.indexOf('[data-scheme="dark"]'), css.indexOf("prefers-color-scheme")));
const systemDark = paletteOf(css.slice(css.indexOf("prefers-color-scheme"), css.indexOf("* {")));

/** Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB. */
const VISION: Record<string, Triple[]> = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};

describe.each([["light", light], ["dark", dark]])("the %s palette", (_, palette) => {
  test.each(Object.entries(VISION))("keeps contenders apart under %s", (_name, matrix) => {
    const seen = palette.series.map((color) => oklab(matrix.map((row) => clamp(dot(row, color))) as Triple));
    expect(leastDistance(seen)).toBeGreaterThan(0.06);
  });

  test.each(Object.entries(VISION))("keeps sorts of code apart, and more from less, under %s", (_name, matrix) => {
    const seen = (colors: readonly Triple[]): Triple[] => colors.map((color) => oklab(matrix.map((row) => clamp(dot(row, color))) as Triple));
    expect(leastDistance(seen(palette.code))).toBeGreaterThan(0.05);
    expect(leastDistance(seen(palette.change))).toBeGreaterThan(0.08);
  });

  test("lets words be read on code, which stands out from the paper: 4.5 : 1 and 3 : 1 (WCAG 2.2)", () => {
    for (const color of [...palette.code, ...palette.change]) {
      expect(contrast(color, palette.paper)).toBeGreaterThanOrEqual(3);
      expect(contrast(color, palette.ink)).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("stands out from the paper: marks 3 : 1, words 4.5 : 1 (WCAG 2.2)", () => {
    for (const color of palette.series) expect(contrast(color, palette.paper)).toBeGreaterThanOrEqual(3);
    for (const color of palette.words) expect(contrast(color, palette.paper)).toBeGreaterThanOrEqual(4.5);
  });
});

test("dark is the same whether chosen or the system's", () => {
  expect(systemDark).toEqual(dark);
});

test("a contender keeps its look when another is measured slower or faster", () => {
  const one = looks(["b", "limit", "a"], "limit", ["a", "b"], pageTheme);
  expect(one).toEqual(looks(["a", "b", "limit"], "limit", ["b", "a"], pageTheme));
  expect(new Set([...one.values()].map((look) => look.color)).size).toBe(3);
});

test("pinning one more changes nobody else, and no two of those in focus look alike", () => {
  const names = Array.from({ length: 100 }, (_, i) => `contender-${i}`);
  const pins = [0, 8, 16, 24, 32, 40].map((i) => [...names].sort()[i] ?? "");
  const all = looks(names, undefined, pins, pageTheme);
  const five = looks(names, undefined, pins.slice(0, 5), pageTheme);
  for (const pin of pins.slice(0, 5)) expect(all.get(pin)).toEqual(five.get(pin));
  expect(new Set(pins.map((pin) => all.get(pin)?.color)).size).toBe(6);
  expect([...all.values()].filter((look) => look.muted)).toHaveLength(94);
});

function leastDistance(colors: readonly Triple[]): number {
  return Math.min(...colors.flatMap((a, i) => colors.slice(i + 1).map((b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]))));
}

function paletteOf(block: string): Record<"paper" | "ink", Triple> & Record<"series" | "code" | "change" | "words", Triple[]> {
  const color = (name: string): Triple => {
    const hex = new RegExp(`--${name}: #([0-9a-f]{6})`).exec(block)?.[1];
    if (!hex) throw new Error(`style.css has no --${name}`);
    return [0, 2, 4].map((at) => linear(parseInt(hex.slice(at, at + 2), 16) / 255)) as Triple;
  };
  const all = (variables: readonly string[]): Triple[] => variables.map((variable) => color(variable.slice("var(--".length, -1)));
  const { series, code, more, less } = pageTheme;
  return { paper: color("paper"), ink: color("ink"), series: all(series), code: all(Object.values(code)), change: all([more, less]), words: ["ink", "soft", "link", "caution", "void"].map(color) };
}

function linear(c: number): number {
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}

function clamp(c: number): number {
  return Math.min(1, Math.max(0, c));
}

function dot(a: Triple, b: Triple): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

function contrast(a: Triple, b: Triple): number {
  const [x, y] = [a, b].map((color) => dot([0.2126, 0.7152, 0.0722], color) + 0.05) as [number, number];
  return Math.max(x, y) / Math.min(x, y);
}

/** Björn Ottosson, "A perceptual color space for image processing", 2020. */
function oklab(rgb: Triple): Triple {
  const l = Math.cbrt(dot([0.4122214708, 0.5363325363, 0.0514459929], rgb));
  const m = Math.cbrt(dot([0.2119034982, 0.6806995451, 0.1073969566], rgb));
  const s = Math.cbrt(dot([0.0883024619, 0.2817188376, 0.6299787005], rgb));
  const lms: Triple = [l, m, s];
  return [
    dot([0.2104542553, 0.793617785, -0.0040720468], lms),
    dot([1.9779984951, -2.428592205, 0.4505937099], lms),
    dot([0.0259040371, 0.7827717662, -0.808675766], lms),
  ];
}
