/** Workloads that differ in a number, such as the queries that a request makes of the database. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { scalingChart } from "../charts/scaling";
import { capitalised } from "../format";
import { Chart } from "../parts/Chart";
import { Choice } from "../parts/Choice";
import { Drawn } from "../parts/Drawn";
import { Section } from "../parts/Section";
import { Table } from "../parts/Table";
import { onSetting, type Report } from "../select";
import { isIn, widthOf } from "../state";
import type { Theme } from "../theme";
import type { Spot } from "../types";
import { useCells } from "../useCells";
import { columnsBy, linesBy } from "./by-number";

export interface FamilyView {
  name: string;
  parameter: string;
  /** The number of each member, by its workload's name. */
  values: Map<string, number>;
  widths: string[];
}

/** Families of which several members were measured in the setting that is looked at. */
export function familiesOf({ head, view }: Pick<Report, "head" | "view">): FamilyView[] {
  const families = new Map<string, FamilyView>();
  for (const { name, family } of head.run.workloads) {
    const widths = head.spots.filter((spot) => spot.workload === name && isIn(spot, view.setting)).map(widthOf);
    if (!family || widths.length === 0) continue;
    const known = families.get(family.name) ?? { name: family.name, parameter: family.parameter, values: new Map(), widths: [] };
    known.values.set(name, family.value);
    known.widths = [...new Set([...known.widths, ...widths])];
    families.set(family.name, known);
  }
  return [...families.values()].filter((family) => family.values.size > 1);
}

/** The family of the workload that is looked at, else the first. */
export function familyOf(report: Report): FamilyView | undefined {
  const families = familiesOf(report);
  return families.find(({ values }) => values.has(report.view.workload)) ?? families[0];
}

export function FamilySection({ report }: { report: Report }): JSX.Element | null {
  const families = familiesOf(report);
  const family = familyOf(report);
  if (!family) return null;
  const width = family.widths.includes(report.view.width) ? report.view.width : (family.widths[0] ?? "");
  return (
    <Section id="family" title={titleIn(family)} question={`What does each further ${singular(family.parameter)} cost? Validated answers per second, ${family.name} at ${width} connections${onSetting(report.head, report.view.setting)}.`}>
      {families.length > 1 && <Choice legend="work" options={families.map(({ name }) => name)} chosen={family.name} onChoose={(name) => report.choose({ workload: memberOf(families, name) })} />}
      <FamilyChart report={report} family={family} width={width} />
    </Section>
  );
}

/** `By number of queries`, `Files by size`. */
export function titleIn({ name, parameter }: FamilyView): string {
  const words = name === parameter ? `by number of ${parameter}` : `${name} by ${parameter}`;
  return capitalised(words);
}

function memberOf(families: readonly FamilyView[], name: string): string {
  return [...(families.find((family) => family.name === name)?.values.keys() ?? [])][0] ?? "";
}

/** `queries` is `query`, `size` is `size`. */
function singular(word: string): string {
  return word.replace(/ies$/, "y").replace(/([^s])s$/, "$1");
}

function FamilyChart({ report, family, width }: { report: Report; family: FamilyView; width: string }): JSX.Element | null {
  const cells = useCells(report, (spot: Spot) => family.values.has(spot.workload) && widthOf(spot) === width && isIn(spot, report.view.setting));
  const lines = useMemo(() => linesBy(report, cells, (spot) => family.values.get(spot.workload) ?? 1), [report, family.name, cells]);
  const levels = useMemo(() => [...family.values.values()].sort((a, b) => a - b), [family.name]);
  const draw = useMemo(() => {
    const limit = lines.find((line) => line.name === report.limit?.name) ?? null;
    return (theme: Theme, wide: number) => scalingChart({ lines: lines.filter((line) => line !== limit), limit, levels, label: family.parameter }, theme, wide);
  }, [lines, levels]);
  if (lines.length === 0) return <p class="key">No figure counts here.</p>;
  const caption = `Throughput of ${family.name} by ${family.parameter} at ${width} connections${onSetting(report.head, report.view.setting)}`;
  return (
    <>
      <Drawn report={report} names={lines.map(({ name }) => name)} />
      <Chart label={`${caption}.`} draw={draw} twin={<Table caption={caption} columns={columnsBy(report, levels)} rows={lines} />} />
    </>
  );
}
