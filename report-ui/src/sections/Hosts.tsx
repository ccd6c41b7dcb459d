/** What each host of a run did: where one looks first when a figure is odd. */
import type { JSX } from "preact";
import { Section } from "../parts/Section";
import { Table, type Column } from "../parts/Table";
import type { Report } from "../select";
import type { HostRow, HostTable } from "../types";

export function HostsSection({ report }: { report: Report }): JSX.Element | null {
  const { hosts } = report.head;
  if (!hosts) return null;
  return (
    <Section id="hosts" title="Hosts" wide question="Where did servers run and load come from, and was any host late, lost, limited or unlike the others?">
      <Table caption="Hosts" columns={columns(hosts)} rows={hosts.rows} />
      <ul class="plain key">
        {hosts.notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </Section>
  );
}

function columns(hosts: HostTable): Column<HostRow>[] {
  const figures = hosts.heads.map((head, i) => ({ head, text: head === "role", cell: (row: HostRow) => row.texts[i] ?? "–" }));
  return [{ head: "host", text: true, cell: (row: HostRow) => (row.is_odd ? `! ${row.name}` : row.name) }, ...figures];
}
