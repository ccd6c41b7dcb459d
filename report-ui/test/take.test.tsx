import { expect, test } from "vitest";
import { csvOf, fileOf, markdownOf, textsOf } from "../src/take";

function table(html: string): HTMLTableElement {
  const place = document.createElement("div");
  place.innerHTML = `<table>${html}</table>`;
  return place.querySelector("table") as HTMLTableElement;
}

test("a table is taken as it is seen, without its buttons for pinning", () => {
  const of = table('<tr><th><button>req/s</button></th><th>tier</th></tr><tr><th><button class="pin">☆</button><button>nginx</button><small> c</small></th><td>1 <small>a</small></td></tr>');
  expect(textsOf(of)).toEqual([["req/s", "tier"], ["nginx c", "1 a"]]);
});

test("Markdown keeps what others wrote as text, and each row as long as its head", () => {
  expect(markdownOf([["name", "rate"], ["a|b", "1"], ["<script>*"]])).toBe("| name | rate |\n|---|---:|\n| a\\|b | 1 |\n| &lt;script&gt;\\* |  |\n");
});

test("no field of CSV is a formula, and each stays one field", () => {
  expect(csvOf([["a,b", '"'], ["=1+1", "−3.2 %"]])).toBe('"a,b",""""\r\n\'=1+1,−3.2 %\r\n');
});

test("a saved figure needs nothing of the page", () => {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.innerHTML = '<rect fill="var(--series-1)"/>';
  const file = fileOf(drawing, (variable) => (variable === "--series-1" ? "#2a6fc4" : "#ffffff"));
  expect(file).toContain('fill="#2a6fc4"');
  expect(file).not.toContain("var(");
  expect(file.match(/xmlns=/g)).toHaveLength(1);
});
