// Copies the built page to where the crate includes it; with --check, only says whether the committed copy is fresh.
import { readFile, writeFile } from "node:fs/promises";

const LIMIT_BYTES = 450_000;
const built = await readFile(new URL("../dist/index.html", import.meta.url));
const target = new URL("../../crates/report/assets/report.html", import.meta.url);

if (built.length > LIMIT_BYTES) {
  console.error(`the page has ${built.length} bytes before data; the limit is ${LIMIT_BYTES}`);
  process.exit(1);
}
if (!process.argv.includes("--check")) {
  await writeFile(target, built);
  console.log(`crates/report/assets/report.html: ${built.length} bytes`);
} else if (!built.equals(await readFile(target))) {
  console.error("crates/report/assets/report.html is stale: run `npm run build` in report-ui/ and commit it");
  process.exit(1);
}
