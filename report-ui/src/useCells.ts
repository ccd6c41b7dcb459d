/** What was found at several places. */
import { useMemo } from "preact/hooks";
import { cellOf, type Cell, type Report } from "./select";
import type { Spot } from "./types";

export function useCells(report: Report, wanted: (spot: Spot) => boolean): Cell[] {
  const { source, head, view } = report;
  const isWanted = head.spots.map(wanted);
  return useMemo(
    () => head.spots.flatMap((spot, index) => (isWanted[index] ? [cellOf(report, spot, source.findings(view.run, index))] : [])),
    [report, isWanted.join()],
  );
}
