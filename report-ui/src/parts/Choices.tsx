/** What the charts show: a workload, a number of connections, and which contenders. */
import type { JSX } from "preact";
import type { Report } from "../select";
import { legendOf, settingsOf, togglePin, widthsOf, workloadsOf } from "../state";
import { Choice, Select } from "./Choice";

/** Fewer contenders than this need no filter. */
const MANY = 4;

export function Choices({ report }: { report: Report }): JSX.Element {
  const { head, view, choose } = report;
  const workloads = workloadsOf(head.spots);
  const widths = widthsOf(head.spots, view.workload, view.setting);
  const settings = settingsOf(head.spots, view.workload);
  const proper = head.contenders.filter((entry) => entry !== report.limit);
  return (
    <form class="switch" aria-label="What the charts show" onSubmit={(event) => event.preventDefault()}>
      {workloads.length > 1 && <Choice legend="workload" options={workloads} chosen={view.workload} onChoose={(workload) => choose({ workload })} />}
      {widths.length > 1 && <Choice legend="connections" options={widths} chosen={view.width} onChoose={(width) => choose({ width })} />}
      {settings.length > 0 && <Choice legend={legendOf(head.spots)} options={settings} chosen={view.setting} onChoose={(setting) => choose({ setting })} />}
      {proper.length >= MANY && <Filters report={report} />}
    </form>
  );
}

function Filters({ report }: { report: Report }): JSX.Element {
  const { head, view, choose } = report;
  const proper = head.contenders.filter((entry) => entry !== report.limit);
  const languages = [...new Set(proper.map((entry) => entry.language).filter(Boolean))].sort();
  const kinds = [...new Set(proper.map((entry) => entry.kind))].sort();
  const isNarrowed = view.find !== "" || view.language !== "" || view.kind !== "";
  const shown = proper.filter((entry) => report.isShown(entry.name)).length;
  const any = (all: readonly string[]): [string, string][] => [["", "any"], ...all.map((one): [string, string] => [one, one])];
  return (
    <details class="filters" open={isNarrowed || view.pins.length > 0 || innerWidth >= 1152}>
      <summary>
        {isNarrowed ? `${shown} of ${proper.length} contenders` : `${proper.length} contenders`}
      </summary>
      <label class="select">
        <span>find</span>
        <input type="search" value={view.find} spellcheck={false} onInput={(event) => choose({ find: event.currentTarget.value })} />
      </label>
      {languages.length > 1 && <Select label="language" options={any(languages)} chosen={view.language} onChoose={(language) => choose({ language })} />}
      {kinds.length > 1 && <Select label="kind" options={any(kinds)} chosen={view.kind} onChoose={(kind) => choose({ kind })} />}
      <Pins report={report} />
    </details>
  );
}

function Pins({ report }: { report: Report }): JSX.Element | null {
  const { view, choose } = report;
  if (view.pins.length === 0) return null;
  return (
    <div class="pins" role="group" aria-label="Pinned">
      {view.pins.map((name) => (
        <button key={name} type="button" title="no longer pinned" onClick={() => choose({ pins: togglePin(view.pins, name) })}>
          <i style={{ background: report.looks.get(name)?.color }} aria-hidden="true" />
          {name} <span aria-hidden="true">×</span>
        </button>
      ))}
    </div>
  );
}
