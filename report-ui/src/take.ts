/** What a reader takes away: the text of a table, a figure that needs no page. Pure, but for what they are handed of the page. */

/** What a table shows, row by row, without what is there only to be pressed. */
export function textsOf(table: HTMLTableElement): string[][] {
  return [...table.rows].map((row) => [...row.cells].map(textOf));
}

function textOf(cell: HTMLTableCellElement): string {
  const copy = cell.cloneNode(true) as HTMLTableCellElement;
  copy.querySelectorAll(".pin").forEach((pin) => pin.remove());
  return (copy.textContent ?? "").replace(/\s+/g, " ").trim();
}

/** A table of GitHub-flavoured Markdown; what others wrote stays text (as report::foreign has it). */
export function markdownOf([head = [], ...rows]: readonly string[][]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(asMarkdown).join(" | ")} |\n`;
  const filled = rows.map((row) => head.map((_, i) => row[i] ?? ""));
  return line(head) + `|${head.map((_, i) => (i === 0 ? "---" : "---:")).join("|")}|\n` + filled.map(line).join("");
}

const asMarkdown = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/[|\\`*_[\]~$]/g, "\\$&");

/** Comma-separated values (RFC 4180) that no spreadsheet takes for formulas. */
export function csvOf(rows: readonly string[][]): string {
  return rows.map((row) => row.map(asField).join(",") + "\r\n").join("");
}

function asField(text: string): string {
  const safe = /^\s*[=+\-@＝＋－＠]/u.test(text) ? `'${text}` : text;
  return /[,;"]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** A drawing as a file of its own: the page's variables become their values, and its paper the ground. */
export function fileOf(drawing: SVGSVGElement, valueOf: (variable: string) => string): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  copy.removeAttribute("aria-hidden");
  copy.style.background = "var(--paper)";
  copy.style.fontFamily = "system-ui, sans-serif";
  return new XMLSerializer().serializeToString(copy).replace(/var\((--[\w-]+)\)/g, (_, variable: string) => valueOf(variable));
}

/** Hands a file over to be kept. */
export function save(file: Blob, name: string): void {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(file), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
