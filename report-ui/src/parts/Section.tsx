/** A part of the report: a heading, the one question it answers, and the answer. */
import type { ComponentChildren, JSX } from "preact";

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
