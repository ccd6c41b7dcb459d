/** How the contenders stand in one cell, as intervals against the limit and as a table; by which metric the reader says. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { standingsChart, type StandingRow, type StandingsData } from "../charts/standings";
import { capitalised, percent, ratio } from "../format";
import { METRICS, metricOf, ranked, THROUGHPUT, valueOf, type Metric } from "../metrics";
import { Chart } from "../parts/Chart";
import { Choice, Select } from "../parts/Choice";
import { Prose } from "../parts/Prose";
import { Section } from "../parts/Section";
import { Table } from "../parts/Table";
import { pairsOf, ratioOf, type Ratio } from "../ratio";
import { contendersOf, limitOf, lookOf, type Cell, type Report } from "../select";
import type { Theme } from "../theme";
import type { Standing } from "../types";
import { standingColumns, type Comparison } from "./standing-columns";

export function StandingsSection({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  const metric = metricOf(report.view.metric);
  const comparison = useMemo(() => comparisonOf(report, cell, metric), [report, cell, metric]);
  const draw = useMemo(() => {
    const data = chartData(report, cell, metric, comparison);
    return (theme: Theme, width: number) => standingsChart(data, theme, width);
  }, [report, cell, metric, comparison]);
  const notes = cell.notes.map((note) => `${capitalised(note)}.`).join(" ");
  const counts = contendersOf(report, cell).some((standing) => !standing.withheld);
  return (
    <Section id="standings" title="Standings" wide question={counts ? `${metric.question}, ${cell.where}.` : `No figure counts, ${cell.where}; the table says why.`}>
      {counts && (
        <>
          <Controls report={report} cell={cell} metric={metric} />
          <Chart label={`${metric.title} of each contender, ${cell.where}; the table below holds the figures.`} draw={draw} />
          <p class="key"><Prose words={keyOf(report, cell, metric)} /></p>
        </>
      )}
      <Table
        caption={`Standings, ${cell.where}`}
        columns={standingColumns(report, cell, comparison)}
        rows={cell.standings}
        rowClass={(standing) => (standing.contender === report.limit?.name ? "limit" : "")}
        across={(standing) => (standing.withheld ? <em>withheld: {standing.withheld}</em> : null)}
        order={report.view.sort}
        onOrder={(sort) => report.choose({ sort })}
      />
      <p class="key">
        p50 and p99 are service times, {cell.where}, all busy: a closed loop says nothing about times at a given rate. Two
        contenders that share a letter are not shown to differ. Press a name for all that is known of it.
      </p>
      {notes !== "" && <p class="key"><Prose words={notes} /></p>}
    </Section>
  );
}

function Controls({ report, cell, metric }: { report: Report; cell: Cell; metric: Metric }): JSX.Element {
  const known = METRICS.filter((one) => cell.standings.some((standing) => valueOf(one, standing)));
  const others = contendersOf(report, cell).filter((standing) => !standing.withheld);
  const none: [string, string] = ["", metric === THROUGHPUT && report.limit ? "the limit" : "nobody"];
  return (
    <div class="controls">
      <Choice legend="metric" options={known.map(({ title }) => title)} chosen={metric.title} onChoose={(title) => report.choose({ metric: idOf(title) })} />
      {others.length > 1 && <Select label="compared with" options={[none, ...others.map(({ contender }): [string, string] => [contender, contender])]} chosen={report.view.baseline} onChoose={(baseline) => report.choose({ baseline })} />}
    </div>
  );
}

/** The first metric needs no place in the fragment. */
function idOf(title: string): string {
  const metric = METRICS.find((one) => one.title === title);
  return metric === undefined || metric === THROUGHPUT ? "" : metric.id;
}

function keyOf(report: Report, cell: Cell, metric: Metric): string {
  if (metric !== THROUGHPUT) return "Dot and bar: estimate and, where rounds give one, its interval. The best stands first.";
  const limit = limitOf(report, cell) ? " Dashed line, in its grey interval: what this machine could do with these bytes." : "";
  return `Dot and bar: estimate and 95 % interval. Ticks: rounds. All are at the machine's usual speed; rounds that do not count are left out.${limit} Contenders in one tier are not shown to differ.`;
}

function chartData(report: Report, cell: Cell, metric: Metric, comparison: Comparison): StandingsData {
  const limit = metric === THROUGHPUT ? limitOf(report, cell) : undefined;
  const row = (standing: Standing): StandingRow => ({
    name: standing.contender,
    title: standing.contender,
    look: lookOf(report, standing.contender),
    value: valueOf(metric, standing),
    share: comparison.of(standing)?.text ?? null,
    rounds: metric === THROUGHPUT ? standing.rounds_per_second.filter((perSecond) => perSecond !== null) : [],
    tier: metric === THROUGHPUT ? (standing.tier ?? null) : null,
    withheld: standing.withheld ?? null,
  });
  return {
    rows: ranked(metric, contendersOf(report, cell)).map(row),
    limit: limit ? { title: report.limit?.name ?? "", value: limit } : null,
    heads: { value: metric === THROUGHPUT ? "req/s" : metric.title, share: comparison.head },
    estimate: metric.estimate,
    axis: metric.axis,
  };
}

function comparisonOf(report: Report, cell: Cell, metric: Metric): Comparison {
  const base = cell.standings.find((standing) => standing.contender === report.view.baseline && !standing.withheld);
  if (!base) return metric === THROUGHPUT && report.limit ? { head: "of limit", of: ofLimit } : { head: "", of: () => null };
  const pairs = pairsOf(cell);
  return { head: "times it", of: (standing) => times(pairs, metric, standing, base) };
}

function ofLimit({ share_of_limit: share }: Standing): ReturnType<Comparison["of"]> {
  return share ? { text: percent(share.estimate), sort: share.estimate } : null;
}

/** By the verdict's own comparison where there is one: it pairs by round. */
function times(pairs: ReadonlyMap<string, Ratio>, metric: Metric, standing: Standing, base: Standing): ReturnType<Comparison["of"]> {
  const known = metric === THROUGHPUT ? ratioOf(pairs, standing.contender, base.contender) : undefined;
  const [mine, theirs] = [valueOf(metric, standing)?.estimate, valueOf(metric, base)?.estimate];
  if (mine === undefined || theirs === undefined || theirs === 0) return null;
  const found = known?.ratio.estimate ?? mine / theirs;
  return { text: known && known.call !== "distinct" ? "~" : ratio(found), sort: found };
}
