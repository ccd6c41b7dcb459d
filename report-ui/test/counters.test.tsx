import { render } from "preact";
import { expect, test } from "vitest";
import type { Source } from "../src/data";
import { CountersTable } from "../src/sections/counters";
import { reportOf } from "../src/select";
import { parseView } from "../src/state";
import type { EndCounters, Head, Spot, StackCounters, StackCounts, ToldCounts } from "../src/types";

const QUIET: StackCounts = { wire: "ring", lossless: true, received_frames: 0, sent_frames: 0, retransmitted_segments: 0, retransmission_timeouts: 0, tail_loss_probes: 0, loss_recoveries: 0, wire_full: 0, dropped_frames: 0, system_calls: 0, dropped_requests: 0, forgotten_handshakes: 0, memory_shortages: 0, memory_resets: 0 };
const told = (answers: number, counts: Partial<StackCounts>): ToldCounts => ({ answers, counts: { ...QUIET, ...counts } });
const end = (system_calls: number | null, kernel_system_calls: number | null, stack: ToldCounts | null): EndCounters => ({ system_calls, kernel_system_calls, stack });
const row = (contender: string, server: EndCounters, generator: EndCounters): StackCounters => ({ contender, workload: "hello", connections: 64, network: "user/xdp", server, generator });
const spot: Spot = { workload: "hello", connections: 64, pipeline: 1, network: "kernel/veth", protocol: "h1" };

/** The table as texts, its heads first, and what is said above it. */
function shown(stack_counters: StackCounters[]): { key: string; texts: string[][]; isOpen: boolean } {
  const contenders = stack_counters.map(({ contender }) => ({ name: contender, title: contender, language: "c", kind: "server" }));
  const head = { contenders, leaders: [], stack_counters } as unknown as Head;
  const report = reportOf({ heads: [head] } as unknown as Source, parseView("", [head]), () => undefined);
  const place = document.createElement("div");
  render(<CountersTable report={report} spot={spot} place="hello at 64 connections" />, place);
  const texts = [...place.querySelectorAll("tr")].map((line) => [...line.children].map((cell) => cell.textContent ?? ""));
  return { key: place.querySelector(".key")?.textContent ?? "", texts, isOpen: place.querySelector("details")?.open ?? false };
}

test("each end has a row: calls and frames per answer, the rest as totals", () => {
  const server = end(0.5, 2, told(1000, { received_frames: 1500, sent_frames: 1000, system_calls: 20, retransmitted_segments: 7, retransmission_timeouts: 1, tail_loss_probes: 4 }));
  const generator = end(0.0004, 3, told(1000, { received_frames: 990, sent_frames: 1500, system_calls: 30, loss_recoveries: 5, wire_full: 2000, dropped_frames: 6 }));
  const { key, texts } = shown([row("nginx", server, generator)]);
  expect(texts).toEqual([
    ["contender, end", "network", "calls", "calls, kernel", "for the wire", "frames in", "frames out", "sent again", "timers", "probes", "losses", "wire full", "dropped"],
    ["nginx server", "user/xdp", "0.50", "2.0", "0.020", "1.5", "1.0", "7", "1", "4", "0", "0", "0"],
    ["nginx generator", "user/xdp", "< 0.001", "3.0", "0.030", "0.99", "1.5", "0", "0", "0", "5", "2,000", "6"],
  ]);
  expect(key).not.toContain("No stack tells");
});

test("a server that tells nothing is said to, and has no zeros", () => {
  const { texts } = shown([row("theirs", end(null, 2, null), end(0.1, 2, told(10, { sent_frames: 10, wire_full: 3 })))]);
  expect(texts[1]).toEqual(["theirs server", "user/xdp", "not told", "2.0", "not told", "not told", "not told", "not told"]);
  expect(texts[2]).toEqual(["theirs generator", "user/xdp", "0.10", "2.0", "0", "0", "1.0", "3"]);
});

test("what nobody counted has no column and is told in words", () => {
  const quiet = told(10, { received_frames: 10, sent_frames: 10, wire_full: 1 });
  const { key, texts } = shown([row("nginx", end(null, null, quiet), end(null, null, quiet))]);
  expect(texts[0]).toEqual(["contender, end", "network", "for the wire", "frames in", "frames out", "wire full"]);
  expect(key).toContain("No stack tells of any segments sent again, retransmission timers that ran out, tail-loss probes, losses that acknowledgements told of or frames dropped for want of room.");
});

test("many rows wait until somebody asks for them, and another place has none", () => {
  const many = Array.from({ length: 13 }, (_, i) => row(`c${i}`, end(1, 1, null), end(1, 1, null)));
  expect(shown(many)).toMatchObject({ isOpen: false, texts: [] });
  expect(shown(many.slice(1)).texts).toHaveLength(1 + 24);
  expect(shown([{ ...row("nginx", end(1, 1, null), end(1, 1, null)), connections: 8 }]).texts).toEqual([]);
});
