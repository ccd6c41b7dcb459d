import { expect, test } from "vitest";
import { missing } from "../src/sections/NotRun";
import type { Head, NotRun } from "../src/types";

const why = (reason: string): NotRun => ({ stage: "load", reason });
const failure = (contender: string, round: number, reason: string, network: string | null = null): Head["failures"][number] => ({ contender, round, network, protocol: "h1", offset_ns: 0, missing: [], why: why(reason) });

test("failures for the same reason are told once, with their rounds, and not again as given up", () => {
  const contenders = [{ name: "absent", not_run: why("no java") }, { name: "a", not_run: why("signal 11") }, { name: "b" }] as Head["contenders"];
  const failures = [failure("a", 1, "signal 11"), failure("b", 2, "hung"), failure("a", 3, "signal 11")];
  expect(missing({ spots: [], run: { networks: [] }, contenders, failures }).map(({ name, when }) => name + when)).toEqual(["absent", "a, rounds 2, 4", "b, round 3"]);
});

test("who is missing on some of several networks is told with stack and wire, and so is a network that could not be had", () => {
  const spots = ["kernel/veth", "user/xdp", "user/ring"].map((network) => ({ workload: "hello", connections: 8, pipeline: 1, network, protocol: "h1" as const }));
  const on = (network: string, reason: string): NotRun & { network: string } => ({ ...why(reason), network });
  const contenders = [{ name: "a", not_run_on: [on("user/xdp", "static"), on("user/ring", "static"), on("kernel/veth", "hung")] }] as Head["contenders"];
  const run = { networks: [{ network: "kernel/veth:1gbit", not_run: why("no right") }, { network: "user/xdp" }] };
  const failures = [failure("a", 0, "hung", "kernel/veth"), failure("a", 1, "hung", "user/xdp")];
  expect(missing({ spots, run, contenders, failures }).map(({ name, when }) => name + when)).toEqual([
    "kernel/veth:1gbit",
    "a on user/xdp, user/ring",
    "a on kernel/veth, round 1",
    "a on user/xdp, round 2",
  ]);
});
