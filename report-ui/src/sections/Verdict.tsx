/** The findings in words, most important first. */
import type { JSX } from "preact";
import { unbroken } from "../format";
import type { Report } from "../select";

export function VerdictSection({ report }: { report: Report }): JSX.Element {
  const [first, ...rest] = report.head.sentences;
  return (
    <section id="verdict" class="verdict wide" aria-labelledby="verdict-title" tabIndex={-1}>
      <h1 id="verdict-title">{first ? unbroken(first) : "Nothing was measured that could be judged."}</h1>
      {rest.map((sentence) => (
        <p key={sentence}>{unbroken(sentence)}</p>
      ))}
    </section>
  );
}
