/** Contenders and runs that yielded nothing: why, what their logs say, how to mend it. */
import type { JSX } from "preact";
import { Section } from "../parts/Section";
import { titleOf, type Report } from "../select";
import type { Head, NotRun } from "../types";

export const STAGES: Record<NotRun["stage"], string> = {
  needs: "not installed",
  build: "did not build",
  start: "did not start",
  answer: "answered wrongly",
  load: "failed under load",
};

export function NotRunSection({ report }: { report: Report }): JSX.Element | null {
  const all = missing(report.head);
  if (all.length === 0) return null;
  return (
    <Section id="not-run" title="Not run" wide question="Who is missing, and what would bring them in?">
      <dl class="absent">
        {all.map(({ name, when, why }) => (
          <div key={name + when}>
            <dt>
              {titleOf(report, name)} <small>{STAGES[why.stage]}{when}</small>
            </dt>
            <dd>
              <p>{why.reason}</p>
              {why.remedy && <p class="remedy">{why.remedy}</p>}
              {why.log_tail && why.log_tail.length > 0 && (
                <details>
                  <summary>The last lines of its log</summary>
                  <pre tabIndex={0}>{why.log_tail.join("\n")}</pre>
                </details>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

interface Missing {
  name: string;
  /** In which rounds, or nothing when it never ran. */
  when: string;
  why: NotRun;
}

/** Contenders that never ran or were given up, then failed runs, those with the same reason together. */
export function missing({ contenders, failures }: Pick<Head, "contenders" | "failures">): Missing[] {
  const groups = new Map<string, { name: string; why: NotRun; rounds: number[] }>();
  for (const { contender, round, why } of failures) {
    const key = JSON.stringify([contender, why.stage, why.reason]);
    const group = groups.get(key) ?? { name: contender, why, rounds: [] };
    group.rounds.push(round + 1);
    groups.set(key, group);
  }
  const failed = [...groups.values()].map(({ name, why, rounds }) => ({ name, why, when: `, ${rounds.length === 1 ? "round" : "rounds"} ${rounds.join(", ")}` }));
  const told = (name: string, why: NotRun): boolean => failed.some((one) => one.name === name && one.why.reason === why.reason);
  const never = contenders.flatMap(({ name, not_run: why }) => (why && !told(name, why) ? [{ name, why, when: "" }] : []));
  return [...never, ...failed];
}
