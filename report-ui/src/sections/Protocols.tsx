/** What a protocol costs: the same program in the same rounds, over it and over the one that it is laid upon. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ratiosChart } from "../charts/ratios";
import { few, rate, ratio } from "../format";
import { Chart } from "../parts/Chart";
import { Drawn } from "../parts/Drawn";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import { focused, lookOf, type Cell, type Report } from "../select";
import { isBeside, widthOf } from "../state";
import type { Theme } from "../theme";
import type { Interval, ProtocolComparison, Spot } from "../types";
import { intervalIn } from "./Stacks";

type Row = ProtocolComparison["rows"][number];

/** Of more contenders than this only those in focus. */
const MOST_ROWS = 24;

export function ProtocolsSection({ report, cell: { spot } }: { report: Report; cell: Cell }): JSX.Element {
  const place = `${spot.workload} at ${widthOf(spot)} connections`;
  const shown = report.head.protocol_cost.map((comparison) => ({ ...comparison, rows: comparison.rows.filter((row) => report.isShown(row.contender)) }));
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
          <Comparison key={titleIn(comparison)} report={report} spot={spot} place={place} comparison={comparison} />
        ))}
      </div>
    </Section>
  );
}

const titleIn = ({ protocol, base }: ProtocolComparison): string => `${protocol} against ${base}`;

interface Props {
  report: Report;
  spot: Spot;
  place: string;
  comparison: ProtocolComparison;
}

function Comparison({ report, spot, place, comparison }: Props): JSX.Element {
  const here = useMemo(() => rowsAt(comparison.rows, spot), [report, comparison.protocol, comparison.base, spot]);
  const draw = useMemo(() => {
    const rows = focused(report, here, (row) => row.contender, MOST_ROWS).filter((row) => row.ratio);
    const drawn = rows.map(({ contender, ratio }) => ({ title: contender, look: lookOf(report, contender), theirs: null, ours: ratio }));
    return (theme: Theme, width: number) => ratiosChart(drawn, theme, width);
  }, [report, here]);
  const title = titleIn(comparison);
  const twin = <Table caption={`Protocol cost, ${title}`} columns={columns(report, comparison)} rows={comparison.rows} across={(row) => (row.withheld ? <em>{placeOf(row)}, withheld: {row.withheld}</em> : null)} />;
  return (
    <div>
      <h3>{title}</h3>
      {here.some((row) => row.ratio) ? <Chart label={`Throughput of ${title} for each contender, ${place}.`} draw={draw} twin={twin} /> : twin}
    </div>
  );
}

/** What was compared at a place, whichever protocol of it is looked at; the greatest ratio first. */
function rowsAt(rows: readonly Row[], spot: Spot): Row[] {
  const here = rows.filter((row) => isBeside(row, spot) && (row.network ?? null) === (spot.network ?? null));
  const key = (row: Row): number => row.ratio?.estimate ?? -1;
  return here.sort((a, b) => key(b) - key(a));
}

const placeOf = (row: Row): string => [row.workload, "at", widthOf(row), ...(row.network ? ["on", row.network] : []), ...(row.offered ? [row.offered] : [])].join(" ");

function columns(report: Report, { protocol, base }: ProtocolComparison): Column<Row>[] {
  const speed = (head: string, value: (row: Row) => Interval | null): Column<Row> => ({
    head,
    sort: (row) => value(row)?.estimate ?? null,
    cell: (row) => {
      const found = value(row);
      return found ? rate(found.estimate) : "–";
    },
  });
  return [
    { head: "contender", text: true, cell: (row) => <Name report={report} name={row.contender} />, sort: (row) => row.contender },
    { head: "where", text: true, cell: placeOf, sort: placeOf },
    { head: "ratio", cell: (row) => <b>{row.ratio ? ratio(row.ratio.estimate) : "–"}</b>, sort: (row) => row.ratio?.estimate ?? null },
    { head: "95 % interval", cell: (row) => intervalIn(row.ratio) },
    speed(`${protocol}, req/s`, (row) => row.per_second),
    speed(`${base}, req/s`, (row) => row.base_per_second),
    { head: "p50 ratio", cell: (row) => (row.p50_ratio === null ? "–" : `${few(row.p50_ratio)}×`), sort: (row) => row.p50_ratio },
  ];
}
