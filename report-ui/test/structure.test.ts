// @vitest-environment node
// What holds for all of the page's sources: figures are written in one place, and neither files nor folders use each other in a circle.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));
const paths = readdirSync(SOURCE, { recursive: true }).map(String).filter((path) => /\.tsx?$/.test(path)).sort();
const sources = new Map(paths.map((path): [string, string] => [path, readFileSync(join(SOURCE, path), "utf8")]));

/** Lines that make text of a number with a number of digits of their own choice, or a percentage. */
const figuresIn = (text: string): string[] => text.split("\n").filter((line) => /\.to(Fixed|Precision|Exponential|Locale\w*String)\(|\bIntl\.|\* 100\b[^\n]*%/.test(line));

/** What a file defines on its own, beside types. */
const namesIn = (text: string): string[] => [...text.matchAll(/^(?:export )?(?:const|function) (\w+)/gm)].map(([, name = ""]) => name);

/** What a file imports from its neighbours, types included. */
function importsOf(path: string, text: string, all: readonly string[]): string[] {
  return [...text.matchAll(/\bfrom "(\.[^"]+)"/g)].flatMap(([, name = ""]) => {
    const stem = normalize(join(dirname(path), name));
    return all.filter((other) => [`${stem}.ts`, `${stem}.tsx`, join(stem, "index.ts"), join(stem, "index.tsx")].includes(other));
  });
}

type Uses = ReadonlyMap<string, readonly string[]>;

/** Those that need themselves, by way of others. */
function inCircles(uses: Uses): string[] {
  const below = (of: string, found = new Set<string>()): Set<string> => {
    for (const next of uses.get(of) ?? []) if (!found.has(next)) below(next, found.add(next));
    return found;
  };
  return [...uses.keys()].filter((one) => below(one).has(one));
}

/** A folder is one thing, a file beside the folders another. */
function byFolder(uses: Uses): Uses {
  const folderOf = (path: string): string => path.split("/")[0] ?? path;
  const folders = new Map<string, string[]>();
  for (const [path, used] of uses) {
    const folder = folderOf(path);
    folders.set(folder, [...(folders.get(folder) ?? []), ...used.map(folderOf).filter((other) => other !== folder)]);
  }
  return folders;
}

const uses: Uses = new Map([...sources].map(([path, text]) => [path, importsOf(path, text, paths)]));

test("figures are written by format.ts alone", () => {
  const elsewhere = [...sources].filter(([path]) => path !== "format.ts").flatMap(([path, text]) => figuresIn(text).map((line) => `${path}: ${line.trim()}`));
  expect(elsewhere).toEqual([]);
});

test("nothing has the name of what format.ts writes", () => {
  const taken = new Set(namesIn(sources.get("format.ts") ?? ""));
  const twice = [...sources].filter(([path]) => path !== "format.ts").flatMap(([path, text]) => namesIn(text).filter((name) => taken.has(name)).map((name) => `${path}: ${name}`));
  expect([taken.has("few"), taken.has("span"), twice]).toEqual([true, true, []]);
});

test("what writes a figure is found", () => {
  expect(["x.toFixed(2)", "x.toPrecision(3)", "x.toLocaleString()", "new Intl.NumberFormat()", "`${share * 100} %`"].flatMap(figuresIn)).toHaveLength(5);
  expect(["percent(share)", "Math.round(x * 100) / 100", "String(count)"].flatMap(figuresIn)).toEqual([]);
});

test("no file needs itself by way of others", () => {
  expect(inCircles(uses)).toEqual([]);
});

test("no folder needs itself by way of others", () => {
  expect(inCircles(byFolder(uses))).toEqual([]);
});

test("circles are found, of files and of folders", () => {
  const files = ["App.tsx", "parts/a.tsx", "parts/b.ts", "sections/c.tsx", "sections/index.tsx"];
  const of = (texts: readonly string[]): Uses => new Map(files.map((path, i) => [path, importsOf(path, `import { x } from "${texts[i]}";`, files)]));
  const sound = of(["./sections", "./b", "preact", "../parts/a", "./c"]);
  expect([inCircles(sound), inCircles(byFolder(sound))]).toEqual([[], []]);
  expect(inCircles(of(["./sections", "./b", "./a", "preact", "./c"]))).toEqual(["parts/a.tsx", "parts/b.ts"]);
  const folders = of(["./sections", "../sections/c", "preact", "../parts/b", "./c"]);
  expect([inCircles(folders), inCircles(byFolder(folders))]).toEqual([[], ["parts", "sections"]]);
});
