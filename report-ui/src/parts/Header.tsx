/** Above everything: what this is, of when, from where; and the choice of light and dark. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { capitalised, readableTime, span } from "../format";
import type { Live } from "../live";
import { chooseScheme, chosenScheme, type Scheme } from "../theme";
import type { Report } from "../select";
import type { RunFacts } from "../types";
import { Select } from "./Choice";
import { LiveNotice } from "./LiveNotice";

const STATES: Record<RunFacts["state"], string | null> = {
  complete: null,
  running: "This run had not ended when the report was made; what follows is what was measured so far.",
  budget_spent: "The time allowed was spent before all planned rounds were measured.",
  interrupted: "The run was stopped by hand; what follows is what was measured until then.",
};

export function Header({ report, live }: { report: Report; live: Live | null }): JSX.Element {
  const { run } = report.head;
  const notice = live && run.state === "running" ? null : STATES[run.state];
  return (
    <header class="top">
      <p class="facts">
        <b>assay</b>
        <span>{run.experiment.name}</span>
        <time dateTime={run.started_at}>{readableTime(run.started_at)}</time>
        <span>{span(run.elapsed_ns)}</span>
        <span>{linkOf(run)}</span>
        {run.host.cpu_model && <span>{run.host.cpu_model}</span>}
      </p>
      {report.source.heads.length > 1 && <RunSwitch report={report} />}
      <SchemeButton />
      {run.imported && <p class="notice">{capitalised(run.imported)}.</p>}
      {live && <LiveNotice live={live} name={run.id} />}
      {notice && <p class="notice">{notice}</p>}
    </header>
  );
}

/** Chooses the run; the link filters those offered where they differ in it. */
function RunSwitch({ report }: { report: Report }): JSX.Element {
  const { source, view, choose } = report;
  const links = [...new Set(source.heads.map(({ run }) => linkOf(run)))];
  const offered = source.heads.flatMap(({ run }, i) => (view.link === "" || linkOf(run) === view.link ? [[String(i), nameOf(run)] as const] : []));
  const chooseLink = (link: string): void => {
    const first = source.heads.findIndex(({ run }) => link === "" || linkOf(run) === link);
    choose({ link, run: link === "" || linkOf(report.head.run) === link ? view.run : first });
  };
  return (
    <span class="runs">
      <Select label="run" options={offered} chosen={String(view.run)} onChoose={(run) => choose({ run: Number(run) })} />
      {links.length > 1 && <Select label="link" options={[["", "any"], ...links.map((link) => [link, link] as const)]} chosen={view.link} onChoose={chooseLink} />}
    </span>
  );
}

/** What joined client and server: stack and wire of each network that was had, where the experiment names them. */
function linkOf({ link, networks }: RunFacts): string {
  return networks.flatMap(({ network, not_run }) => (not_run ? [] : [network])).join(", ") || link;
}

function nameOf(run: RunFacts): string {
  return [run.experiment.name, readableTime(run.started_at), linkOf(run), run.host.cpu_model].filter(Boolean).join(" · ");
}

function SchemeButton(): JSX.Element {
  const [scheme, setScheme] = useState<Scheme>(chosenScheme);
  const dark = scheme === "dark" || (scheme === null && matchMedia("(prefers-color-scheme: dark)").matches);
  const toggle = (): void => {
    const chosen: Scheme = dark ? "light" : "dark";
    chooseScheme(chosen);
    setScheme(chosen);
  };
  return (
    <button type="button" class="scheme" onClick={toggle}>
      {dark ? "light" : "dark"}
    </button>
  );
}
