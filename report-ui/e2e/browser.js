// The browser that opens the pages: Debian's own, told to stay off the network.
export const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

export const LAUNCH_ARGS = [
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Chromium refuses its sandbox to root; the only pages opened are our own files.
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
];

/**
 * Waits until all that a page will show is there: its sections are put in one after the other (the last one of a report says
 * how to repeat it; an index of runs has no script), and what they show is unpacked and drawn when there is time.
 * @param {import("playwright-core").Page} page
 */
export const settled = (page) =>
  page.waitForFunction(() => (document.querySelector("#repeat") ?? !document.querySelector("script")) && !document.querySelector(".waiting, .undrawn"));
