/** The windows of each contender at capacity: what the sections on the course of the run and on raw rounds share. */
import type { RoundDot, RoundStrip } from "../charts/over-time";
import { lookOf, type Cell, type Report } from "../select";
import { isSamePlace } from "../state";
import type { Sample } from "../types";
import { ruleInWords } from "../words";
import { CAPACITY } from "./Curves";

/** What the standings take out of a round, its figures here still have. */
export const AS_MEASURED = "As measured, before the machine's speed is taken out.";

/** The windows at capacity of each contender, with those that it did not live to see. */
export function stripsOf(report: Report, cell: Cell): RoundStrip[] {
  const { spot } = cell;
  return cell.standings.map(({ contender, withheld, rounds_per_second }) => {
    const samples = cell.samples.filter((sample) => sample.contender === contender && sample.offered === CAPACITY);
    const measured = samples.map((sample): RoundDot => ({
      offsetNs: sample.offset_ns,
      round: sample.round,
      perSecond: sample.per_second,
      usualPerSecond: sample.counts && !withheld ? (rounds_per_second[sample.round] ?? null) : null,
      why: objection(sample, withheld ?? null),
    }));
    const died = report.head.failures.filter((failure) => failure.contender === contender && failure.missing.some((missed) => isSamePlace(missed, spot)));
    const crosses = died.map((failure): RoundDot => ({ offsetNs: failure.offset_ns, round: failure.round, perSecond: null, usualPerSecond: null, why: failure.why.reason }));
    const dots = [...measured, ...crosses].sort((a, b) => a.offsetNs - b.offsetNs);
    return { name: contender, title: contender, look: lookOf(report, contender), dots };
  });
}

/** What speaks against a window; empty for a sound one. */
function objection(sample: Sample, withheld: string | null): string {
  const reasons = sample.void.length > 0 ? [`void: ${sample.void.map(ruleInWords).join(", ")}`] : [];
  if (withheld !== null) reasons.push("withheld");
  else if (!sample.counts) reasons.push("does not count");
  return reasons.join("; ");
}
