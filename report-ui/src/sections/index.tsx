/** The sections of a report in their order: those for which the record has something to show. */
import type { JSX } from "preact";
import { spotOf, type Cell, type Report } from "../select";
import { widthsOf } from "../state";
import { CurvesSection } from "./Curves";
import { familyOf, FamilySection, titleIn } from "./Family";
import { GeneratorsSection } from "./Generators";
import { HostsSection } from "./Hosts";
import { NotRunSection } from "./NotRun";
import { OverTimeSection } from "./OverTime";
import { PairsSection } from "./Pairs";
import { PriceSection } from "./Price";
import { PublishedSection } from "./Published";
import { ProtocolsSection } from "./Protocols";
import { ProxiesSection } from "./Proxies";
import { RatesSection } from "./Rates";
import { RepeatSection } from "./Repeat";
import { RoundsSection } from "./Rounds";
import { ScalingSection } from "./Scaling";
import { SharesSection } from "./Shares";
import { SinceSection } from "./Since";
import { StacksSection } from "./Stacks";
import { StandingsSection } from "./Standings";
import { TrustSection } from "./Trust";
import { VerdictSection } from "./Verdict";
import { explainedAt, WhySection } from "./Why";

export interface SectionEntry {
  id: string;
  title: string;
  wide?: boolean;
  draw: () => JSX.Element | null;
}

export function sectionsOf(report: Report, cell: Cell | undefined): SectionEntry[] {
  const { head } = report;
  const missing = head.failures.length > 0 || head.contenders.some((entry) => entry.not_run || (entry.not_run_on ?? []).length > 0) || head.run.networks.some(({ not_run }) => not_run);
  return [
    { id: "verdict", title: "Verdict", wide: true, draw: () => <VerdictSection report={report} cell={cell} /> },
    { id: "trust", title: "Can I trust this?", draw: () => <TrustSection report={report} /> },
    ...(head.hosts ? [{ id: "hosts", title: "Hosts", wide: true, draw: () => <HostsSection report={report} /> }] : []),
    ...(cell ? cellSections(report, cell) : []),
    ...(head.since ? [{ id: "since", title: "Since the last run", wide: true, draw: () => <SinceSection report={report} /> }] : []),
    ...(head.by_generator.length + head.generators_missing.length > 0 ? [{ id: "generators", title: "Is it the generator?", wide: true, draw: () => <GeneratorsSection report={report} /> }] : []),
    ...(head.published ? [{ id: "published", title: "As published", wide: true, draw: () => <PublishedSection report={report} /> }] : []),
    ...(missing ? [{ id: "not-run", title: "Not run", wide: true, draw: () => <NotRunSection report={report} /> }] : []),
    { id: "repeat", title: "How to repeat it", wide: true, draw: () => <RepeatSection report={report} /> },
  ];
}

function cellSections(report: Report, cell: Cell): SectionEntry[] {
  const atCapacity = cell.standings.length > 0;
  const family = familyOf(report);
  const levels = widthsOf(report.head.spots, cell.spot.workload, report.view.setting);
  const all: (SectionEntry & { there: boolean })[] = [
    { id: "standings", title: "Standings", wide: true, there: atCapacity, draw: () => <StandingsSection report={report} cell={cell} /> },
    { id: "pairs", title: "Who beats whom", there: cell.pairs.call.length > 0, draw: () => <PairsSection report={report} cell={cell} /> },
    { id: "times", title: "Latency", there: cell.curves.length > 0, draw: () => <CurvesSection report={report} cell={cell} /> },
    { id: "rates", title: "Latency and load", there: cell.latency.length + cell.redlines.length > 0, draw: () => <RatesSection report={report} cell={cell} /> },
    { id: "scaling", title: "Scaling", there: atCapacity && levels.length > 1, draw: () => <ScalingSection report={report} cell={cell} /> },
    { id: "family", title: family ? titleIn(family) : "", there: family !== undefined, draw: () => <FamilySection report={report} /> },
    { id: "shares", title: "Share within a time", there: cell.curves.length > 0, draw: () => <SharesSection report={report} cell={cell} /> },
    { id: "over-time", title: "Over time", there: atCapacity, draw: () => <OverTimeSection report={report} cell={cell} /> },
    { id: "price", title: "Price", there: atCapacity, draw: () => <PriceSection report={report} cell={cell} /> },
    { id: "stacks", title: "Stack cost", wide: true, there: report.head.stack_cost.length > 0, draw: () => <StacksSection report={report} cell={cell} /> },
    { id: "protocols", title: "Protocol cost", wide: true, there: report.head.protocol_cost.length > 0, draw: () => <ProtocolsSection report={report} cell={cell} /> },
    { id: "proxies", title: "Proxy cost", wide: true, there: report.head.proxy_cost.length + report.head.added_latency.length > 0, draw: () => <ProxiesSection report={report} cell={cell} /> },
    { id: "why", title: "Where the time goes", wide: true, there: explainedAt(report, cell).length > 0, draw: () => <WhySection report={report} cell={cell} /> },
    { id: "rounds", title: "Every round", there: atCapacity, draw: () => <RoundsSection report={report} cell={cell} /> },
  ];
  return spotOf(report) < 0 ? [] : all.filter(({ there }) => there);
}
