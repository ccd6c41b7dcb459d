/** Whether everybody can read the page: checked by axe-core, light and dark, narrow and wide, on the screen and printed. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { chromium, type Browser, type Page as Tab } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHROMIUM, LAUNCH_ARGS, settled } from "./browser.js";
import { built, run } from "./built.js";

const missing = existsSync(CHROMIUM) ? "" : ` (skipped: no Chromium at ${CHROMIUM}; apt install chromium)`;
const PAGES = ["report.html", "rated.html", "stacks.html", "again.html", "why.html"];
const WIDE = 1280;
const WIDTHS = [360, WIDE, 2560];
const GRAVE = ["critical", "serious"];

describe.skipIf(missing !== "")(`the page is for everybody${missing}`, () => {
  let folder: string;
  let browser: Browser;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "assay-axe-"));
    await run(await built("example", "sample_page"), [folder]);
    browser = await chromium.launch({ executablePath: CHROMIUM, args: LAUNCH_ARGS });
  });

  afterAll(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  async function visit(name: string, options: Parameters<Browser["newPage"]>[0], look: (tab: Tab) => Promise<void>): Promise<void> {
    const tab = await browser.newPage(options);
    await tab.goto(pathToFileURL(join(folder, name)).href);
    await settled(tab);
    await look(tab);
    await tab.close();
  }

  /** What is gravely wrong, each with the first places where it is. */
  async function graveIn(tab: Tab): Promise<string[]> {
    // By the debugger, which the page's policy does not bind.
    await tab.evaluate(axe.source);
    const { violations } = await tab.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ["violations"] }));
    const grave = violations.filter(({ impact }) => GRAVE.includes(impact ?? ""));
    return grave.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target, failureSummary }) => `${target.join(" ")} ${failureSummary}`).join("; ")}`);
  }

  const schemes = ["light", "dark"] as const;
  const cases = PAGES.flatMap((name) => WIDTHS.map((width) => [name, width] as const));

  // Dark is light in other colours, whatever the width.
  const schemesAt = (width: number) => (width === WIDE ? schemes : (["light"] as const));

  test.each(cases)("%s at %d px has no grave fault", (name, width) =>
    visit(name, { viewport: { width, height: 900 } }, async (tab) => {
      for (const colorScheme of schemesAt(width)) {
        await tab.emulateMedia({ colorScheme });
        expect(await graveIn(tab), colorScheme).toEqual([]);
      }
    }));

  test.each(PAGES)("%s printed has no grave fault", (name) =>
    visit(name, { viewport: { width: 794, height: 1123 }, colorScheme: "dark" }, async (tab) => {
      await tab.emulateMedia({ media: "print" });
      expect(await graveIn(tab)).toEqual([]);
    }));

  test.each(schemes)("with a drawer and every table open, %s", (colorScheme) =>
    visit("again.html", { viewport: { width: 1280, height: 900 }, colorScheme }, async (tab) => {
      for (const summary of await tab.locator("main summary").all()) await summary.click();
      await tab.locator("#standings").getByRole("button", { name: "nginx", exact: true }).click();
      await tab.getByRole("dialog", { name: "nginx" }).getByRole("heading", { name: "At capacity" }).waitFor();
      expect(await graveIn(tab)).toEqual([]);
    }));

  test.each(PAGES)("%s shows every column of every table at 1280 px", (name) =>
    visit(name, { viewport: { width: 1280, height: 900 } }, async (tab) => {
      const cut = await tab.locator("main .scroll").evaluateAll((boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth).map((box) => `${box.getAttribute("aria-label")}: ${box.scrollWidth} in ${box.clientWidth}`));
      expect(cut).toEqual([]);
    }));
});
