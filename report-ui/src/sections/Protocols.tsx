/** What a protocol costs: the same program in the same rounds, with it and with the one that it runs over. */
import type { JSX } from "preact";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import type { Column } from "../parts/Table";
import type { Cell, Report } from "../select";
import { isBeside, widthOf } from "../state";
import type { ProtocolComparison, ProtocolCost, Spot } from "../types";
import { byRatio, MOST_ROWS, P50_COLUMN, ratioColumns, RatiosFigure, speedColumn } from "./ratios";

export function ProtocolsSection({ report, cell: { spot } }: { report: Report; cell: Cell }): JSX.Element {
  const place = `${spot.workload} at ${widthOf(spot)} connections`;
  const shown = report.head.protocol_cost.map((comparison) => ({ ...comparison, rows: rowsOf(report, comparison) }));
  return (
    <Section
      id="protocols"
      title="Protocol cost"
      wide
      question={`What does the protocol cost? Throughput over it to that over the one beneath, same program, same rounds, ${place}: short of 1× it costs. Dot and bar: estimate and 95 % interval.`}
    >
      <Drawn report={report} names={rowsAt(shown.flatMap(({ rows }) => rows), spot).map(({ contender }) => contender)} most={MOST_ROWS} />
      <div class="prices">
        {shown.map((comparison) => (
          <div key={titleIn(comparison)}>
            <h3>{titleIn(comparison)}</h3>
            <RatiosFigure report={report} spot={spot} label={`Throughput of ${titleIn(comparison)} for each contender, ${place}.`} caption={`Protocol cost, ${titleIn(comparison)}`} columns={columns(report, comparison)} rows={comparison.rows} at={rowsAt} />
          </div>
        ))}
      </div>
    </Section>
  );
}

/** Those whom the filters let through; both protocols stand in the title. */
const rowsOf = (report: Report, { rows }: ProtocolComparison): ProtocolCost[] => rows.filter((row) => report.isShown(row.contender)).map((row) => ({ ...row, protocol: "h1" }));

/** What was compared at a place, whichever protocol of it is looked at; the greatest ratio first. */
const rowsAt = (rows: readonly ProtocolCost[], spot: Spot): ProtocolCost[] =>
  byRatio(rows.filter((row) => isBeside(row, spot) && (row.network ?? null) === (spot.network ?? null)));

const titleIn = ({ protocol, base }: ProtocolComparison): string => `${protocol} against ${base}`;

function columns(report: Report, { protocol, base }: ProtocolComparison): Column<ProtocolCost>[] {
  return [
    ...ratioColumns(report),
    speedColumn(`${protocol}, req/s`, (row) => row.per_second),
    speedColumn(`${base}, req/s`, (row) => row.base_per_second),
    P50_COLUMN,
  ];
}
