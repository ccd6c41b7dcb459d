/** What the colours of a chart stand for. */
import type { JSX } from "preact";
import { pageTheme } from "../theme";
import type { FrameKind } from "../types";

type Entry = readonly [color: string, words: string];

export function Legend({ entries }: { entries: readonly Entry[] }): JSX.Element {
  return (
    <ul class="legend">
      {entries.map(([color, words]) => (
        <li key={words}>
          <i style={{ background: color }} aria-hidden="true" />
          {words}
        </li>
      ))}
    </ul>
  );
}

const SORTS: readonly (readonly [FrameKind, string])[] = [
  ["kernel", "the kernel"],
  ["native", "compiled code"],
  ["jit", "compiled at run time"],
  ["unknown", "not known"],
];

/** The sorts of code that there are. */
export const sortsOf = (there: readonly FrameKind[]): Entry[] => SORTS.filter(([sort]) => there.includes(sort)).map(([sort, words]) => [pageTheme.code[sort], words]);
