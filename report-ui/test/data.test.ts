// @vitest-environment node
import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { open } from "../src/data";

const pack = (value: unknown): string => deflateSync(JSON.stringify(value)).toString("base64");
const page = (schema: string): string => JSON.stringify({ schema, runs: [{ head: pack({ margin: 0.01 }), findings: [pack({ standings: [{ contender: "日本語 </script> µs" }] })] }] });

test("data come back as they went in, beyond ASCII too, and each place once", () => {
  const source = open(page("assay-page/2"));
  expect(source.heads).toEqual([{ margin: 0.01 }]);
  const found = source.findings(0, 0);
  expect(found.standings[0]?.contender).toBe("日本語 </script> µs");
  expect(source.findings(0, 0)).toBe(found);
  expect(source.findings(0, 7).standings).toEqual([]);
});

test("a page without data, or with data of another format, says what to do", () => {
  expect(() => open("")).toThrow("assay report");
  expect(() => open(page("assay-page/99"))).toThrow("assay-page/99");
});
