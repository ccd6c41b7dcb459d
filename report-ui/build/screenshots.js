// Pictures of a report for looking at: node build/screenshots.js REPORT.html FOLDER
import { chromium } from "playwright-core";
import { CHROMIUM, LAUNCH_ARGS, settled } from "../e2e/browser.js";
import { pathToFileURL } from "node:url";

const [report, folder] = process.argv.slice(2);
if (!report || !folder) {
  console.error("usage: node build/screenshots.js REPORT.html FOLDER");
  process.exit(2);
}
const browser = await chromium.launch({ executablePath: CHROMIUM, args: LAUNCH_ARGS });
for (const [width, colorScheme] of /** @type {const} */ ([[360, "light"], [800, "dark"], [1280, "light"], [1280, "dark"], [2560, "light"]])) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  await page.goto(pathToFileURL(report).href);
  await settled(page);
  await page.screenshot({ path: `${folder}/${width}-${colorScheme}.png`, fullPage: true });
  await page.close();
}
const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: "dark" });
await page.goto(pathToFileURL(report).href);
await settled(page);
await page.pdf({ path: `${folder}/print.pdf`, format: "A4" });
await browser.close();
