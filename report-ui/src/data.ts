/** The data that travel inside the page. */
import type { Page } from "./types";

const SCHEMA = "assay-page/1";

/** Unpacks the page's data: JSON `{"deflate": base64 of zlib}`, as crates/report/src/html.rs writes it. */
export async function unpack(text: string): Promise<Page> {
  if (text.trim() === "") throw new Error("This page holds no data. Make a report with `assay report RUN -o report.html`.");
  const { deflate } = JSON.parse(text) as { deflate: string };
  const bytes = Uint8Array.from(atob(deflate), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const page = JSON.parse(await new Response(stream).text()) as Page;
  if (page.schema !== SCHEMA) throw new Error(`This page reads ${SCHEMA}, but its data are ${page.schema}. Make the report again.`);
  return page;
}
