/** Throughput over the whole run, rounds in true order. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { overTimeChart, type RoundDot, type RoundStrip } from "../charts/over-time";
import { Chart } from "../parts/Chart";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import { focused, lookOf, type Cell, type Report } from "../select";
import { isSamePlace } from "../state";
import type { Theme } from "../theme";
import type { Sample } from "../types";
import { CAPACITY } from "./Curves";
import { roundsTable } from "./Rounds";
import { ruleInWords } from "./Trust";

/** Of more contenders than this only those in focus. */
const MOST_STRIPS = 16;

/** What the standings take out of a round, its figures here still have. */
export const AS_MEASURED = "As measured, before the machine's speed is taken out.";

export function OverTimeSection({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  const all = useMemo(() => stripsOf(report, cell), [report, cell]);
  const strips = useMemo(() => focused(report, all, (strip) => strip.name, MOST_STRIPS), [report, all]);
  const draw = useMemo(() => {
    const { round_offsets_ns: starts, run } = report.head;
    return (theme: Theme, width: number) => overTimeChart({ strips, starts, end: run.elapsed_ns }, theme, width);
  }, [report, strips]);
  return (
    <Section
      id="over-time"
      title="Over time"
      question={`Was anything drifting or disturbed? Each window's distance from its contender's own median, in true order, ${cell.where}. ${AS_MEASURED} Hollow: void, or withheld. Cross: died.`}
    >
      <Drawn report={report} names={all.map(({ name }) => name)} most={MOST_STRIPS} />
      <Chart
        label={`Deviation of every measured window from its contender's median, in order of time, ${cell.where}.`}
        draw={draw}
        twin={roundsTable(report, strips, `Every window in true order, ${cell.where}`)}
      />
    </Section>
  );
}

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
export function objection(sample: Sample, withheld: string | null): string {
  const reasons = sample.void.length > 0 ? [`void: ${sample.void.map(ruleInWords).join(", ")}`] : [];
  if (withheld !== null) reasons.push("withheld");
  else if (!sample.counts) reasons.push("does not count");
  return reasons.join("; ");
}
