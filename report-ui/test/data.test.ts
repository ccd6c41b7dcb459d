// @vitest-environment node
import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { unpack } from "../src/data";

const pack = (value: unknown): string => JSON.stringify({ deflate: deflateSync(JSON.stringify(value)).toString("base64") });

test("data come back as they went in, beyond ASCII too", async () => {
  const page = { schema: "assay-page/1", title: "日本語 </script> µs" };
  expect(await unpack(pack(page))).toEqual(page);
});

test("a page without data, or with data of another format, says what to do", async () => {
  await expect(unpack("")).rejects.toThrow("assay report");
  await expect(unpack(pack({ schema: "assay-page/99" }))).rejects.toThrow("assay-page/99");
});
