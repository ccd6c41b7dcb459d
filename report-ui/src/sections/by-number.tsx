/** Throughput against a number: what the sections on connections and on the work in a request share. */
import type { Line } from "../charts/lines";
import type { ScalingPoint } from "../charts/scaling";
import { rateInterval } from "../format";
import { Name } from "../parts/Name";
import type { Column } from "../parts/Table";
import { lookOf, type Cell, type Report } from "../select";
import type { Spot } from "../types";

/** A line for each contender, over the cells' numbers; withheld throughputs are left out. */
export function linesBy(report: Report, cells: readonly Cell[], numberOf: (spot: Spot) => number): Line<ScalingPoint>[] {
  const lines = new Map<string, Line<ScalingPoint>>();
  for (const { spot, standings } of cells) {
    for (const { contender: name, throughput_per_second: throughput, withheld } of standings) {
      if (!throughput || withheld) continue;
      const line = lines.get(name) ?? { name, title: name, look: lookOf(report, name), points: [] };
      line.points.push({ connections: numberOf(spot), throughput });
      lines.set(name, line);
    }
  }
  for (const line of lines.values()) line.points.sort((a, b) => a.connections - b.connections);
  return [...lines.values()];
}

/** A column for each level. */
export function columnsBy(report: Report, levels: readonly number[]): Column<Line<ScalingPoint>>[] {
  const at = (line: Line<ScalingPoint>, level: number): ScalingPoint | undefined => line.points.find((point) => point.connections === level);
  return [
    { head: "contender", text: true, cell: (line) => <Name report={report} name={line.name} />, sort: (line) => line.title },
    ...levels.map((level): Column<Line<ScalingPoint>> => ({
      head: String(level),
      sort: (line) => at(line, level)?.throughput.estimate ?? null,
      cell: (line) => {
        const point = at(line, level);
        if (!point) return "–";
        const { estimate, interval } = rateInterval(point.throughput);
        return <><b>{estimate}</b> {interval}</>;
      },
    })),
  ];
}
