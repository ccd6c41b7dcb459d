/** A run that is watched in a browser from its first round to its report. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page as Tab } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHROMIUM, LAUNCH_ARGS, settled } from "./browser.js";
import { built } from "./built.js";

const missing = existsSync(CHROMIUM) ? "" : ` (skipped: no Chromium at ${CHROMIUM}; apt install chromium)`;
/** Longest wait for anything that must happen, in milliseconds. */
const PATIENCE = 120_000;

describe.skipIf(missing !== "")(`a run that is watched${missing}`, () => {
  let folder: string;
  let assay: string;
  let browser: Browser;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "assay-live-"));
    assay = await built("bin", "assay");
    browser = await chromium.launch({ executablePath: CHROMIUM, args: LAUNCH_ARGS });
  });

  afterAll(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  /** Starts `assay run --live` over two servers, and returns the address that it tells. */
  async function begin(rounds: number): Promise<{ run: ChildProcess; ended: Promise<number | null>; address: string }> {
    // Servers that take their time leave the CPUs to the browser.
    const server = `${assay} stub --port $PORT --cpus 0 --service 5ms`;
    const length = ["--rounds", String(rounds), "-d", "500ms", "--warmup", "100ms", "-c", "4", "--no-aa", "--no-check"];
    const run = spawn(assay, ["run", "--cmd", server, "--cmd", `${server} --seed 2`, ...length, "--live"], {
      env: { ...process.env, ASSAY_RUNS: join(folder, "runs"), ASSAY_CATALOGUE: new URL("../..", import.meta.url).pathname },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    const ended = new Promise<number | null>((resolve) => run.on("exit", resolve));
    const address = new Promise<string>((resolve, reject) => {
      run.stderr?.on("data", (text: Buffer) => {
        said += text.toString();
        const found = /live page (http:\S+)/.exec(said)?.[1];
        if (found) resolve(found);
      });
      void ended.then((code) => reject(new Error(`it ended with ${code} and told no address:\n${said}`)));
    });
    return { run, ended, address: await address };
  }

  const rowsOf = (tab: Tab): Promise<string[]> => tab.locator("#standings tbody tr").allInnerTexts();

  test("shows each round as it ends, becomes the report, and hands it over", { timeout: 3 * PATIENCE }, async () => {
    const { ended, address } = await begin(3);
    const tab = await browser.newPage({ acceptDownloads: true });
    tab.setDefaultTimeout(PATIENCE);
    const trouble: string[] = [];
    const requests: string[] = [];
    tab.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
    tab.on("pageerror", (error) => trouble.push(String(error)));
    tab.on("request", (request) => requests.push(request.url()));
    await tab.goto(address);
    await tab.locator(".live", { hasText: /^live/ }).waitFor();
    // What goes on arrives without a reload, and so do the standings.
    await tab.locator(".live", { hasText: "round 2 of 3" }).waitFor();
    await tab.locator("#standings tbody tr").nth(1).waitFor();
    await tab.evaluate(() => Object.assign(globalThis, { isTheSamePage: true }));
    await tab.locator(".live", { hasText: "The run is over" }).waitFor();
    expect(await ended).toBe(0);
    expect(await tab.evaluate(() => "isTheSamePage" in globalThis)).toBe(true);
    await settled(tab);
    const last = await rowsOf(tab);
    expect(await tab.locator(".notice").count()).toBe(1);

    const download = tab.waitForEvent("download");
    await tab.getByRole("button", { name: "save it" }).click();
    const saved = readFileSync(await (await download).path(), "utf8");
    const [id] = readdirSync(join(folder, "runs"));
    const report = join(folder, "runs", id ?? "", "report.html");
    expect(saved).toBe(readFileSync(report, "utf8"));
    const title = await tab.title();
    // Saved by the browser it is whole, too: what it holds is what it shows, and nothing of it wants a server.
    const kept = await tab.evaluate(() => document.documentElement.outerHTML);
    expect(kept).not.toContain('id="assay-live"');
    expect(await tab.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content")).not.toContain("connect-src");
    expect(dataOf(kept)).toBe(dataOf(saved));
    await tab.close();
    expect(trouble).toEqual([]);
    expect([...new Set(requests.filter((url) => url.startsWith("http")))]).toEqual([address, `${address}events`]);

    const alone = await browser.newPage();
    await alone.goto(pathToFileURL(report).href);
    await settled(alone);
    expect(await rowsOf(alone)).toEqual(last);
    expect([await alone.title(), await alone.locator(".live").count()]).toEqual([title, 0]);
    await alone.close();
  });

  test("says so when the run is gone, and keeps what it had", { timeout: 3 * PATIENCE }, async () => {
    const { run, ended, address } = await begin(40);
    const tab = await browser.newPage();
    tab.setDefaultTimeout(PATIENCE);
    await tab.goto(address);
    await tab.locator("#standings tbody tr").nth(1).waitFor();
    run.kill("SIGKILL");
    await ended;
    await tab.locator(".live", { hasText: "cannot be reached" }).waitFor();
    expect((await rowsOf(tab)).length).toBeGreaterThan(1);
    await tab.close();
  });
});

const dataOf = (page: string): string | undefined => /<script id="assay-data"[^>]*>([^<]*)<\/script>/.exec(page)?.[1];
