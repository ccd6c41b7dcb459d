/** All that the record has on one contender. A dialog: Escape closes it, the focus stays inside and goes back after. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count, duration, megabytes, percent, percentile, rate, rateInterval, readableTime, score, significant } from "./format";
import { boldColumn, estimateColumn, figureColumn, intervalColumn, textColumn } from "./parts/columns";
import { Facts } from "./parts/Facts";
import { Prose } from "./parts/Prose";
import { Table, type Column } from "./parts/Table";
import { GeneratorTable } from "./sections/Generators";
import { onSetting, type Cell, type Report } from "./select";
import { loadNamed, placeInWords, settingOf, togglePin, widthOf } from "./state";
import type { Entry, NotRun, Spot, Standing } from "./types";
import { useCells } from "./useCells";
import { LIMITED_BY, ruleInWords, STAGES } from "./words";

export function Drawer({ report, name }: { report: Report; name: string }): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const entry = report.entries.get(name);
  useEffect(() => dialog.current?.showModal(), []);
  if (!entry) return null;
  const close = (): void => report.choose({ open: "" });
  const isPinned = report.view.pins.includes(name);
  return (
    <dialog ref={dialog} class="drawer" aria-labelledby="drawer-title" onClose={close} onClick={(event) => event.target === dialog.current && close()}>
      <div class="sheet">
        <header>
          <h2 id="drawer-title">{name}</h2>
          <button type="button" class="scheme" aria-pressed={isPinned} onClick={() => report.choose({ pins: togglePin(report.view.pins, name) })}>
            {isPinned ? "unpin" : "pin"}
          </button>
          <button type="button" class="scheme" onClick={close}>
            close
          </button>
        </header>
        <p>{entry.about}</p>
        <Facts rows={entryRows(entry)} />
        <Warnings report={report} name={name} />
        <Measured report={report} name={name} />
        <Changes report={report} name={name} />
        <ByGenerator report={report} name={name} />
        <Rules entry={entry} />
        <Logs report={report} entry={entry} />
      </div>
    </dialog>
  );
}

function entryRows(entry: Entry): [string, ComponentChildren][] {
  return [
    ["title", entry.title],
    ["kind", entry.kind],
    ["source", sourceOf(entry)],
    ["language", entry.language],
    ["versions", Object.entries(entry.versions).map(([of, version]) => `${of} ${version}`).join(", ")],
    ["command", <code>{typeof entry.origin === "object" ? entry.origin.url : entry.command.join(" ")}</code>],
    ["set-up", entry.tuning.join(" · ")],
    ["workloads", entry.workloads.join(", ")],
  ];
}

function sourceOf({ origin, language, name }: Entry): string {
  if (origin === "folder") return `a folder of the catalogue, contenders/${language}/${name} in assay's own`;
  return origin === "command" ? "a command of whoever ran this" : "a server that was running already";
}

/** What asks for caution, or made a figure void, with its remedy. */
function Warnings({ report, name }: { report: Report; name: string }): JSX.Element | null {
  const own = report.head.warnings.filter(({ places }) => places.some(({ contender }) => contender === name));
  if (own.length === 0) return null;
  return (
    <>
      <h3>Warnings</h3>
      <ul class="plain">
        {own.map(({ rule, evidence, remedy }) => (
          <li key={rule}>
            <b>{ruleInWords(rule)}</b>: <Prose words={evidence} />
            {remedy && <p class="remedy"><Prose words={remedy} /></p>}
          </li>
        ))}
      </ul>
    </>
  );
}

function Changes({ report, name }: { report: Report; name: string }): JSX.Element | null {
  const { since } = report.head;
  const own = since?.rows.filter(({ contender }) => contender === name) ?? [];
  if (!since || own.length === 0) return null;
  return (
    <>
      <h3>Since the run of {readableTime(since.started_at)}</h3>
      <ul class="plain">
        {own.map((row) => (
          <li key={placeInWords(row)}>
            <b>{placeInWords(row)}</b> {row.sentence}
          </li>
        ))}
      </ul>
    </>
  );
}

function ByGenerator({ report, name }: { report: Report; name: string }): JSX.Element | null {
  const own = report.head.by_generator.map((cell) => ({ ...cell, standings: cell.standings.filter(({ contender }) => contender === name) }));
  const told = own.filter(({ standings }) => standings.length > 0);
  if (told.length === 0) return null;
  return (
    <>
      <h3>By generator</h3>
      {told.map((cell) => (
        <GeneratorTable key={placeInWords(cell)} report={report} cell={cell} />
      ))}
    </>
  );
}

/** `hello 64`; with the setting where there are several. */
const placeOf = ({ head }: Report, spot: Spot): string => `${spot.workload} ${widthOf(spot)}${onSetting(head, settingOf(spot))}`;

interface Row extends Standing {
  place: string;
}

function Measured({ report, name }: { report: Report; name: string }): JSX.Element | null {
  const cells = useCells(report, () => true);
  const rows = cells.flatMap(({ spot, all }) => all.filter((s) => s.contender === name).map((s): Row => ({ ...s, place: placeOf(report, spot) })));
  const checks = rows.flatMap(({ place, checks }) => checks.map((check) => ({ ...check, place })));
  return (
    <>
      {rows.length > 0 && <h3>At capacity</h3>}
      {rows.length > 0 && <Table caption="At capacity" columns={COLUMNS.filter(({ sort }) => rows.some((row) => sort?.(row) !== null))} rows={rows} across={(row) => (row.withheld ? <em>withheld: {row.withheld}</em> : null)} />}
      <AtRates report={report} cells={cells} name={name} />
      {checks.length > 0 && <h3>Checks that did not pass</h3>}
      <ul class="plain">
        {checks.map((check) => (
          <li key={check.place + check.rule}>
            <b>{check.place}</b> <Prose words={check.evidence} />
          </li>
        ))}
      </ul>
    </>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  textColumn("where", (row) => row.place),
  boldColumn("req/s", (row) => row.throughput_per_second, (of) => rateInterval(of).estimate),
  { ...intervalColumn((row) => row.throughput_per_second, (of) => rateInterval(of).interval), sort: (row) => row.throughput_per_second?.low ?? null },
  figureColumn("tier", (row) => row.tier, String),
  estimateColumn("of limit", (row) => row.share_of_limit, ({ estimate }) => percent(estimate)),
  estimateColumn("p50", (row) => row.p50_ns, ({ estimate }) => duration(estimate)),
  estimateColumn("p99", (row) => row.p99_ns, ({ estimate }) => duration(estimate)),
  figureColumn("cpu/req", (row) => row.cpu_per_request_ns, duration),
  figureColumn("in kernel", (row) => row.price.system_ns, duration),
  figureColumn("memory, MB", (row) => row.memory_bytes, megabytes),
  figureColumn("idle, MB", (row) => row.price.rss_idle_bytes, megabytes),
  figureColumn("start-up", (row) => row.startup_ns, duration),
  figureColumn("server busy", (row) => row.server_busy_share, percent),
  figureColumn("generator busy", (row) => row.generator_busy_share, percent),
  figureColumn("system calls/req", (row) => row.price.system_calls, significant),
  figureColumn("waits/req", (row) => row.price.voluntary_switches, significant),
  figureColumn("pre-empted/req", (row) => row.price.involuntary_switches, significant),
  figureColumn("faults/req", (row) => row.price.page_faults, significant),
  figureColumn("cycles/req", (row) => row.price.cycles, rate),
  figureColumn("instructions/req", (row) => row.price.instructions, rate),
  figureColumn("failed", (row) => row.failed, count),
  { head: "limited by", text: true, cell: (row) => LIMITED_BY[row.limited_by], sort: (row) => row.limited_by },
  { head: "because", text: true, cell: (row) => row.limit_evidence, sort: (row) => row.limit_evidence ?? null },
];

function AtRates({ report, cells, name }: { report: Report; cells: readonly Cell[]; name: string }): JSX.Element | null {
  const items = cells.flatMap(({ spot, latency, redlines }) => [
    ...latency.flatMap(({ offered, standings }) => standings.filter((s) => s.contender === name && !s.withheld).map((s) => ({
      place: `${placeOf(report, spot)}, ${loadNamed(offered ?? "")}`,
      words: `${rate(s.offered_per_second ?? 0)} req/s: ${s.quantiles.map((q) => `p${percentile(q.quantile)} ${duration(q.response_ns.estimate)}`).join(", ")}`,
    }))),
    ...redlines.flatMap(({ offered, standings }) => standings.filter((s) => s.contender === name && s.kept_per_second !== null).map((s) => ({
      place: `${placeOf(report, spot)}, ${offered ?? ""}`,
      words: `kept up to ${rate(s.kept_per_second ?? 0)} req/s${s.missed_per_second === null ? "" : `, missed from ${rate(s.missed_per_second)}`}`,
    }))),
  ]);
  if (items.length === 0) return null;
  return (
    <>
      <h3>At given rates</h3>
      <ul class="plain">
        {items.map(({ place, words }) => (
          <li key={place}>
            <b>{place}</b> {words}
          </li>
        ))}
      </ul>
    </>
  );
}

function Rules({ entry }: { entry: Entry }): JSX.Element | null {
  const findings = entry.conformance?.findings ?? [];
  if (findings.length === 0) return null;
  const broken = findings.filter((finding) => finding.ruling === "broken");
  const kept = findings.filter((finding) => finding.ruling === "kept").length;
  return (
    <>
      <h3>Rules of HTTP kept: {score({ kept, applicable: kept + broken.length })}</h3>
      <ul class="plain">
        {broken.map((finding) => (
          <li key={finding.rule}>
            <b>{finding.severity}</b> {finding.sentence} <small>{finding.source}</small> {finding.evidence && <code>{finding.evidence}</code>}
          </li>
        ))}
      </ul>
    </>
  );
}

function Logs({ report, entry }: { report: Report; entry: Entry }): JSX.Element {
  const ended = report.head.failures.filter((failure) => failure.contender === entry.name);
  const all: { when: string; why: NotRun }[] = [
    ...(entry.not_run ? [{ when: "", why: entry.not_run }] : []),
    ...(entry.not_run_on ?? []).map((why) => ({ when: onSetting(report.head, settingOf(why)), why })),
    ...ended.map(({ round, why, ...where }) => ({ when: `${onSetting(report.head, settingOf(where))}, round ${round + 1}`, why })),
  ];
  return (
    <>
      {all.map(({ when, why }) => (
        <div key={when}>
          <h3>
            {STAGES[why.stage]}
            {when}
          </h3>
          <p>{why.reason}</p>
          {why.remedy && <p class="remedy">{why.remedy}</p>}
          {why.log_tail && why.log_tail.length > 0 && <pre tabIndex={0}>{why.log_tail.join("\n")}</pre>}
        </div>
      ))}
    </>
  );
}
