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
