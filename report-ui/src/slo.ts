/** Objectives as the record writes them: `redline:p99<10ms`. */

/** The percentiles that are told at given rates. */
export const PERCENTILES: Readonly<Record<string, number>> = { p50: 0.5, p90: 0.9, p99: 0.99, "p99.9": 0.999 };

const UNITS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

export interface Objective {
  /** `p99`, `max`. */
  percentile: string;
  longest_ns: number;
  /** `p99 < 10 ms`. */
  words: string;
}

/** The objective of a load; absent where it has none, or none that sets a time. */
export function objectiveOf(offered: string): Objective | undefined {
  const [, percentile, number, unit] = /^redline:([^<]+)<([\d.]+)(ns|us|ms|s)$/.exec(offered) ?? [];
  if (percentile === undefined || number === undefined || unit === undefined) return undefined;
  return { percentile, longest_ns: Number(number) * (UNITS[unit] ?? 1), words: `${percentile} < ${number} ${unit.replace("us", "µs")}` };
}
