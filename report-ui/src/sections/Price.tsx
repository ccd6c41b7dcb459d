/** What speed costs: processor time, memory, start-up. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { priceChart } from "../charts/price";
import { bytes, duration } from "../format";
import { Chart } from "../parts/Chart";
import { Section } from "../parts/Section";
import { lookOf, titleOf, type Report } from "../select";
import type { Theme } from "../theme";
import type { CellVerdict, Standing } from "../types";

interface Currency {
  title: string;
  note: string;
  value: (standing: Standing) => number | null | undefined;
  format: (value: number) => string;
}

const CURRENCIES: readonly Currency[] = [
  { title: "Processor time per request", note: "median over rounds", value: (s) => s.cpu_per_request_ns, format: duration },
  { title: "Memory", note: "resident, highest over rounds", value: (s) => s.rss_peak_bytes, format: bytes },
  { title: "Start-up", note: "to the first right answer, median", value: (s) => s.startup_ns, format: duration },
];

export function PriceSection({ report, cell }: { report: Report; cell: CellVerdict }): JSX.Element {
  return (
    <Section id="price" title="Price" question={`What does it cost? ${cell.workload} at ${cell.connections} connections; the figures are in the table of standings.`}>
      <div class="prices">
        {CURRENCIES.map((currency) => (
          <PriceList key={currency.title} report={report} cell={cell} currency={currency} />
        ))}
      </div>
    </Section>
  );
}

function PriceList({ report, cell, currency }: { report: Report; cell: CellVerdict; currency: Currency }): JSX.Element {
  const draw = useMemo(() => {
    const shown = cell.standings.filter((standing) => !standing.withheld);
    const rows = shown.map((standing) => ({
      name: standing.contender,
      title: titleOf(report, standing.contender),
      look: lookOf(report, standing.contender),
      value: currency.value(standing) ?? null,
    }));
    return (theme: Theme, width: number) => priceChart(rows, currency.format, theme, width);
  }, [report, cell, currency]);
  return (
    <div>
      <h3>
        {currency.title} <small>{currency.note}</small>
      </h3>
      <Chart label={`${currency.title} of each contender, ${currency.note}.`} draw={draw} />
    </div>
  );
}
