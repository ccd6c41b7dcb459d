import { describe, expect, test } from "vitest";
import { crossingChart, type CrossingPoint } from "../src/charts/crossing";
import type { Line } from "../src/charts/lines";
import { crossingInWords, memberOf } from "../src/sections/Crossing";
import { fasterIn, rowsAt } from "../src/sections/Stacks";
import type { Crossing, Spot, StackRow } from "../src/types";
import { theme } from "./fixtures";

const interval = (estimate: number): { estimate: number; low: number; high: number; confidence: number } => ({ estimate, low: estimate * 0.97, high: estimate * 1.03, confidence: 0.95 });
const row = (contender: string, workload: string, connections: number, ratio: number | null, number: number | null = null): StackRow =>
  ({ contender, workload, connections, network: "user/xdp", family: number === null ? workload : "body", number, ratio: ratio === null ? null : interval(ratio) }) as StackRow;
const spot = (workload: string, connections: number, network: string): Spot => ({ workload, connections, pipeline: 1, network, protocol: "h1" });

test("rows are those of the place, whichever of its networks is looked at, the greatest ratio first", () => {
  const rows = [row("withheld", "hello", 64, null), row("slow", "hello", 64, 1.2), row("fast", "hello", 64, 2.5), row("fast", "hello", 16, 9)];
  for (const network of ["kernel/veth", "user/ring"]) {
    expect(rowsAt(rows, spot("hello", 64, network)).map(({ contender }) => contender)).toEqual(["fast", "slow", "withheld"]);
  }
});

test("a network is called faster only where it was shown to be", () => {
  const [user, kernel] = ["user/xdp", "kernel/veth"];
  const told = (call: StackRow["call"], ratio: number | null): string => fasterIn({ call, ratio: ratio === null ? null : interval(ratio) }, user, kernel);
  expect([told("distinct", 2), told("distinct", 0.5), told("tie", 2), told("equivalent", 1), told(null, 2), told(null, null)]).toEqual([user, kernel, "not shown to differ", "equal", "one round", "–"]);
});

test("the family that is drawn is that of the place, over as many connections if there are", () => {
  const rows = [row("a", "hello", 64, 2), row("a", "body-13", 8, 2, 13), row("a", "body-13", 64, 2, 13), row("a", "body-99", 64, 1, 99)];
  expect(memberOf(rows, spot("hello", 64, "user/xdp"))).toMatchObject({ family: "body", connections: 64 });
  expect(memberOf(rows, spot("hello", 16, "user/xdp"))).toMatchObject({ family: "body", connections: 8 });
  expect(memberOf(rows.slice(0, 3), spot("hello", 64, "user/xdp"))).toBeUndefined();
});

describe("a crossing", () => {
  const crossing = { user: "user/xdp", kernel: "kernel/veth", user_is_faster_below: true, after: 1024, before: 65536, estimate: 7203.4, parameter: "bytes" } as Crossing;

  test("names both networks, each with the sizes at which it is faster", () => {
    expect(crossingInWords(crossing)).toBe("user/xdp is faster up to 1,024 bytes, kernel/veth from 65,536; equal at about 7,200.");
    expect(crossingInWords({ ...crossing, user_is_faster_below: false, estimate: null })).toBe("kernel/veth is faster up to 1,024 bytes, user/xdp from 65,536.");
  });

  test("is where the line passes 1, half and twice equally far from it", () => {
    const look = { color: "#100000", symbol: "circle", dash: "none", muted: false };
    const points: CrossingPoint[] = [{ number: 16, ratio: interval(2) }, { number: 128, ratio: interval(1) }, { number: 1024, ratio: interval(0.5) }];
    const line: Line<CrossingPoint> = { name: "a", title: "A", look, points };
    const chart = crossingChart({ lines: [line], label: "bytes" }, theme, 900);
    const texts = [...chart.querySelectorAll("text")].map((text) => text.firstChild?.textContent);
    expect(texts).toEqual(expect.arrayContaining(["16", "128", "1024", "bytes", "0.5×", "1×", "2×", "A"]));
    const dots = [...chart.querySelectorAll('g[aria-label="dot"] [transform]')].map((dot) => /translate\(([\d.]+),([\d.]+)\)/.exec(dot.getAttribute("transform") ?? "")?.slice(1).map(Number) ?? []);
    const [above, middle, below] = dots.map(([, y]) => y ?? 0) as [number, number, number];
    expect(dots).toHaveLength(3);
    expect(middle - above).toBeCloseTo(below - middle, 1);
  });
});
