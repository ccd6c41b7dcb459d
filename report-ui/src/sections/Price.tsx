/** What speed costs: processor time, memory, start-up. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { priceChart } from "../charts/price";
import { bytes, duration, energy, few, percent, rate } from "../format";
import { Chart } from "../parts/Chart";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import { focused, lookOf, type Cell, type Report } from "../select";
import type { Theme } from "../theme";
import type { Standing } from "../types";

interface Currency {
  title: string;
  note: string;
  value: (standing: Standing) => number | null | undefined;
  format: (value: number) => string;
}

const CURRENCIES: readonly Currency[] = [
  { title: "Processor time per request", note: "median over rounds", value: (s) => s.cpu_per_request_ns, format: duration },
  { title: "Memory", note: "when a window is over, median of the rounds", value: (s) => s.memory_bytes, format: bytes },
  { title: "Energy per request", note: "of the whole machine, mean over rounds", value: (s) => s.energy?.whole_uj.estimate, format: energy },
  { title: "In the kernel", note: "share of that processor time", value: kernelShare, format: percent },
  { title: "System calls", note: "per request, median over rounds", value: (s) => s.price.system_calls, format: few },
  { title: "Context switches", note: "per request, given up or taken", value: switches, format: few },
  { title: "Instructions", note: "per request, median over rounds", value: (s) => s.price.instructions, format: rate },
  { title: "Start-up", note: "to the first right answer, median", value: (s) => s.startup_ns, format: duration },
];

/** Of more contenders than this only those in focus. */
export const MOST_ROWS = 24;

function kernelShare({ price: { user_ns, system_ns } }: Standing): number | null {
  return user_ns == null || system_ns == null || user_ns + system_ns === 0 ? null : system_ns / (user_ns + system_ns);
}

function switches({ price: { voluntary_switches: given, involuntary_switches: taken } }: Standing): number | null {
  return given == null || taken == null ? null : given + taken;
}

export function PriceSection({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  const counting = cell.standings.filter((standing) => !standing.withheld);
  return (
    <Section id="price" title="Price" question={`What does it cost? ${cell.where}; the figures are in the table of standings.`}>
      <Drawn report={report} names={counting.map(({ contender }) => contender)} most={MOST_ROWS} />
      {counting.length === 0 && <p class="key">No figure counts here.</p>}
      <div class="prices">
        {CURRENCIES.filter(({ value }) => counting.some((s) => value(s) != null)).map((currency) => (
          <PriceList key={currency.title} report={report} cell={cell} currency={currency} />
        ))}
      </div>
    </Section>
  );
}

function PriceList({ report, cell, currency }: { report: Report; cell: Cell; currency: Currency }): JSX.Element {
  const draw = useMemo(() => {
    const shown = focused(report, cell.standings.filter((standing) => !standing.withheld), (standing) => standing.contender, MOST_ROWS);
    const rows = shown.map((standing) => ({
      name: standing.contender,
      title: standing.contender,
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
