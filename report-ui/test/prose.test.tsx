import { render } from "preact";
import { expect, test } from "vitest";
import { Prose } from "../src/parts/Prose";

const drawn = (words: string): string => {
  const place = document.createElement("p");
  render(<Prose words={words} />, place);
  return place.innerHTML;
};

test("sentences set off commands, and keep figures beside their units", () => {
  expect(drawn("It took 3 ms; `assay doctor` shows by what, `assay why` where")).toBe("It took 3&nbsp;ms; <code>assay doctor</code> shows by what, <code>assay why</code> where");
  expect(drawn("a name with ` in it")).toBe("a name with ` in it");
  expect(drawn("`<b>`")).toBe("<code>&lt;b&gt;</code>");
});
