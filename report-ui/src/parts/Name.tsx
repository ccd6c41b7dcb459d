/** A contender's name with its mark, as in the charts. */
import type { JSX } from "preact";
import { lookOf, titleOf, type Report } from "../select";

export function Name({ report, name }: { report: Report; name: string }): JSX.Element {
  const entry = report.entries.get(name);
  const isLimit = name === report.limit?.name;
  return (
    <span class="name">
      <i style={{ background: isLimit ? "none" : lookOf(report, name).color }} class={isLimit ? "limit-mark" : ""} aria-hidden="true" />
      {titleOf(report, name)}
      {entry?.language && <small>{isLimit ? "the limit" : entry.language}</small>}
    </span>
  );
}
