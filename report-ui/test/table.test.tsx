import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { sortRows, Table } from "../src/parts/Table";

const columns = [
  { head: "name", text: true, cell: (row: Row) => row.name, sort: (row: Row) => row.name },
  { head: "rate", cell: (row: Row) => row.rate ?? "–", sort: (row: Row) => row.rate },
];
const rows: Row[] = [{ name: "b", rate: 2 }, { name: "a", rate: null }, { name: "c", rate: 10 }];

interface Row {
  name: string;
  rate: number | null;
}

test("rows without a value come last either way", () => {
  const names = (descending: boolean): string => sortRows(rows, (row) => row.rate, descending).map((row) => row.name).join("");
  expect(names(false)).toBe("bca");
  expect(names(true)).toBe("cba");
});

test("a head pressed sorts up, then down, then not at all, and says so", () => {
  const place = document.createElement("div");
  render(<Table caption="t" columns={columns} rows={rows} across={(row) => (row.rate === null ? "withheld" : null)} />, place);
  const head = (): Element => place.querySelectorAll("thead th")[1] as Element;
  const seen = (): string => [...place.querySelectorAll("tbody th")].map((cell) => cell.textContent).join("");
  const press = (): void => act(() => head().querySelector("button")?.click()) as unknown as void;
  expect([seen(), head().getAttribute("aria-sort")]).toEqual(["bac", "none"]);
  press();
  expect([seen(), head().getAttribute("aria-sort")]).toEqual(["bca", "ascending"]);
  press();
  expect([seen(), head().getAttribute("aria-sort")]).toEqual(["cba", "descending"]);
  press();
  expect([seen(), head().getAttribute("aria-sort")]).toEqual(["bac", "none"]);
  expect(place.querySelector(".across")?.textContent).toBe("withheld");
});
