import { describe, expect, test } from "vitest";
import { metricOf, METRICS, ranked, valueOf } from "../src/metrics";
import { inverse, pairsOf, ratioOf } from "../src/ratio";
import { drawnOf, focus, reportOf } from "../src/select";
import type { Source } from "../src/data";
import { familiesOf } from "../src/sections/Family";
import { shareWithin } from "../src/sections/Shares";
import { passedOf, placesInWords } from "../src/sections/Trust";
import { objectiveOf } from "../src/slo";
import { parseView } from "../src/state";
import type { Head, Standing, Warning } from "../src/types";

const standing = (contender: string, p99: number | null, withheld: string | null = null): Standing =>
  ({ contender, withheld, p99_ns: p99 === null ? null : { estimate: p99, low: p99, high: p99, confidence: 0.9 } }) as Standing;

describe("metrics", () => {
  test("a withheld number is shown by none of them", () => {
    for (const metric of METRICS) expect(valueOf(metric, standing("a", 5, "saturated"))).toBeNull();
  });

  test("the least time stands first, and those without one last", () => {
    const order = ranked(metricOf("p99"), [standing("slow", 9), standing("none", null), standing("fast", 1)]);
    expect(order.map(({ contender }) => contender)).toEqual(["fast", "slow", "none"]);
  });
});

describe("pairs", () => {
  const all = [standing("a", 1), standing("b", 1)];
  const pairs = pairsOf({ all, pairs: { faster: [0], slower: [1], estimate: [1.25], low: [1.2], high: [1.3], call: ["distinct"] } });

  test("are found from either side", () => {
    expect(ratioOf(pairs, "a", "b")?.ratio.estimate).toBe(1.25);
    expect(ratioOf(pairs, "b", "a")?.ratio.estimate).toBe(0.8);
    expect(ratioOf(pairs, "a", "c")).toBeUndefined();
  });

  test("turned round, the ends of the interval change places", () => {
    expect(inverse({ estimate: 2, low: 1, high: 4, confidence: 0.95 })).toEqual({ estimate: 0.5, low: 0.25, high: 1, confidence: 0.95 });
  });
});

test("colours go to the pinned, else to everybody, else to the fastest of those shown", () => {
  const many = Array.from({ length: 20 }, (_, i) => `c${i}`);
  expect(focus(["c9"], many, [])).toEqual(["c9"]);
  expect(focus([], ["a", "b"], ["b"])).toEqual(["a", "b"]);
  expect(focus([], many, ["c3", "gone", "c1"])).toEqual(["c3", "c1"]);
});

test("who is left out or grey is counted, without the limit", () => {
  const names = Array.from({ length: 20 }, (_, i) => `c${i}`);
  const contenders = [{ name: "limit", kind: "limit" }, ...names.map((name) => ({ name, kind: "server" }))].map((entry) => ({ ...entry, title: entry.name, language: "" }));
  const head = { contenders, leaders: ["c3", "c1"], spots: [] } as unknown as Head;
  const report = reportOf({ heads: [head] } as unknown as Source, parseView("", [head]), () => undefined);
  expect(drawnOf(report, ["limit", ...names, "c3"])).toEqual({ shown: 2, of: 20 });
  expect(drawnOf(report, ["limit", ...names], 24)).toBeNull();
  expect(drawnOf(report, ["limit", "c3", "c1"])).toBeNull();
});

test("the places of a warning are told once each", () => {
  const networks = ["kernel/loopback", "user/ring"];
  const spots = networks.map((network) => ({ workload: "a", connections: 16, pipeline: 1, network, protocol: "h1" as const }));
  const head = { contenders: ["nginx", "node"].map((name) => ({ name, title: name, kind: "server", language: "" })), leaders: [], spots } as unknown as Head;
  const report = reportOf({ heads: [head] } as unknown as Source, parseView("", [head]), () => undefined);
  const place = (contender: string, workload: string, network: string): object => ({ contender, workload, connections: [16, 64], network, protocol: "h1" });
  const places = ["nginx", "node"].flatMap((name) => ["a", "b"].flatMap((workload) => networks.map((network) => place(name, workload, network))));
  const words = placesInWords(report, { places: [...places, place("node", "c", "user/ring")] } as unknown as Warning);
  expect(words).toBe("nginx: a, b at 16, 64 on kernel/loopback, user/ring; node: a, b at 16, 64 on kernel/loopback, user/ring; c at 16, 64 on user/ring");
  expect(placesInWords(report, { places } as unknown as Warning)).toBe("nginx, node: a, b at 16, 64 on kernel/loopback, user/ring");
});

test("a rule that is broken by one contender is not among those that passed", () => {
  const trust = ["books", "tcp", "steal"].map((rule) => ({ rule, outcome: rule === "steal" ? "warn" : "pass" })) as Head["trust"];
  expect(passedOf(trust, [{ rule: "steal" }, { rule: "tcp" }]).map(({ rule }) => rule)).toEqual(["books"]);
});

test("a family has several members that were measured", () => {
  const workload = (name: string, family: string | null, value: number): Head["run"]["workloads"][number] => ({ name, family: family && { name: family, parameter: "queries", value } }) as Head["run"]["workloads"][number];
  const run = { workloads: [workload("q-1", "q", 1), workload("q-5", "q", 5), workload("q-9", "q", 9), workload("json", null, 0), workload("alone-1", "alone", 1)] };
  const spots = ["q-1", "q-5", "json", "alone-1"].map((name) => ({ workload: name, connections: 64, pipeline: 1, network: null, protocol: "h1" as const }));
  const found = familiesOf({ head: { run, spots } as Head, view: parseView("", []) });
  expect(found.map(({ name, values, widths }) => [name, [...values.values()], widths])).toEqual([["q", [1, 5], ["64"]]]);
});

test("a share is that of the last bound that is not beyond the time", () => {
  const points = [{ ns: 10, share: 0 }, { ns: 100, share: 0.4 }, { ns: 1000, share: 0.9 }];
  expect([5, 100, 999, 5000].map((ns) => shareWithin(points, ns))).toEqual([0, 0.4, 0.4, 0.9]);
});

test("objectives are read as the record writes them", () => {
  expect(objectiveOf("redline:p99<10ms")).toEqual({ percentile: "p99", longest_ns: 1e7, words: "p99 < 10 ms" });
  expect(objectiveOf("redline:p99.9<1500us")?.longest_ns).toBe(1.5e6);
  for (const none of ["max", "50%", "redline:errors<0.1%"]) expect(objectiveOf(none)).toBeUndefined();
});
