/** The page as a reader meets it: a file, opened in Chromium. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page as Tab } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rateInterval } from "../src/format";
import type { Findings, Head, Page } from "../src/types";
import { CHROMIUM, LAUNCH_ARGS, settled } from "./browser.js";
import { built, run } from "./built.js";

const missing = existsSync(CHROMIUM) ? "" : ` (skipped: no Chromium at ${CHROMIUM}; apt install chromium)`;
const SECTIONS = ["verdict", "trust", "standings", "pairs", "times", "scaling", "shares", "over-time", "price", "rounds", "not-run", "repeat"];
const MORE = ["rates", "family", "published"];

type Fragment = string;

describe.skipIf(missing !== "")(`the page${missing}`, () => {
  let folder: string;
  let data: Page;
  let browser: Browser;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "assay-e2e-"));
    await run(await built("example", "sample_page"), [folder]);
    data = JSON.parse(readFileSync(join(folder, "page.json"), "utf8")) as Page;
    browser = await chromium.launch({ executablePath: CHROMIUM, args: LAUNCH_ARGS });
  });

  afterAll(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  /** Opens a report, drawn to its end, and hands it over; afterwards nothing may have gone wrong or out. */
  async function visit(options: Parameters<Browser["newPage"]>[0], look: (tab: Tab) => Promise<void>, fragment: Fragment = "", name = "report.html"): Promise<void> {
    const file = pathToFileURL(join(folder, name)).href;
    const tab = await browser.newPage(options);
    const trouble: string[] = [];
    const requests: string[] = [];
    tab.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
    tab.on("pageerror", (error) => trouble.push(String(error)));
    tab.on("dialog", (dialog) => void dialog.dismiss().then(() => trouble.push(`dialog: ${dialog.message()}`)));
    tab.on("request", (request) => requests.push(request.url().replace(/#.*/, "")));
    try {
      await tab.goto(file + fragment);
      await tab.waitForSelector("#standings");
      await settled(tab);
      await look(tab);
    } finally {
      await tab.close();
    }
    expect(trouble).toEqual([]);
    expect([...new Set(requests)]).toEqual([file]);
  }

  const head = (): Head => (data.runs[0] as Page["runs"][number]).head;

  function cellOf(workload: string, connections: number): Findings {
    const run = data.runs[0] as Page["runs"][number];
    return run.findings[run.head.spots.findIndex((spot) => spot.workload === workload && spot.connections === connections)] as Findings;
  }

  /** Waits, because a place is drawn a moment after it is chosen. */
  async function standingsMatch(tab: Tab, workload: string, connections: number): Promise<void> {
    await tab.locator("#standings .question", { hasText: `${workload} at ${connections} connections` }).waitFor();
    const { standings } = cellOf(workload, connections);
    const rows = await tab.locator("#standings tbody tr").allInnerTexts();
    expect(rows).toHaveLength(standings.length);
    standings.forEach((standing, i) => {
      if (standing.withheld) return expect(rows[i]).toContain(`withheld: ${standing.withheld}`);
      if (!standing.throughput_per_second) return undefined;
      const { estimate, interval } = rateInterval(standing.throughput_per_second);
      expect(rows[i]).toContain(estimate);
      expect(rows[i]).toContain(interval);
    });
  }

  const headlineIs = async (tab: Tab, sentence: string | undefined): Promise<void> => expect((await tab.locator("h1").innerText()).replaceAll("\u00a0", " ")).toBe(sentence);
  const hashOf = (tab: Tab): string => new URL(tab.url()).hash;
  const namesIn = (tab: Tab, place: string): Promise<string[]> => tab.locator(`${place} tbody th .open`).allInnerTexts();

  test("is drawn as soon as it is loaded, for whoever takes a picture of it then", async () => {
    const tab = await browser.newPage({ viewport: { width: 1280, height: 2400 } });
    await tab.addInitScript(() =>
      addEventListener("load", () => {
        const undrawn = [...document.querySelectorAll(".waiting, .undrawn")].filter((place) => place.getBoundingClientRect().top < innerHeight);
        Object.assign(globalThis, { atLoad: { verdicts: document.querySelectorAll("#verdict h1").length, undrawn: undrawn.map(({ id, className }) => id || className) } });
      }),
    );
    await tab.goto(pathToFileURL(join(folder, "report.html")).href);
    expect(await tab.evaluate(() => (globalThis as unknown as { atLoad: unknown }).atLoad)).toEqual({ verdicts: 1, undrawn: [] });
    await tab.close();
  });

  test("says what was found, in title and heading, and has every section", () =>
    visit({}, async (tab) => {
      expect(await tab.title()).toBe(data.title);
      await headlineIs(tab, cellOf("hello", 64).sentences[0]);
      expect(await tab.locator("main > section").evaluateAll((all) => all.map((section) => section.id))).toEqual(SECTIONS);
      const charts = await tab.locator(".chart svg.plot").count();
      expect(charts).toBe(await tab.locator(".chart").count());
    }));

  test("shows the figures of the record, for whichever cell is chosen", () =>
    visit({}, async (tab) => {
      await standingsMatch(tab, "hello", 64);
      await tab.getByRole("radio", { name: "json" }).check({ force: true });
      await tab.getByRole("radio", { name: "256" }).check({ force: true });
      await standingsMatch(tab, "json", 256);
      await headlineIs(tab, cellOf("json", 256).sentences[0]);
      expect(hashOf(tab)).toBe("#workload=json&connections=256");
    }));

  test("opens where a link points", () =>
    visit({}, (tab) => standingsMatch(tab, "json", 16), "#workload=json&connections=16"));

  test("shows a void window hollow and a dead run crossed", () =>
    visit({}, async (tab) => {
      const hollow = tab.locator('#over-time g[aria-label="dot"] [fill="var(--paper)"] circle');
      expect(await hollow.count()).toBe(cellOf("hello", 256).samples.filter((s) => s.void.length > 0 || s.contender === "fasthttp").length);
      const dead = head().failures.filter((failure) => failure.missing.some((cell) => cell.workload === "hello" && cell.connections === 256));
      expect(dead).toHaveLength(1);
      expect(await tab.locator('#over-time g[aria-label="dot"] path').count()).toBe(dead.length);
    }, "#workload=hello&connections=256"));

  test("says who beats whom, and ~ where nobody was shown to", () =>
    visit({}, async (tab) => {
      const { standings, pairs } = cellOf("hello", 64);
      const ranked = standings.filter((standing) => standing.tier !== null);
      expect(await namesIn(tab, "#pairs")).toHaveLength(ranked.length);
      const shown = (await tab.locator("#pairs td:not(.void-cell)").allInnerTexts()).sort();
      expect(shown).toEqual(pairs.call.map((call, i) => (call === "tie" ? "~" : `${pairs.estimate[i]?.toFixed(2)}×`)).sort());
    }));

  test("filters, searches and pins, and a link keeps all of it", () =>
    visit({ viewport: { width: 1280, height: 900 } }, async (tab) => {
      await tab.getByLabel("language").selectOption("go");
      expect(await namesIn(tab, "#standings")).toEqual(["assay", "net-http", "gin", "fasthttp"]);
      await tab.getByRole("searchbox").fill("gin");
      await tab.locator("#standings tbody tr").nth(2).waitFor({ state: "detached" });
      expect(await namesIn(tab, "#standings")).toEqual(["assay", "gin"]);
      await tab.getByRole("searchbox").fill("");
      await tab.getByLabel("language").selectOption("");
      await tab.getByRole("button", { name: "Pin nginx" }).click();
      await tab.getByRole("button", { name: "Pin node" }).click();
      expect(hashOf(tab)).toBe("#workload=hello&connections=64&pin=nginx,node");
      await settled(tab);
      expect(await tab.locator("#scaling svg text").allTextContents()).toEqual(expect.arrayContaining(["nginx", "node"]));
      expect(await tab.locator("#scaling svg text").allTextContents()).not.toContain("gin");
      await tab.reload();
      expect(await tab.getByRole("group", { name: "Pinned" }).getByRole("button").allInnerTexts()).toEqual(["nginx ×", "node ×"]);
    }));

  test("stands for another metric against another baseline, and sorts", () =>
    visit({}, async (tab) => {
      await tab.getByRole("radio", { name: "memory" }).check({ force: true });
      await tab.getByLabel("compared with").selectOption("nginx");
      await tab.getByRole("button", { name: "times it" }).click();
      await settled(tab);
      expect(hashOf(tab)).toBe("#workload=hello&connections=64&metric=memory&baseline=nginx&sort=times+it");
      const written = await tab.locator("#standings svg text").allTextContents();
      expect(written).toEqual(expect.arrayContaining(["memory", "times it", "1.00×"]));
      const shown = await tab.locator("#standings tbody tr:not(.limit)").evaluateAll((rows) => rows.map((row) => parseFloat(row.querySelectorAll("td")[3]?.textContent ?? "")));
      const known = shown.filter((ratio) => !Number.isNaN(ratio));
      expect(known).toEqual([...known].sort((a, b) => a - b));
    }));

  test("tells in a drawer all that is known of a contender, its log as text", () =>
    visit({}, async (tab) => {
      await tab.locator("#standings").getByRole("button", { name: "apache", exact: true }).click();
      const drawer = tab.getByRole("dialog", { name: "apache" });
      await drawer.getByRole("heading", { name: "At capacity" }).waitFor();
      expect(hashOf(tab)).toContain("show=apache");
      const reached = data.runs.flatMap((run) => run.findings).filter(({ standings }) => standings.some((s) => s.contender === "apache")).length;
      expect(await drawer.locator("tbody tr").count()).toBe(reached);
      expect(await drawer.innerText()).toContain("SIGSEGV");
      expect(await drawer.locator("pre").textContent()).toContain("</script><script>alert('x')</script>");
      await tab.keyboard.press("Escape");
      await drawer.waitFor({ state: "detached" });
      expect(hashOf(tab)).not.toContain("show=");
    }));

  test("with rates, a redline, a family and figures of others has their sections, and switches runs", () =>
    visit({}, async (tab) => {
      for (const id of MORE) expect(await tab.locator(`#${id}`).isVisible(), id).toBe(true);
      expect(await tab.locator("#times h2").innerText()).toBe("Response time by percentile");
      await tab.locator("#times").getByRole("radio", { name: "max" }).check({ force: true });
      expect(await tab.locator("#times h2").innerText()).toBe("Service time by percentile");
      expect(await tab.locator("#times input:checked, #shares input:checked").evaluateAll((all) => all.map((input) => input.getAttribute("value")))).toEqual(["max", "max"]);
      expect(await tab.locator("#rates svg text").allTextContents()).toEqual(expect.arrayContaining(["objective: p99 < 10 ms", "nginx: redline 63.2k"]));
      expect(await tab.locator("#family svg text").allTextContents()).toEqual(expect.arrayContaining(["1", "5", "20", "queries"]));
      expect(await tab.locator("#published").innerText()).toContain("not run");
      await tab.getByLabel("link").selectOption("loopback");
      expect(hashOf(tab)).toContain("run=2");
      await tab.locator("#rates").waitFor({ state: "detached" });
    }, "", "rated.html"));

  test("with several networks names stack and wire everywhere, and tells what the stack costs", () =>
    visit({ viewport: { width: 1280, height: 900 } }, async (tab) => {
      const { head: stacks, findings } = (JSON.parse(readFileSync(join(folder, "stacks.json"), "utf8")) as Page).runs[0] as Page["runs"][number];
      expect(await tab.getByRole("group", { name: "network" }).getByRole("radio").evaluateAll((all) => all.map((one) => one.getAttribute("value")))).toEqual(["kernel/veth", "user/xdp", "kernel/loopback", "user/ring"]);
      await tab.getByRole("radio", { name: "user/ring" }).check({ force: true });
      expect(hashOf(tab)).toBe("#workload=hello&connections=64&network=user/ring");
      for (const id of ["standings", "times", "scaling", "family", "shares", "over-time", "price", "rounds"]) {
        await tab.locator(`#${id} .question`, { hasText: "on user/ring" }).waitFor();
      }
      const there = findings[stacks.spots.findIndex((spot) => spot.network === "user/ring" && spot.connections === 64)] as Findings;
      const nginx = there.standings.find(({ contender }) => contender === "nginx")?.throughput_per_second;
      expect((await tab.locator("#standings tbody tr", { hasText: "nginx" }).innerText())).toContain(nginx ? rateInterval(nginx).interval : "no nginx");
      const cost = tab.locator("#stacks");
      expect(await cost.locator("h3").allInnerTexts()).toEqual(stacks.stack_cost.flatMap(({ user, kernel }) => expect.stringContaining(`${user} against ${kernel}`)).concat(stacks.stack_cost.map(({ user, kernel }) => expect.stringContaining(`${user} against ${kernel}, body by bytes at 64 connections`))));
      expect(await cost.innerText()).toContain("nginx user/xdp is faster up to 1,024 bytes, kernel/veth from 65,536; equal at about 7,200.");
      await cost.locator(".twin summary").first().click();
      const twin = cost.getByRole("region", { name: "Stack cost, user/xdp against kernel/veth" });
      await twin.locator("tbody tr").first().waitFor();
      expect(await twin.locator("tbody tr").count()).toBe(stacks.stack_cost[0]?.rows.length);
      expect(await twin.innerText()).toContain("withheld: on the user-space stack");
      const counters = cost.getByRole("region", { name: "What each end did" });
      const here = stacks.stack_counters.filter(({ workload, connections }) => workload === "hello" && connections === 64);
      expect(await counters.locator("tbody tr").count()).toBe(2 * here.length);
      const rowOf = (end: string): Promise<string[]> => counters.locator("tbody tr", { hasText: end }).first().locator("td").allInnerTexts();
      const [of, probes, full] = [here[0]?.contender, here[0]?.server.stack?.counts.tail_loss_probes, here[0]?.generator.stack?.counts.wire_full];
      expect((await rowOf(`${of} server`)).slice(-2)).toEqual([`${probes}`, "0"]);
      expect((await rowOf(`${of} generator`)).slice(-2)).toEqual(["0", `${full}`]);
      expect(await rowOf("apache server")).toContain("not told");
      expect(await rowOf("apache generator")).not.toContain("not told");
      const absent = await tab.locator("#not-run").innerText();
      expect(absent).toContain("kernel/veth:1gbit network not to be had");
      expect(absent).toContain("did not start on user/xdp, user/ring");
    }, "", "stacks.html"));

  test("says what changed since the last run, and what other generators say", () =>
    visit({ viewport: { width: 1280, height: 900 } }, async (tab) => {
      const { head: told } = (JSON.parse(readFileSync(join(folder, "again.json"), "utf8")) as Page).runs[0] as Page["runs"][number];
      const moved = told.since?.rows.filter(({ call }) => call === "better") ?? [];
      expect(moved.length).toBeGreaterThan(0);
      const since = tab.locator("#since");
      expect(await since.locator(".question").innerText()).toContain(`${moved.length} of ${told.since?.rows.length} figures moved`);
      expect((await since.locator(".plain li").first().innerText()).replaceAll("\u00a0", " ")).toContain(moved[0]?.sentence);
      expect(await since.locator("tbody tr").count()).toBe(told.since?.rows.length);
      const hosts = tab.locator("#hosts");
      expect(await hosts.locator("tbody tr").allInnerTexts()).toEqual([expect.stringContaining("box1"), expect.stringMatching(/box2[^]*994 Mbit\/s/), expect.stringMatching(/! box3[^]*2, 1 of 48/)]);
      expect(await hosts.innerText()).toContain("box3 was lost 1 time");
      const generators = tab.locator("#generators");
      expect(await generators.locator("tbody tr").allInnerTexts()).toEqual([expect.stringContaining("assay"), expect.stringMatching(/wrk\s+76\.0k\s+0\.97/), expect.stringContaining("h2load")]);
      expect(await generators.innerText()).toContain("coordinated omission");
      expect(await generators.innerText()).toContain("oha is not on the PATH");
      await generators.getByRole("button", { name: "nginx", exact: true }).first().click();
      const drawer = tab.getByRole("dialog", { name: "nginx" });
      await drawer.getByRole("heading", { name: "By generator" }).waitFor();
      expect(await drawer.innerText()).toContain("Since the run of 19 November 2026");
    }, "", "again.html"));

  test("with profiles says where the time goes, and walks through the calls", () =>
    visit({ viewport: { width: 1280, height: 900 } }, async (tab) => {
      const { head: told } = (JSON.parse(readFileSync(join(folder, "why.json"), "utf8")) as Page).runs[0] as Page["runs"][number];
      const explained = told.why[0] as Head["why"][number];
      const why = tab.locator("#why");
      for (const sentence of explained.sentences) expect((await why.innerText()).replaceAll("\u00a0", " ")).toContain(sentence);
      expect(await why.locator(".plot:not(.flame) text").allTextContents()).toEqual(expect.arrayContaining(["nginx", "gin", "node", "TCP send"]));
      const less = why.getByRole("region", { name: "node less nginx" });
      expect(await less.locator("tbody tr").allInnerTexts()).toEqual((explained.compared.find(({ contender }) => contender === "node")?.lines ?? []).map(({ name }) => expect.stringContaining(name)));
      await why.getByRole("combobox", { name: /^functions of/ }).selectOption("node, at capacity");
      await why.getByRole("combobox", { name: /^against/ }).selectOption("nginx, at capacity");
      await why.locator(".flame text", { hasText: "onrequest" }).waitFor();
      await why.getByRole("button", { name: /^main / }).click();
      await why.getByRole("button", { name: /^uv_run / }).click();
      expect(await why.locator(".steps b").innerText()).toMatch(/^uv_run /);
      await why.getByRole("searchbox").fill("write");
      expect(await why.locator("output").innerText()).toMatch(/^\d+ % of the time$/);
      await why.locator(".flame rect[stroke]").first().waitFor();
      await why.getByRole("button", { name: "all", exact: true }).click();
      for (const summary of await why.locator(".twin summary").all()) await summary.click();
      expect(await why.getByRole("region", { name: "Functions of node" }).innerText()).toContain("writeHead");
      await tab.emulateMedia({ media: "print" });
      expect(await why.locator(".flames, .steps").evaluateAll((all) => all.map((one) => one.checkVisibility()))).toEqual([false, false]);
    }, "", "why.html"));

  test("with one network says nothing of it, and nothing of profiles without any", () =>
    visit({}, async (tab) => {
      expect(await tab.locator("#why").count()).toBe(0);
      expect(await tab.getByRole("group", { name: "network" }).count()).toBe(0);
      expect(await tab.locator("main").innerText()).not.toMatch(/kernel\/|user\//);
    }));

  test("prints hostile text as text", () =>
    visit({}, async (tab) => {
      const log = tab.locator("#not-run pre").first();
      expect(await log.textContent()).toContain("</script><script>alert('x')</script>");
    }));

  test.each([[360, "report.html"], [768, "report.html"], [1280, "rated.html"], [2560, "report.html"], [360, "rated.html"], [360, "stacks.html"], [1280, "stacks.html"]])("fits %d px without scrolling sideways (%s)", (width, name) =>
    visit({ viewport: { width, height: 800 } }, async (tab) => {
      const [content, window] = await tab.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      expect(content).toBeLessThanOrEqual(window ?? 0);
      for (const chart of await tab.locator(".chart svg.plot").all()) {
        const box = await chart.boundingBox();
        expect(box && box.x >= 0 && box.x + box.width <= width).toBe(true);
      }
    }, "", name),
  );

  test("leaves room for figures beside a long name at 360 px", () =>
    visit({ viewport: { width: 360, height: 800 } }, async (tab) => {
      const names = tab.locator("#standings tbody th");
      await names.locator(".open").first().evaluate((name) => (name.textContent = "a-command-that-somebody-wrote-out-in-full-at-last"));
      const [column, box] = await tab.locator("#standings .scroll").evaluate((box) => [box.querySelector("tbody th")?.clientWidth ?? 0, box.clientWidth]);
      expect(column).toBeLessThan(0.6 * (box ?? 0));
    }));

  test("draws larger where the reader wants larger letters", () =>
    visit({ viewport: { width: 1280, height: 800 } }, async (tab) => {
      const heightOf = (): Promise<number> => tab.locator("#standings svg text").first().evaluate((text) => text.getBoundingClientRect().height);
      const usual = await heightOf();
      await tab.addStyleTag({ content: "html { font-size: 200% }" });
      await expect.poll(heightOf).toBeGreaterThan(1.8 * usual);
    }));

  test("shows every column of the standings beside the contents at 1280 px", () =>
    visit({ viewport: { width: 1280, height: 800 } }, async (tab) => {
      const [content, seen] = await tab.locator("#standings .scroll").evaluate((box) => [box.scrollWidth, box.clientWidth]);
      expect(content).toBeLessThanOrEqual(seen ?? 0);
    }));

  test("hands over its tables as text and its figures as files", () =>
    visit({ acceptDownloads: true, permissions: ["clipboard-read", "clipboard-write"] }, async (tab) => {
      const first = cellOf("hello", 64).standings[0]?.throughput_per_second;
      const pasted = async (): Promise<string> => tab.evaluate(() => navigator.clipboard.readText());
      for (const [format, begin] of [["Markdown", "| contender | tier | req/s |"], ["CSV", "contender,tier,req/s,"]] as const) {
        await tab.locator("#standings .take").getByRole("button", { name: `copy as ${format}` }).click();
        await tab.locator("#standings .take", { hasText: "copied" }).waitFor();
        expect((await pasted()).startsWith(begin)).toBe(true);
        expect(await pasted()).toContain(first ? rateInterval(first).estimate : "nobody measured");
      }
      for (const [format, begin] of [["SVG", "<svg"], ["PNG", "\u0089PNG"]] as const) {
        const download = tab.waitForEvent("download");
        await tab.locator("#standings .take").getByRole("button", { name: `save as ${format}` }).click();
        const file = await download;
        expect(file.suggestedFilename()).toMatch(new RegExp(`^throughput-.*\\.${format.toLowerCase()}$`));
        expect(readFileSync(await file.path(), "latin1").startsWith(begin)).toBe(true);
      }
    }));

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
      expect(await tab.locator("#standings tbody th").first().evaluate((name) => getComputedStyle(name).position)).toBe("static");
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
      await standingsMatch(tab, "json", 64);
      await tab.getByRole("button", { name: "cpu/req" }).focus();
      await tab.keyboard.press("Enter");
      expect(await tab.locator('#standings th[aria-sort="ascending"]').innerText()).toContain("cpu/req");
      await tab.locator("#standings").getByRole("button", { name: "nginx", exact: true }).focus();
      await tab.keyboard.press("Enter");
      await tab.getByRole("dialog", { name: "nginx" }).waitFor();
      await tab.keyboard.press("Escape");
      await tab.getByRole("dialog").waitFor({ state: "detached" });
      expect(await focused()).toBe("nginx");
    }));

  test("every chart has a table twin or says where its figures are", () =>
    visit({}, async (tab) => {
      for (const id of ["times", "scaling", "shares", "over-time", "rounds"]) {
        await tab.locator(`#${id} .twin summary`).click();
        await tab.waitForSelector(`#${id} .twin table`);
        expect(await tab.locator(`#${id} .twin tbody tr`).count(), id).toBeGreaterThan(3);
      }
      expect(await tab.locator("#price .question").innerText()).toContain("table of standings");
    }));

  test("forbids itself the network", () =>
    visit({}, async (tab) => {
      const policy = await tab.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content");
      expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'$/);
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
