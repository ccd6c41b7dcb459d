/** Whether the numbers may be believed: every check with its evidence, what failed first, what is void open. */
import type { JSX } from "preact";
import { Prose } from "../parts/Prose";
import { Section } from "../parts/Section";
import { capitalised, unbroken } from "../format";
import { onSetting, type Report } from "../select";
import { settingOf } from "../state";
import type { Check, Warning } from "../types";
import { ruleInWords } from "../words";

const MARKS = { pass: "✓", warn: "!", void: "✕" } as const;
const WORDS = { warn: "caution", void: "void" } as const;

export function TrustSection({ report }: { report: Report }): JSX.Element {
  const { trust, warnings, margin_in_words: margin } = report.head;
  const passed = passedOf(trust, warnings);
  return (
    <Section id="trust" title="Can I trust this?" question={summary(passed.length, warnings)}>
      <div class="checks">
        {warnings.map((warning) => (
          <CheckRow key={warning.rule} check={warning} places={placesInWords(report, warning)} />
        ))}
      </div>
      <div class="checks passed">
        {passed.map((check) => (
          <CheckRow key={check.rule} check={check} places="" />
        ))}
      </div>
      {margin && <p class="aside">{capitalised(unbroken(margin))}.</p>}
    </Section>
  );
}

/** What passed for the whole run and is objected to nowhere: a rule that all windows together keep may be broken by one contender. */
export const passedOf = (trust: readonly Check[], warnings: readonly Pick<Warning, "rule">[]): Check[] =>
  trust.filter(({ rule, outcome }) => outcome === "pass" && !warnings.some((warning) => warning.rule === rule));

function summary(passed: number, warnings: readonly Warning[]): string {
  const voids = warnings.filter((warning) => warning.outcome === "void").length;
  const cautions = warnings.length - voids;
  const parts = [`${passed} ${passed === 1 ? "check" : "checks"} passed`];
  if (cautions > 0) parts.push(`${cautions} ${cautions === 1 ? "asks" : "ask"} for caution`);
  if (voids > 0) parts.push(`${voids} made numbers void`);
  return `${parts.join(", ")}. Press one for its evidence.`;
}

function CheckRow({ check, places }: { check: Check | Warning; places: string }): JSX.Element {
  return (
    <details class={`check ${check.outcome}`} open={check.outcome === "void"}>
      <summary>
        <span class="mark">{MARKS[check.outcome]}</span>
        <span class="rule">{ruleInWords(check.rule)}</span>
        {check.outcome !== "pass" && <span class="brief">{check.evidence}</span>}
        {check.outcome !== "pass" && <span class="outcome">{WORDS[check.outcome]}</span>}
      </summary>
      <p><Prose words={check.evidence} /></p>
      {places && <p class="places">{places}</p>}
      {check.remedy && <p class="remedy"><Prose words={check.remedy} /></p>}
    </details>
  );
}

/** Each fact once: `nginx, Gin: hello, json at 16, 64 on kernel/veth; byte at 16`. */
export function placesInWords(report: Report, warning: Warning): string {
  const cells = new Map<string, string[]>();
  for (const [contender, places] of grouped(warning.places, (place) => place.contender)) {
    add(cells, cellsInWords(report, places), contender);
  }
  return [...cells].map(([words, names]) => `${names.join(", ")}: ${words}`).join("; ");
}

/** Of one contender: workloads that share numbers of connections and settings together. */
function cellsInWords(report: Report, places: readonly Warning["places"][number][]): string {
  const workloads = new Map<string, string[]>();
  for (const members of grouped(places, ({ workload, connections }) => `${workload} ${connections.join(", ")}`).values()) {
    const [{ workload, connections }] = members as [Warning["places"][number]];
    const settings = members.map(settingOf).join(", ");
    add(workloads, `at ${connections.join(", ")}${onSetting(report.head, settings)}`, workload);
  }
  return [...workloads].map(([where, names]) => `${names.join(", ")} ${where}`).join("; ");
}

function grouped<T>(all: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) add(groups, keyOf(one), one);
  return groups;
}

function add<T>(groups: Map<string, T[]>, key: string, value: T): void {
  groups.set(key, [...(groups.get(key) ?? []), value]);
}
