/** A part of the report: a heading, the one question it answers, and the answer. */
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { whenNeeded } from "../schedule";

interface Props {
  id: string;
  title: string;
  question: ComponentChildren;
  /** Takes the whole width where two sections stand side by side. */
  wide?: boolean;
  children: ComponentChildren;
}

export function Section({ id, title, question, wide, children }: Props): JSX.Element {
  return (
    <section id={id} class={wide ? "wide" : ""} aria-labelledby={`${id}-title`} tabIndex={-1}>
      <h2 id={`${id}-title`}>{title}</h2>
      <p class="question">{question}</p>
      {children}
    </section>
  );
}

interface LazyProps {
  id: string;
  title: string;
  wide: boolean;
  children: () => JSX.Element | null;
}

/** A section that is made when it is needed; until then its heading keeps its place. */
export function Lazy({ id, title, wide, children }: LazyProps): JSX.Element | null {
  const place = useRef<HTMLElement>(null);
  const [isNeeded, setNeeded] = useState(false);
  useLayoutEffect(() => (place.current ? whenNeeded(place.current, () => setNeeded(true)) : undefined), []);
  if (isNeeded) return children();
  return (
    <section ref={place} id={id} class={wide ? "waiting wide" : "waiting"} tabIndex={-1}>
      <h2>{title}</h2>
    </section>
  );
}
