// Pictures of sections for the documentation: node build/gallery.js FILE.png REPORT.html[#FRAGMENT] SECTION [light|dark]
import { chromium } from "playwright-core";
import { CHROMIUM, LAUNCH_ARGS, settled } from "../e2e/browser.js";
import { pathToFileURL } from "node:url";

const [file, report, section, colorScheme = "light"] = process.argv.slice(2);
if (!file || !report || !section) {
  console.error("usage: node build/gallery.js FILE.png REPORT.html[#FRAGMENT] SECTION [light|dark]");
  process.exit(2);
}
const [path = "", fragment = ""] = report.split("#");
const browser = await chromium.launch({ executablePath: CHROMIUM, args: LAUNCH_ARGS });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: colorScheme === "dark" ? "dark" : "light" });
await page.goto(`${pathToFileURL(path).href}#${fragment}`);
await settled(page);
await page.locator(section).first().screenshot({ path: file });
await browser.close();
