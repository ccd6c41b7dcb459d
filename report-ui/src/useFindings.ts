/** What was found at several places, once all of them are unpacked. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { cellOf, type Cell, type Report } from "./select";
import type { Spot } from "./types";

export function useCells(report: Report, wanted: (spot: Spot) => boolean): Cell[] | undefined {
  const { source, head, view } = report;
  const indices = head.spots.flatMap((spot, i) => (wanted(spot) ? [i] : []));
  const key = `${view.run}:${indices.join()}`;
  const [ready, setReady] = useState({ source, key: "" });
  useEffect(() => {
    let isWanted = true;
    void Promise.all(indices.map((spot) => source.findings(view.run, spot))).then(() => isWanted && setReady({ source, key }));
    return () => void (isWanted = false);
  }, [source, key]);
  return useMemo(() => {
    if (ready.key !== key) return undefined;
    // While newer data are unpacked, as they were.
    return indices.flatMap((index) => {
      const [spot, findings] = [head.spots[index], ready.source.known(view.run, index)];
      return spot && findings ? [cellOf(report, spot, findings)] : [];
    });
  }, [report, ready, key]);
}
