/** Who beats whom: a row's throughput over a column's, or `~` where no difference was shown. The matrix is a table. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { fineRatioInterval, ratio as ratioText } from "../format";
import { Drawn } from "../parts/Drawn";
import { Name } from "../parts/Name";
import { Section } from "../parts/Section";
import { pairsOf, ratioOf, type Ratio } from "../ratio";
import { contendersOf, focused, type Cell, type Report } from "../select";

/** Of more contenders than this only those in focus: a matrix of a hundred is wallpaper. */
const MOST = 24;

/** A ratio at which a cell has the full tint. */
const FULL_TINT = 4;

export function PairsSection({ report, cell }: { report: Report; cell: Cell }): JSX.Element {
  const ranked = contendersOf(report, cell).filter((standing) => standing.tier !== null);
  const names = focused(report, ranked, (standing) => standing.contender, MOST).map((standing) => standing.contender);
  const pairs = useMemo(() => pairsOf(cell), [cell]);
  return (
    <Section id="pairs" title="Who beats whom" question={`Which differences are real? How many times what the column serves the row serves, ${cell.where}; ~ where no difference was shown, = where they were shown to be equal.`}>
      <Drawn report={report} names={ranked.map((standing) => standing.contender)} most={MOST} />
      <div class="scroll" tabIndex={0} role="region" aria-label="Pairwise ratios">
        <table class="matrix">
          <caption>Throughput of the row over that of the column, {cell.where}</caption>
          <thead>
            <tr>
              <th scope="col" class="text">contender</th>
              {names.slice(1).map((name, i) => (
                <th key={name} scope="col" title={name} aria-label={name}>
                  {i + 2}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((row, i) => (
              <tr key={row}>
                <th scope="row" class="text">
                  <span class="rank">{i + 1}</span>
                  <Name report={report} name={row} />
                </th>
                {names.slice(1).map((column, j) => (j + 1 <= i ? <td key={column} class="void-cell" /> : <PairCell key={column} found={ratioOf(pairs, row, column)} words={`${row} over ${column}`} />))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function PairCell({ found, words }: { found: Ratio | undefined; words: string }): JSX.Element {
  if (!found) return <td class="soft">–</td>;
  const { estimate, low } = found.ratio;
  const interval = Number.isFinite(low) ? ` ${fineRatioInterval(found.ratio)}` : "";
  const hint = `${words}: ${ratioText(estimate)}${interval}`;
  if (found.call === "tie") return <td class="soft" title={`${hint}, not shown to differ`}>~</td>;
  if (found.call === "equivalent") return <td class="soft" title={`${hint}, shown to be equal`}>=</td>;
  const tint = Math.round(Math.min(1, Math.log(Math.max(1, estimate)) / Math.log(FULL_TINT)) * 34) + 4;
  return (
    <td title={hint} style={{ background: `color-mix(in oklab, var(--series-1) ${tint}%, var(--paper))` }}>
      {ratioText(estimate)}
    </td>
  );
}
