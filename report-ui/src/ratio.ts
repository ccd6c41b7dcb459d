/** How two contenders compare, by the pairs that the verdict has. */
import type { Cell } from "./select";
import type { Call, Interval } from "./types";

export interface Ratio {
  /** Throughput of the one over that of the other; simultaneous over all pairs of the cell. */
  ratio: Interval;
  call: Call;
}

const CONFIDENCE = 0.95;
const keyOf = (faster: string, slower: string): string => JSON.stringify([faster, slower]);

/** All pairs of a cell, by the names of the faster and the slower. */
export function pairsOf({ pairs, all }: Pick<Cell, "pairs" | "all">): Map<string, Ratio> {
  const name = (index: number | undefined): string => all[index ?? -1]?.contender ?? "";
  return new Map(
    pairs.call.map((call, i) => {
      const ratio = { estimate: pairs.estimate[i] ?? NaN, low: pairs.low[i] ?? NaN, high: pairs.high[i] ?? NaN, confidence: CONFIDENCE };
      return [keyOf(name(pairs.faster[i]), name(pairs.slower[i])), { ratio, call }];
    }),
  );
}

/** Throughput of `one` over that of `other`; absent where the verdict does not compare them. */
export function ratioOf(pairs: ReadonlyMap<string, Ratio>, one: string, other: string): Ratio | undefined {
  const direct = pairs.get(keyOf(one, other));
  const turned = pairs.get(keyOf(other, one));
  return direct ?? (turned && { call: turned.call, ratio: inverse(turned.ratio) });
}

export function inverse({ estimate, low, high, confidence }: Interval): Interval {
  return { estimate: 1 / estimate, low: 1 / high, high: 1 / low, confidence };
}
