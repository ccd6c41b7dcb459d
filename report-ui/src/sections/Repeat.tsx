/** All that is needed to repeat the run: command, plan, machine, versions. */
import type { JSX } from "preact";
import { bytes, readableTime } from "../format";
import { contenderColumn } from "../parts/columns";
import { Facts, type FactRow } from "../parts/Facts";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Report } from "../select";
import type { Entry, RunFacts } from "../types";

export function RepeatSection({ report }: { report: Report }): JSX.Element {
  const { run, contenders } = report.head;
  return (
    <Section id="repeat" title="How to repeat it" wide question="What was run, where, and with what?">
      <pre tabIndex={0}><code>{run.command}</code></pre>
      <div class="facts-columns">
        <Facts title="Run" rows={runRows(run)} />
        <Facts title="Machine" rows={machineRows(run)} />
      </div>
      <Table caption="Contenders" columns={columns(report)} rows={contenders} />
    </Section>
  );
}

function runRows({ id, started_at, seed, assay, experiment: plan, workloads, isolation, engines, link, networks }: RunFacts): FactRow[] {
  return [
    ["id", id],
    ["started", readableTime(started_at)],
    ["seed", seed],
    ["assay", `${assay.version}${assay.profile === "release" ? "" : ` (${assay.profile} build)`}`],
    ["experiment", `${plan.name}${plan.about && `: ${plan.about}`}`],
    ["plan", `up to ${plan.rounds} rounds; ${plan.warmup_s} s warm-up, ${plan.window_s} s windows, ${plan.settle_s} s before each${plan.budget_s ? `; at most ${plan.budget_s} s` : ""}`],
    ["workloads", workloads.map((workload) => `${workload.name}: ${workload.about}`).join(" ")],
    ["link", networks.length > 0 ? null : link],
    ["networks", networks.map(({ network }) => network).join(", ")],
    ["engine", engines.join(", ")],
    ["isolation", isolation.statement || `server on CPU ${isolation.server_cpus}, generator on CPU ${isolation.generator_cpus}`],
  ];
}

function machineRows({ host }: RunFacts): FactRow[] {
  const yesNo = (value: boolean | null): string | null => (value === null ? null : value ? "on" : "off");
  return [
    ["processor", host.cpu_model],
    ["CPUs", `${host.cpus} on ${host.cores} cores, ${host.numa_nodes} NUMA ${host.numa_nodes === 1 ? "node" : "nodes"}`],
    ["shared cores", yesNo(host.smt)],
    ["memory", host.memory_bytes === null ? null : bytes(host.memory_bytes)],
    ["system", host.distribution],
    ["kernel", host.kernel],
    ["hypervisor", host.hypervisor],
    ["container", host.container],
    ["governor", host.governor],
    ["turbo", yesNo(host.turbo)],
    ["clock source", host.clock_source],
    ["mitigations", host.mitigations.join("; ")],
    ["open files", host.nofile?.join(" soft, ").concat(" hard")],
    ["local ports", host.ephemeral_ports?.join("–")],
    ["accept queue", host.somaxconn],
    ["SYN queue", host.syn_backlog],
    ["congestion control", host.congestion_control],
    ["load average", host.load_average],
  ];
}

function columns(report: Report): Column<Entry>[] {
  const versions = (entry: Entry): string => Object.entries(entry.versions).map(([of, version]) => `${of} ${version}`).join(", ");
  return [
    contenderColumn(report, (entry) => entry.name),
    { head: "versions", text: true, cell: versions },
    { head: "command", text: true, cell: (entry) => <code>{typeof entry.origin === "object" ? entry.origin.url : entry.command.join(" ")}</code> },
    { head: "set-up", text: true, cell: (entry) => [entry.about, ...entry.tuning].filter(Boolean).join(" · ") },
  ];
}
