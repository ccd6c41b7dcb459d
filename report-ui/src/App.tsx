/** The report as a whole: what stands where, and what the reader has chosen to look at. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { CellSwitch } from "./parts/CellSwitch";
import { Contents } from "./parts/Contents";
import { Header } from "./parts/Header";
import { cellsOf, cellVerdict, type Report } from "./select";
import { CurvesSection } from "./sections/Curves";
import { NotRunSection } from "./sections/NotRun";
import { PriceSection } from "./sections/Price";
import { RepeatSection } from "./sections/Repeat";
import { RoundsSection } from "./sections/Rounds";
import { ScalingSection } from "./sections/Scaling";
import { StandingsSection } from "./sections/Standings";
import { TrustSection } from "./sections/Trust";
import { VerdictSection } from "./sections/Verdict";
import { fragmentOf, parseView, type View } from "./state";
import { looks, pageTheme } from "./theme";
import type { Page } from "./types";

export function App({ page }: { page: Page }): JSX.Element {
  const report = useMemo(() => reportOf(page), [page]);
  const cells = useMemo(() => cellsOf(page), [page]);
  const [view, setView] = useState<View>(() => parseView(location.hash, cells));
  useEffect(() => {
    const follow = (): void => setView(parseView(location.hash, cells));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [cells]);
  const choose = (next: View): void => {
    history.replaceState(null, "", fragmentOf(next));
    setView(next);
  };
  const cell = cellVerdict(page, view);
  const levels = cells.find((one) => one.workload === view.workload)?.connections ?? [];
  return (
    <>
      <Header run={page.run} />
      <div class="layout">
        <aside>
          {page.verdict.cells.length > 1 && <CellSwitch cells={cells} view={view} onChange={choose} />}
          <Contents sections={sectionsOf(page, levels.length)} />
        </aside>
        <main>
          <VerdictSection page={page} />
          <TrustSection report={report} />
          {cell && <StandingsSection report={report} cell={cell} />}
          {cell && <CurvesSection report={report} cell={cell} />}
          {levels.length > 1 && <ScalingSection report={report} workload={view.workload} levels={levels} />}
          {cell && <RoundsSection report={report} cell={cell} />}
          {cell && <PriceSection report={report} cell={cell} />}
          <NotRunSection report={report} />
          <RepeatSection report={report} />
        </main>
      </div>
    </>
  );
}

/** The sections that this report has, by their ids. */
function sectionsOf(page: Page, levels: number): [id: string, title: string][] {
  const measured = page.verdict.cells.length > 0;
  const missing = page.failures.length > 0 || page.contenders.some((entry) => entry.not_run);
  const all: [string, string, boolean][] = [
    ["verdict", "Verdict", true],
    ["trust", "Trust", true],
    ["standings", "Standings", measured],
    ["times", "Service time", page.curves.length > 0],
    ["scaling", "Scaling", levels > 1],
    ["rounds", "Raw rounds", measured],
    ["price", "Price", measured],
    ["not-run", "Not run", missing],
    ["repeat", "How to repeat it", true],
  ];
  return all.filter(([, , there]) => there).map(([id, title]) => [id, title]);
}

function reportOf(page: Page): Report {
  const limit = page.contenders.find((entry) => entry.kind === "limit");
  return {
    page,
    limit,
    entries: new Map(page.contenders.map((entry) => [entry.name, entry])),
    looks: looks(page.contenders.map((entry) => entry.name), limit?.name, pageTheme),
  };
}
