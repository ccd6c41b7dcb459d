/** Throughput against a number: what the sections on connections and on the work in a request share. */
import type { JSX } from "preact";
import type { Line } from "../charts/lines";
import type { ScalingPoint } from "../charts/scaling";
import { rateInterval } from "../format";
import { contenderColumn, valueColumn } from "../parts/columns";
import type { Column } from "../parts/Table";
import { lookOf, type Cell, type Report } from "../select";
import type { Interval, Spot } from "../types";

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
  const at = (line: Line<ScalingPoint>, level: number): Interval | undefined => line.points.find((point) => point.connections === level)?.throughput;
  const told = (throughput: Interval): JSX.Element => {
    const { estimate, interval } = rateInterval(throughput);
    return <><b>{estimate}</b> {interval}</>;
  };
  return [
    contenderColumn(report, (line) => line.name),
    ...levels.map((level): Column<Line<ScalingPoint>> => valueColumn(String(level), (line) => at(line, level), told, ({ estimate }) => estimate)),
  ];
}
