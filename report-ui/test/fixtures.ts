/** What several tests draw with and draw. */
import { NOTHING, type Source } from "../src/data";
import { cellOf, reportOf, type Cell, type Report } from "../src/select";
import { parseView } from "../src/state";
import type { Theme } from "../src/theme";
import type { Findings, Head, Interval, Spot, Standing } from "../src/types";

/** Every role has a colour of its own. */
export const theme: Theme = {
  ink: "#000001",
  soft: "#000002",
  rule: "#000003",
  paper: "#fffff4",
  band: "#fffff5",
  caution: "#000006",
  series: ["#100000", "#200000", "#300000"],
  code: { kernel: "#010000", native: "#020000", jit: "#030000", unknown: "#040000" },
  more: "#050000",
  less: "#060000",
};

export const interval = (estimate: number, error = 0.01): Interval => ({ estimate, low: estimate * (1 - error), high: estimate * (1 + error), confidence: 0.95 });

export const spot: Spot = { workload: "hello", connections: 64, pipeline: 1, network: null, protocol: "h1" };

/** A contender of which nothing is known but what is said. */
export function standing(contender: string, more: Partial<Standing> = {}): Standing {
  const nothing = { tier: null, letters: "", throughput_per_second: null, share_of_limit: null, p50_ns: null, p99_ns: null, rounds_per_second: [], failed: 0, limited_by: "server", checks: [], price: {}, withheld: null };
  return { ...nothing, contender, ...more } as unknown as Standing;
}

/** A report on these contenders; the one of kind `limit` is the limit. */
export function reportOn(names: readonly string[], more: Partial<Record<keyof Head, unknown>> = {}, fragment = ""): Report {
  const contenders = names.map((name) => ({ name, title: name, language: "c", kind: name === "limit" ? "limit" : "server", versions: {}, command: [], tuning: [], workloads: [] }));
  const head = { contenders, leaders: [], failures: [], warnings: [], spots: [spot], by_generator: [], sample_quantiles: [], why: [], round_offsets_ns: [], run: { elapsed_ns: 1 }, ...more } as unknown as Head;
  const source = { heads: [head], findings: () => NOTHING } as unknown as Source;
  return reportOf(source, parseView(fragment, [head]), () => undefined);
}

export function cellIn(report: Report, findings: Partial<Findings>): Cell {
  return cellOf(report, spot, { ...NOTHING, ...findings });
}

/** Charts watch how wide their place is, which a document without a window cannot tell. */
export function withoutLayout(): void {
  globalThis.ResizeObserver ??= class {
    observe(): void {}
    unobserve(): void {}
    disconnect(): void {}
  };
}
