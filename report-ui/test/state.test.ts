import { expect, test } from "vitest";
import { fragmentOf, parseView, withWorkload } from "../src/state";

const cells = [
  { workload: "hello", connections: [16, 64, 256] },
  { workload: "json", connections: [64] },
];

test("a fragment shows the same to whoever follows it", () => {
  const view = { workload: "json", connections: 64 };
  expect(parseView(fragmentOf(view), cells)).toEqual(view);
});

test("anything else falls back to the first workload's middle level", () => {
  for (const fragment of ["", "#", "#standings", "#workload=none&connections=x", "#connections=7"]) {
    expect(parseView(fragment, cells)).toEqual({ workload: "hello", connections: 64 });
  }
  expect(parseView("", [])).toEqual({ workload: "", connections: 0 });
});

test("another workload keeps the number of connections where it can", () => {
  expect(withWorkload({ workload: "hello", connections: 64 }, "json", cells).connections).toBe(64);
  expect(withWorkload({ workload: "hello", connections: 256 }, "json", cells).connections).toBe(64);
});
