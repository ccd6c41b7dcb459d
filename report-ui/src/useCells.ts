/** What was found at several places. */
import { useMemo } from "preact/hooks";
import { cellOf, type Cell, type Report } from "./select";
import type { Spot } from "./types";

export function useCells(report: Report, wanted: (spot: Spot) => boolean): Cell[] {
  const { source, head, view } = report;
  const indices = head.spots.flatMap((spot, i) => (wanted(spot) ? [i] : []));
  return useMemo(
    () => indices.flatMap((index) => head.spots.slice(index, index + 1).map((spot) => cellOf(report, spot, source.findings(view.run, index)))),
    [report, indices.join()],
  );
}
