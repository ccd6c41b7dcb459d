/** The report as a whole: what stands where, and what the reader has chosen to look at. */
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { Source } from "./data";
import { Choices } from "./parts/Choices";
import { Contents } from "./parts/Contents";
import { Drawer } from "./parts/Drawer";
import { Header } from "./parts/Header";
import { Lazy } from "./parts/Section";
import { cellOf, reportOf, spotOf, type Cell, type Report } from "./select";
import { sectionsOf } from "./sections";
import { changed, fragmentOf, parseView, type View } from "./state";

export function App({ source }: { source: Source }): JSX.Element {
  const [view, choose] = useView(source);
  const report = useMemo(() => reportOf(source, view, choose), [source, view, choose]);
  const cell = useCell(report);
  const sections = sectionsOf(report, cell);
  const isUnpacking = spotOf(report) >= 0 && !source.known(view.run, spotOf(report));
  return (
    <>
      <Header report={report} />
      <div class="layout">
        <aside>
          <Choices report={report} />
          <Contents sections={sections} />
        </aside>
        <main aria-busy={isUnpacking}>
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

/** The place looked at, as soon as it is unpacked; until then the one before. */
function useCell(report: Report): Cell | undefined {
  const { source, view } = report;
  const index = spotOf(report);
  const [, redraw] = useState(0);
  const [last, setLast] = useState(index);
  const ready = source.known(view.run, index);
  useEffect(() => {
    let isWanted = true;
    void source.findings(view.run, index).then(() => {
      if (!isWanted) return;
      setLast(index);
      redraw((n) => n + 1);
    });
    return () => void (isWanted = false);
  }, [source, view.run, index]);
  return useMemo(() => {
    const shown = ready ? index : last;
    const spot = report.head.spots[shown];
    const findings = source.known(view.run, shown);
    return spot && findings ? cellOf(report, spot, findings) : undefined;
  }, [report, ready, last]);
}
