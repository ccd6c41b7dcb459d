/** Questions that several sections ask of the data. */
import type { CellVerdict, Entry, Interval, Page, Sample, Standing } from "./types";
import type { Cells, View } from "./state";
import type { Look } from "./theme";

/** The report with what every section needs to know about its contenders. */
export interface Report {
  page: Page;
  entries: Map<string, Entry>;
  limit: Entry | undefined;
  looks: Map<string, Look>;
}

export const NO_LOOK: Look = { color: "currentColor", symbol: "circle", dash: "none" };

export function cellsOf(page: Page): Cells[] {
  const cells: Cells[] = [];
  for (const { workload, connections } of page.verdict.cells) {
    const known = cells.find((cell) => cell.workload === workload);
    if (known) known.connections.push(connections);
    else cells.push({ workload, connections: [connections] });
  }
  return cells;
}

export function cellVerdict(page: Page, view: View): CellVerdict | undefined {
  return page.verdict.cells.find((cell) => cell.workload === view.workload && cell.connections === view.connections);
}

/** Standings other than the limit's, in order. */
export function contendersOf(report: Report, cell: CellVerdict): Standing[] {
  return cell.standings.filter((standing) => standing.contender !== report.limit?.name);
}

export function limitOf(report: Report, cell: CellVerdict): Interval | undefined {
  const standing = cell.standings.find((standing) => standing.contender === report.limit?.name);
  return (standing && !standing.withheld && standing.throughput_per_second) || undefined;
}

export function titleOf(report: Report, name: string): string {
  return report.entries.get(name)?.title ?? name;
}

export function lookOf(report: Report, name: string): Look {
  return report.looks.get(name) ?? NO_LOOK;
}

export function samplesOf(page: Page, view: View): Sample[] {
  return page.samples.filter((s) => s.workload === view.workload && s.connections === view.connections);
}
