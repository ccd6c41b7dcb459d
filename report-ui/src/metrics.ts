/** What the standings can stand for. */
import { bytes, duration, durationInterval, energy, energyInterval, exactly, rateInterval, tick, rate, type Estimate } from "./format";
import type { Interval, Standing } from "./types";

export interface Metric {
  id: string;
  title: string;
  /** What it is, in a clause that follows "How". */
  question: string;
  value: (standing: Standing) => Interval | null;
  estimate: (value: Interval) => Estimate;
  axis: (value: number) => string;
  /** Whether little is good. */
  less: boolean;
}

/** What is known, without an interval. */
const known = (value: number | null | undefined): Interval | null => (value === null || value === undefined ? null : exactly(value));

const plain = (format: (value: number) => string) => ({ estimate }: Interval): Estimate => ({ estimate: format(estimate), interval: "–" });

export const THROUGHPUT: Metric = {
  id: "throughput",
  title: "throughput",
  question: "How fast is each, and how sure is that? Validated answers per second",
  value: (s) => s.throughput_per_second,
  estimate: rateInterval,
  axis: (value) => tick(rate(value)),
  less: false,
};

const time = (id: string, title: string, question: string, value: Metric["value"]): Metric => ({
  id,
  title,
  question,
  value,
  estimate: (of) => (of.confidence > 0 ? durationInterval(of) : plain(duration)(of)),
  axis: (ns) => (ns === 0 ? "0" : tick(duration(ns))),
  less: true,
});

const memory: Metric = {
  id: "memory",
  title: "memory",
  question: "How much memory does each need? Proportional share (PSS) when a window is over, resident size where that cannot be read, median of the rounds",
  value: (s) => known(s.memory_bytes),
  estimate: plain(bytes),
  axis: (size) => (size === 0 ? "0" : tick(bytes(size))),
  less: true,
};

const joules: Metric = {
  id: "energy",
  title: "energy/req",
  question: "How much energy does the machine take for an answer, what it takes idle included? Mean over rounds",
  value: (s) => s.energy?.whole_uj ?? null,
  estimate: (of) => (of.confidence > 0 ? energyInterval(of) : plain(energy)(of)),
  axis: (uj) => (uj === 0 ? "0" : tick(energy(uj))),
  less: true,
};

export const METRICS: readonly Metric[] = [
  THROUGHPUT,
  time("p50", "p50", "How long does the median request take once sent? Service time, all connections busy", (s) => s.p50_ns),
  time("p99", "p99", "How long does one request in a hundred take at least? Service time, all connections busy", (s) => s.p99_ns),
  time("cpu", "cpu/req", "How much processor time does a request cost the server? Median over rounds", (s) => known(s.cpu_per_request_ns)),
  joules,
  memory,
  time("start-up", "start-up", "How long from start to the first right answer? Median over rounds", (s) => known(s.startup_ns)),
];

export const metricOf = (id: string): Metric => METRICS.find((metric) => metric.id === id) ?? THROUGHPUT;

/** Who may be shown: withheld numbers stay withheld, whatever they stand for. */
export const valueOf = (metric: Metric, standing: Standing): Interval | null => (standing.withheld ? null : metric.value(standing));

/** Standings by a metric, the best first; those without a value last, in their order. */
export function ranked(metric: Metric, standings: readonly Standing[]): Standing[] {
  if (metric === THROUGHPUT) return [...standings];
  const key = (standing: Standing): number => valueOf(metric, standing)?.estimate ?? Infinity;
  return [...standings].sort((a, b) => key(a) - key(b) || 0);
}
