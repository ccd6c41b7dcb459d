// How long a report takes to open: node build/ready.js REPORT.html [TIMES]. The median of the times from navigation until
// the verdict, the standings with their chart and the last heading are there, each in a fresh tab.
import { chromium } from "playwright-core";
import { CHROMIUM, LAUNCH_ARGS } from "../e2e/browser.js";
import { pathToFileURL } from "node:url";

const [report, times = "9"] = process.argv.slice(2);
if (!report) {
  console.error("usage: node build/ready.js REPORT.html [TIMES]");
  process.exit(2);
}
const browser = await chromium.launch({ executablePath: CHROMIUM, args: LAUNCH_ARGS });
/** @type {{ ready: number, all: number }[]} */
const seen = [];
for (let i = 0; i < Number(times); i++) {
  const tab = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  // The clock of the page itself: a poll from outside would measure the poll.
  await tab.addInitScript(() => {
    const watch = () => {
      const times = /** @type {any} */ (globalThis);
      const isThere = ["#verdict h1", "#trust .check", "#repeat"].every((place) => document.querySelector(place));
      times.readyAt ??= isThere && document.querySelector("#standings") ? performance.now() : undefined;
      times.allAt ??= isThere && !document.querySelector(".waiting, .undrawn") && document.querySelector("#standings svg") ? performance.now() : undefined;
      if (times.allAt === undefined) requestAnimationFrame(watch);
    };
    requestAnimationFrame(watch);
  });
  await tab.goto(pathToFileURL(report).href);
  await tab.waitForFunction(() => "allAt" in globalThis && /** @type {any} */ (globalThis).allAt !== undefined, null, { timeout: 60_000 });
  seen.push(await tab.evaluate(() => ({ ready: /** @type {any} */ (globalThis).readyAt, all: /** @type {any} */ (globalThis).allAt })));
  await tab.close();
}
await browser.close();
const median = (/** @type {number[]} */ values) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;
console.log(`ready ${median(seen.map((one) => one.ready)).toFixed(0)} ms, all sections drawn ${median(seen.map((one) => one.all)).toFixed(0)} ms (medians of ${times})`);
