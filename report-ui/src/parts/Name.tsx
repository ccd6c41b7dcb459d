/** A contender's name with its mark, as in the charts. Pressed, it tells all that is known of it. */
import type { JSX } from "preact";
import { lookOf, type Report } from "../select";
import { togglePin } from "../state";

interface Props {
  report: Report;
  name: string;
  /** Offers to pin it. */
  pin?: boolean;
  /** What stands behind it instead of its language. */
  note?: string;
}

export function Name({ report, name, pin, note }: Props): JSX.Element {
  const entry = report.entries.get(name);
  const isLimit = name === report.limit?.name;
  const behind = note ?? (isLimit ? "the limit" : entry?.language);
  return (
    <span class="name">
      {pin && !isLimit && <Pin report={report} name={name} />}
      <i style={{ background: isLimit ? "none" : lookOf(report, name).color }} class={isLimit ? "limit-mark" : ""} aria-hidden="true" />
      <button type="button" class="open" title={name} aria-haspopup="dialog" onClick={() => report.choose({ open: name })}>
        {name}
      </button>
      {behind && <small> {behind}</small>}
    </span>
  );
}

function Pin({ report, name }: Props): JSX.Element {
  const { pins } = report.view;
  const isPinned = pins.includes(name);
  return (
    <button type="button" class="pin" aria-pressed={isPinned} aria-label={`Pin ${name}`} title={isPinned ? "no longer pinned" : "pin"} onClick={() => report.choose({ pins: togglePin(pins, name) })}>
      {isPinned ? "★" : "☆"}
    </button>
  );
}
