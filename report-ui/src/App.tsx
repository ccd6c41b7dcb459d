/** The report as a whole: what stands where, and what the reader has chosen to look at. */
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { Source } from "./data";
import { Drawer } from "./Drawer";
import { Choices } from "./parts/Choices";
import { Contents } from "./parts/Contents";
import type { Live } from "./live";
import { Header } from "./parts/Header";
import { Lazy } from "./parts/Section";
import { cellOf, reportOf, spotOf, type Cell, type Report } from "./select";
import { sectionsOf } from "./sections";
import { changed, fragmentOf, parseView, type View } from "./state";

export function App({ source, live }: { source: Source; live: Live | null }): JSX.Element {
  const [view, choose] = useView(source);
  const report = useMemo(() => reportOf(source, view, choose), [source, view, choose]);
  const cell = useMemo(() => lookedAt(report), [report]);
  const sections = sectionsOf(report, cell);
  return (
    <>
      <Header report={report} live={live} />
      <div class="layout">
        <aside>
          <Choices report={report} />
          <Contents sections={sections} />
        </aside>
        <main>
          {sections.map(({ id, title, wide, draw }) => (
            <Lazy key={`${view.run} ${id}`} id={id} title={title} wide={wide === true}>
              {draw}
            </Lazy>
          ))}
        </main>
      </div>
      {view.open !== "" && <Drawer key={view.open} report={report} name={view.open} />}
    </>
  );
}

/** What the reader looks at; it stands in the address, and follows it. */
function useView(source: Source): [View, Report["choose"]] {
  const [view, setView] = useState<View>(() => parseView(location.hash, source.heads));
  useEffect(() => {
    // Newer data may lack a place that was looked at.
    setView((now) => {
      const next = changed(now, {}, source.heads);
      return fragmentOf(next) === fragmentOf(now) ? now : next;
    });
    const follow = (): void => setView(parseView(location.hash, source.heads));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [source]);
  const choose = useCallback((change: Partial<View>): void => {
    setView((now) => {
      const next = changed(now, change, source.heads);
      history.replaceState(null, "", fragmentOf(next));
      return next;
    });
  }, [source]);
  return [view, choose];
}

/** The place looked at; nothing where a run measured none. */
function lookedAt(report: Report): Cell | undefined {
  const { source, head, view } = report;
  const index = spotOf(report);
  const spot = head.spots[index];
  return spot && cellOf(report, spot, source.findings(view.run, index));
}
