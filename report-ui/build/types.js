// Generates src/types.ts from page.schema.json; with --check, only says whether it is fresh.
// The schema itself: cargo run -p assay-report --example page_schema report-ui/page.schema.json
import { readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const target = new URL("../src/types.ts", import.meta.url);
const schema = JSON.parse(await readFile(new URL("../page.schema.json", import.meta.url), "utf8"));
const types = await compile(schema, "Page", {
  additionalProperties: false,
  bannerComment: "// Generated from page.schema.json by `npm run types`; do not edit.",
  style: { printWidth: 110 },
});

if (!process.argv.includes("--check")) {
  await writeFile(target, types);
} else if ((await readFile(target, "utf8").catch(() => "")) !== types) {
  console.error("src/types.ts is stale: run `npm run types` in report-ui/ and commit it");
  process.exit(1);
}
