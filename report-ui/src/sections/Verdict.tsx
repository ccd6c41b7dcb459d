/** The findings in words: what is looked at first, then the rest of the run, most important first. */
import type { JSX } from "preact";
import { Prose } from "../parts/Prose";
import type { Cell, Report } from "../select";

/** Findings that are read at once; a run over many places has more, and the sections say them again. */
const AT_ONCE = 8;

export function VerdictSection({ report, cell }: { report: Report; cell: Cell | undefined }): JSX.Element {
  const [first, ...others] = [...new Set([...(cell?.sentences ?? []), ...report.head.sentences])];
  // One that is alone behind a fold would not be worth it.
  const shown = others.length <= AT_ONCE + 1 ? others.length : AT_ONCE;
  const nothing = report.head.run.state === "running" ? "Nothing is measured yet." : "Nothing was measured that could be judged.";
  const paragraphs = (sentences: string[]): JSX.Element[] => sentences.map((sentence) => <p key={sentence}><Prose words={sentence} /></p>);
  return (
    <section id="verdict" class="verdict wide" aria-labelledby="verdict-title" tabIndex={-1}>
      <h1 id="verdict-title"><Prose words={first ?? nothing} /></h1>
      {paragraphs(others.slice(0, shown))}
      {shown < others.length && (
        <details class="more">
          <summary>{others.length - shown} more findings</summary>
          {paragraphs(others.slice(shown))}
        </details>
      )}
    </section>
  );
}
