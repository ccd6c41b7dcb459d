/** Every round as it was measured, in true order. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { roundsChart, type RoundDot, type RoundStrip } from "../charts/rounds";
import { rate, span } from "../format";
import { Chart } from "../parts/Chart";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import { lookOf, samplesOf, titleOf, type Report } from "../select";
import type { Theme } from "../theme";
import type { CellVerdict, Sample } from "../types";
import { ruleInWords } from "./Trust";

export function RoundsSection({ report, cell }: { report: Report; cell: CellVerdict }): JSX.Element {
  const strips = useMemo(() => stripsOf(report, cell), [report, cell]);
  const draw = useMemo(() => {
    const starts = roundStarts(report);
    return (theme: Theme, width: number) => roundsChart({ strips, starts, end: report.page.run.elapsed_ns }, theme, width);
  }, [report, strips]);
  const where = `${cell.workload} at ${cell.connections} connections`;
  const rows = strips.flatMap((strip) => strip.dots.map((dot) => ({ ...dot, name: strip.name }))).sort((a, b) => a.offsetNs - b.offsetNs);
  return (
    <Section
      id="rounds"
      title="Raw rounds"
      question={`Was anything drifting or disturbed? Each window's distance from its contender's own median, in true order, ${where}. Hollow: void, or withheld. Cross: died.`}
    >
      <Chart
        label={`Deviation of every measured window from its contender's median, in order of time, ${where}.`}
        draw={draw}
        twin={<Table caption={`Every round in true order, ${where}`} columns={columns(report)} rows={rows} />}
      />
    </Section>
  );
}

function stripsOf(report: Report, cell: CellVerdict): RoundStrip[] {
  return cell.standings.map(({ contender, withheld }) => {
    const samples = samplesOf(report.page, cell).filter((sample) => sample.contender === contender);
    const measured = samples.map((sample): RoundDot => ({
      offsetNs: sample.offset_ns,
      round: sample.round,
      perSecond: sample.per_second,
      why: objection(sample, withheld ?? null),
    }));
    const died = report.page.failures.filter(
      (failure) => failure.contender === contender && failure.missing.some((m) => m.workload === cell.workload && m.connections === cell.connections),
    );
    const crosses = died.map((failure): RoundDot => ({ offsetNs: failure.offset_ns, round: failure.round, perSecond: null, why: failure.why.reason }));
    const dots = [...measured, ...crosses].sort((a, b) => a.offsetNs - b.offsetNs);
    return { name: contender, title: titleOf(report, contender), look: lookOf(report, contender), dots };
  });
}

/** What speaks against a window; empty for a sound one. */
function objection(sample: Sample, withheld: string | null): string {
  const reasons = sample.void.length > 0 ? [`void: ${sample.void.map(ruleInWords).join(", ")}`] : [];
  if (withheld !== null) reasons.push("withheld");
  else if (!sample.counts) reasons.push("does not count");
  return reasons.join("; ");
}

/** The earliest sign of each round, of any cell. */
function roundStarts(report: Report): number[] {
  const starts = new Map<number, number>();
  for (const { round, offset_ns } of [...report.page.samples, ...report.page.failures]) {
    starts.set(round, Math.min(starts.get(round) ?? Infinity, offset_ns));
  }
  return [...starts.values()].sort((a, b) => a - b);
}

function columns(report: Report): Column<RoundDot & { name: string }>[] {
  return [
    { head: "contender", text: true, cell: (dot) => <Name report={report} name={dot.name} />, sort: (dot) => titleOf(report, dot.name) },
    { head: "round", cell: (dot) => dot.round + 1, sort: (dot) => dot.round },
    { head: "at", cell: (dot) => span(dot.offsetNs), sort: (dot) => dot.offsetNs },
    { head: "req/s", cell: (dot) => (dot.perSecond === null ? "–" : rate(dot.perSecond)), sort: (dot) => dot.perSecond },
    { head: "objection", text: true, cell: (dot) => dot.why, sort: (dot) => dot.why || null },
  ];
}
