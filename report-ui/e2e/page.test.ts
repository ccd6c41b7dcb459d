/** The page as a reader meets it: a file, opened in Chromium. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page as Tab } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rateInterval } from "../src/format";
import type { CellVerdict, Page } from "../src/types";
import { CHROMIUM, LAUNCH_ARGS } from "./browser.js";

const missing = existsSync(CHROMIUM) ? "" : ` (skipped: no Chromium at ${CHROMIUM}; apt install chromium)`;
const SECTIONS = ["verdict", "trust", "standings", "times", "scaling", "rounds", "price", "not-run", "repeat"];

describe.skipIf(missing !== "")(`the page${missing}`, () => {
  let folder: string;
  let file: string;
  let data: Page;
  let browser: Browser;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "assay-e2e-"));
    file = join(folder, "report.html");
    const workspace = new URL("../..", import.meta.url);
    execFileSync("cargo", ["run", "-q", "-p", "assay-report", "--example", "sample_page", "--", folder], { cwd: workspace, stdio: "inherit" });
    data = JSON.parse(readFileSync(join(folder, "page.json"), "utf8")) as Page;
    browser = await chromium.launch({ executablePath: CHROMIUM, args: LAUNCH_ARGS });
  });

  afterAll(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  /** Opens the report and hands it over; afterwards nothing may have gone wrong or out. */
  async function visit(options: Parameters<Browser["newPage"]>[0], look: (tab: Tab) => Promise<void>, fragment = ""): Promise<void> {
    const tab = await browser.newPage(options);
    const trouble: string[] = [];
    const requests: string[] = [];
    tab.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
    tab.on("pageerror", (error) => trouble.push(String(error)));
    tab.on("dialog", (dialog) => void dialog.dismiss().then(() => trouble.push(`dialog: ${dialog.message()}`)));
    tab.on("request", (request) => requests.push(request.url().replace(/#.*/, "")));
    try {
      await tab.goto(pathToFileURL(file).href + fragment);
      await tab.waitForSelector("#repeat");
      await look(tab);
    } finally {
      await tab.close();
    }
    expect(trouble).toEqual([]);
    expect(requests).toEqual([pathToFileURL(file).href]);
  }

  const cellOf = (workload: string, connections: number): CellVerdict =>
    data.verdict.cells.find((cell) => cell.workload === workload && cell.connections === connections) as CellVerdict;

  async function standingsMatch(tab: Tab, cell: CellVerdict): Promise<void> {
    const rows = await tab.locator("#standings tbody tr").allInnerTexts();
    expect(rows).toHaveLength(cell.standings.length);
    cell.standings.forEach((standing, i) => {
      if (standing.withheld) return expect(rows[i]).toContain(`withheld: ${standing.withheld}`);
      if (!standing.throughput_per_second) return undefined;
      const { estimate, interval } = rateInterval(standing.throughput_per_second);
      expect(rows[i]).toContain(estimate);
      expect(rows[i]).toContain(interval);
    });
  }

  test("says what was found, in title and heading, and has every section", () =>
    visit({}, async (tab) => {
      expect(await tab.title()).toBe(data.title);
      expect((await tab.locator("h1").innerText()).replaceAll("\u00a0", " ")).toBe(data.verdict.sentences[0]);
      for (const id of SECTIONS) expect(await tab.locator(`#${id}`).isVisible(), id).toBe(true);
      const drawn = await tab.locator(".chart svg.plot").count();
      expect(drawn).toBe(await tab.locator(".chart").count());
    }));

  test("shows the figures of the record, for whichever cell is chosen", () =>
    visit({}, async (tab) => {
      await standingsMatch(tab, cellOf("hello", 64));
      await tab.getByRole("radio", { name: "json" }).check({ force: true });
      await tab.getByRole("radio", { name: "256" }).check({ force: true });
      await standingsMatch(tab, cellOf("json", 256));
      expect(new URL(tab.url()).hash).toBe("#workload=json&connections=256");
    }));

  test("opens where a link points", () =>
    visit({}, (tab) => standingsMatch(tab, cellOf("json", 16)), "#workload=json&connections=16"));

  test("shows a void window hollow and a dead run crossed", () =>
    visit({}, async (tab) => {
      const hollow = tab.locator('#rounds g[aria-label="dot"] [fill="var(--paper)"] circle');
      expect(await hollow.count()).toBe(data.samples.filter((s) => s.workload === "hello" && s.connections === 256 && (s.void.length > 0 || s.contender === "fasthttp")).length);
      const dead = data.failures.filter((failure) => failure.missing.some((cell) => cell.workload === "hello" && cell.connections === 256));
      expect(dead).toHaveLength(1);
      expect(await tab.locator('#rounds g[aria-label="dot"] path').count()).toBe(dead.length);
    }, "#workload=hello&connections=256"));

  test("prints hostile text as text", () =>
    visit({}, async (tab) => {
      const log = tab.locator("#not-run pre").first();
      expect(await log.textContent()).toContain("</script><script>alert('x')</script>");
    }));

  test.each([360, 768, 1280, 2560])("fits %d px without scrolling sideways", (width) =>
    visit({ viewport: { width, height: 800 } }, async (tab) => {
      const [content, window] = await tab.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      expect(content).toBeLessThanOrEqual(window ?? 0);
      for (const chart of await tab.locator(".chart svg.plot").all()) {
        const box = await chart.boundingBox();
        expect(box && box.x >= 0 && box.x + box.width <= width).toBe(true);
      }
    }),
  );

  test("is light or dark as the system says, until the reader says otherwise", () =>
    visit({ colorScheme: "dark" }, async (tab) => {
      const paper = (): Promise<string> => tab.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      expect(await paper()).toBe("rgb(19, 21, 23)");
      await tab.getByRole("button", { name: "light" }).click();
      expect(await paper()).toBe("rgb(253, 253, 251)");
      await tab.emulateMedia({ colorScheme: "light" });
      await tab.getByRole("button", { name: "dark" }).click();
      expect(await paper()).toBe("rgb(19, 21, 23)");
    }));

  test("prints light, with everything open and nothing to press", () =>
    visit({ colorScheme: "dark", viewport: { width: 720, height: 1000 } }, async (tab) => {
      await tab.emulateMedia({ media: "print" });
      expect(await tab.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).toBe("rgb(253, 253, 251)");
      expect(await tab.locator("aside").isVisible()).toBe(false);
      expect(await tab.locator(".check.pass p").first().isVisible()).toBe(true);
      expect((await tab.pdf({ format: "A4" })).length).toBeGreaterThan(20_000);
    }));

  test("can be used from the keyboard alone", () =>
    visit({}, async (tab) => {
      const focused = (): Promise<string> => tab.evaluate(() => document.activeElement?.getAttribute("value") ?? document.activeElement?.textContent ?? "");
      await tab.keyboard.press("Tab");
      expect(await focused()).toBe("dark");
      await tab.keyboard.press("Tab");
      expect(await focused()).toBe("hello");
      await tab.keyboard.press("ArrowRight");
      await standingsMatch(tab, cellOf("json", 64));
      await tab.getByRole("button", { name: "cpu/req" }).focus();
      await tab.keyboard.press("Enter");
      expect(await tab.locator('#standings th[aria-sort="ascending"]').innerText()).toContain("cpu/req");
    }));

  test("every chart has a table twin or says where its figures are", () =>
    visit({}, async (tab) => {
      for (const id of ["times", "scaling", "rounds"]) {
        await tab.locator(`#${id} .twin summary`).click();
        await tab.waitForSelector(`#${id} .twin table`);
        expect(await tab.locator(`#${id} .twin tbody tr`).count(), id).toBeGreaterThan(3);
      }
      expect(await tab.locator("#price .question").innerText()).toContain("table of standings");
    }));

  test("forbids itself the network", () =>
    visit({}, async (tab) => {
      const policy = await tab.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content");
      expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'$/);
    }));

  test("without data says how to make some", async () => {
    const empty = join(folder, "empty.html");
    writeFileSync(empty, readFileSync(new URL("../../crates/report/assets/report.html", import.meta.url)));
    const tab = await browser.newPage();
    await tab.goto(pathToFileURL(empty).href);
    await tab.waitForFunction(() => document.body.innerText.includes("assay report RUN"));
    await tab.close();
  });
});
