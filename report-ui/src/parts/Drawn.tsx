/** One line that says whom a chart leaves out, or draws grey and without a name, and how to see others. */
import type { JSX } from "preact";
import { drawnOf, type Report } from "../select";

interface Props {
  report: Report;
  /** Everybody of whom there is something to draw. */
  names: readonly string[];
  /** Of more than so many only those in focus are drawn; without it the others are grey. */
  most?: number | undefined;
}

export function Drawn({ report, names, most }: Props): JSX.Element | null {
  const drawn = drawnOf(report, names, most);
  if (!drawn) return null;
  const { shown, of } = drawn;
  const rest = most === undefined ? `In colour: ${shown} of ${of} contenders; the others are grey.` : `Drawn: ${shown} of ${of} contenders.`;
  const how = report.view.pins.length > 0 ? "Pin others with ☆" : "Pin some with ☆ in the table of standings";
  return (
    <p class="drawn">
      {rest} {how}, or narrow with the filters.
    </p>
  );
}
