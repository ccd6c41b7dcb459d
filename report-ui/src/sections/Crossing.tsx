/** Where along a workload's number, such as the size of a body, the one stack overtakes the other. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { crossingChart, type CrossingPoint } from "../charts/crossing";
import type { Line } from "../charts/lines";
import { count, ratio, roughly } from "../format";
import { Chart } from "../parts/Chart";
import { contenderColumn, figureColumn } from "../parts/columns";
import { Drawn } from "../parts/Drawn";
import { Table, type Column } from "../parts/Table";
import { lookOf, type Report } from "../select";
import { widthOf } from "../state";
import type { Theme } from "../theme";
import type { Crossing, Spot, StackComparison, StackRow } from "../types";

/** `user/xdp against kernel/veth`. */
export const titleIn = ({ user, kernel }: Pick<StackComparison, "user" | "kernel">): string => `${user} against ${kernel}`;

interface Props {
  report: Report;
  spot: Spot;
  comparison: StackComparison;
}

export function CrossingPart({ report, spot, comparison }: Props): JSX.Element | null {
  const member = useMemo(() => memberOf(comparison.rows, spot), [comparison.rows, spot]);
  const lines = useMemo(() => (member ? linesOf(report, comparison.rows, member) : []), [report, comparison.rows, member]);
  const parameter = report.head.run.workloads.find(({ family }) => family?.name === member?.family)?.family?.parameter ?? "";
  const draw = useMemo(() => (theme: Theme, width: number) => crossingChart({ lines, label: parameter }, theme, width), [lines, parameter]);
  if (!member || lines.length === 0) return null;
  const title = `${titleIn(comparison)}, ${member.family} by ${parameter} at ${widthOf(member)} connections`;
  const crossings = comparison.crossings.filter((one) => one.family === member.family && widthOf(one) === widthOf(member) && report.isShown(one.contender));
  return (
    <div class="part">
      <h3>{title}</h3>
      <Drawn report={report} names={lines.map(({ name }) => name)} />
      <Chart label={`Throughput of ${title}.`} draw={draw} twin={<Table caption={title} columns={columns(report, lines)} rows={lines} />} />
      {crossings.length > 0 && (
        <ul class="plain">
          {crossings.map((crossing) => (
            <li key={crossing.contender}>
              <b>{crossing.contender}</b> {crossingInWords(crossing)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The row that says which family and how many connections are drawn: as near to what is looked at as there is. */
export function memberOf(rows: readonly StackRow[], spot: Spot): StackRow | undefined {
  const numbers = new Map<string, Set<number>>();
  for (const { family, number } of rows) if (number !== null) numbers.set(family, (numbers.get(family) ?? new Set()).add(number));
  const members = rows.filter(({ family }) => (numbers.get(family)?.size ?? 0) > 1);
  const mine = members.find((row) => row.workload === spot.workload)?.family ?? members[0]?.family;
  const family = members.filter((row) => row.family === mine);
  return family.find((row) => widthOf(row) === widthOf(spot)) ?? family[0];
}

function linesOf(report: Report, rows: readonly StackRow[], member: StackRow): Line<CrossingPoint>[] {
  const lines = new Map<string, Line<CrossingPoint>>();
  for (const { contender: name, family, number, ratio, ...row } of rows) {
    if (family !== member.family || widthOf(row) !== widthOf(member) || number === null || !ratio) continue;
    const line = lines.get(name) ?? { name, title: name, look: lookOf(report, name), points: [] };
    line.points.push({ number, ratio });
    lines.set(name, line);
  }
  for (const line of lines.values()) line.points.sort((a, b) => a.number - b.number);
  return [...lines.values()];
}

/** The estimate lies between two sizes that are far apart, so two digits are all that it is worth: `user/xdp is faster up to 1,024 bytes, kernel/veth from 65,536; equal at about 12,000.` */
export function crossingInWords({ user, kernel, user_is_faster_below: userFirst, after, before, estimate, parameter }: Crossing): string {
  const [first, second] = userFirst ? [user, kernel] : [kernel, user];
  const equal = estimate === null ? "" : `; equal at about ${roughly(estimate)}`;
  return `${first} is faster up to ${count(after)} ${parameter}, ${second} from ${count(before)}${equal}.`;
}

function columns(report: Report, lines: readonly Line<CrossingPoint>[]): Column<Line<CrossingPoint>>[] {
  const numbers = [...new Set(lines.flatMap(({ points }) => points.map(({ number }) => number)))].sort((a, b) => a - b);
  const at = (line: Line<CrossingPoint>, number: number): number | undefined => line.points.find((point) => point.number === number)?.ratio.estimate;
  return [
    contenderColumn(report, (line) => line.name),
    ...numbers.map((number): Column<Line<CrossingPoint>> => figureColumn(count(number), (line) => at(line, number), ratio)),
  ];
}
