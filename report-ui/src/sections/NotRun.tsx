/** Contenders and runs that yielded nothing: why, what their logs say, how to mend it. */
import type { JSX } from "preact";
import { Section } from "../parts/Section";
import { onSetting, type Report } from "../select";
import { settingOf } from "../state";
import type { Head, NotRun } from "../types";
import { STAGES } from "../words";

export function NotRunSection({ report }: { report: Report }): JSX.Element | null {
  const all = missing(report.head);
  if (all.length === 0) return null;
  return (
    <Section id="not-run" title="Not run" wide question="Who is missing, and what would bring them in?">
      <dl class="absent">
        {all.map(({ name, what, when, why }) => (
          <div key={name + when}>
            <dt>
              {name} <small>{what ?? STAGES[why.stage]}{when}</small>
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
  /** In place of the stage, which a network has not. */
  what?: string;
  /** In which setting and in which rounds, or nothing when it never ran. */
  when: string;
  why: NotRun;
}

type Absences = Pick<Head, "spots" | "contenders" | "failures"> & { run: Pick<Head["run"], "networks"> };

/**
 * Networks that could not be had, contenders that never ran or were given up, everywhere or on one of them, then failed
 * runs, those with the same reason together.
 */
export function missing({ spots, run, contenders, failures }: Absences): Missing[] {
  const on = (setting: string): string => onSetting({ spots }, setting);
  const groups = new Map<string, { name: string; on: string; why: NotRun; rounds: number[] }>();
  for (const { contender, round, why, ...where } of failures) {
    const setting = settingOf(where);
    const key = JSON.stringify([contender, why.stage, why.reason, setting]);
    const group = groups.get(key) ?? { name: contender, on: on(setting), why, rounds: [] };
    group.rounds.push(round + 1);
    groups.set(key, group);
  }
  const failed = [...groups.values()].map(({ name, why, rounds, on }) => ({ name, why, on, when: `${on}, ${rounds.length === 1 ? "round" : "rounds"} ${rounds.join(", ")}` }));
  const told = (name: string, why: NotRun, on?: string): boolean =>
    failed.some((one) => one.name === name && one.why.reason === why.reason && (on === undefined || one.on === on));
  const never = contenders.flatMap(({ name, not_run: why }) => (why && !told(name, why) ? [{ name, why, when: "" }] : []));
  const nowhere = run.networks.flatMap(({ network, not_run: why }) => (why ? [{ name: network, what: "network not to be had", why, when: "" }] : []));
  const neverOn = contenders.flatMap(({ name, not_run_on: absences = [] }) => {
    const untold = absences.filter((why) => !told(name, why, on(settingOf(why))));
    const settingsBy = (reason: string): string[] => untold.filter((why) => why.reason === reason).map(settingOf);
    const firsts = untold.filter((why) => settingsBy(why.reason)[0] === settingOf(why));
    return firsts.map((why) => ({ name, why, when: on(settingsBy(why.reason).join(", ")) }));
  });
  return [...nowhere, ...never, ...neverOn, ...failed];
}
