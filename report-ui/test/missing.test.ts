import { expect, test } from "vitest";
import { missing } from "../src/sections/NotRun";
import type { Head, NotRun } from "../src/types";

const why = (reason: string): NotRun => ({ stage: "load", reason });
const failure = (contender: string, round: number, reason: string): Head["failures"][number] => ({ contender, round, offset_ns: 0, missing: [], why: why(reason) });

test("failures for the same reason are told once, with their rounds, and not again as given up", () => {
  const contenders = [{ name: "absent", not_run: why("no java") }, { name: "a", not_run: why("signal 11") }, { name: "b" }] as Head["contenders"];
  const failures = [failure("a", 1, "signal 11"), failure("b", 2, "hung"), failure("a", 3, "signal 11")];
  expect(missing({ contenders, failures }).map(({ name, when }) => name + when)).toEqual(["absent", "a, rounds 2, 4", "b, round 3"]);
});
