/** What each stack did to answer: frames and what went wrong with them, and system calls. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { count, few } from "../format";
import { Name } from "../parts/Name";
import { Table, type Column } from "../parts/Table";
import { titleOf, type Report } from "../select";
import { isBeside } from "../state";
import type { Spot, StackCounters, StackCounts } from "../types";

/** More rows than this wait until somebody asks for them. */
const MOST_OPEN = 24;

export function CountersTable({ report, spot, place }: { report: Report; spot: Spot; place: string }): JSX.Element | null {
  const rows = report.head.stack_counters.filter((row) => report.isShown(row.contender) && isBeside(row, spot));
  const [open, setOpen] = useState(rows.length <= MOST_OPEN);
  if (rows.length === 0) return null;
  return (
    <details class="part" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What each stack did</summary>
      <p class="key">
        Frames and system calls per right answer. Frames, segments sent again, timers that fired and times that the wire was
        full are those of the generator's own stack, from its first connection to its last; the kernel's does not tell them
        for one program.
      </p>
      {open && <Table caption={`What each stack did, ${place}`} columns={columns(report, rows)} rows={rows} />}
    </details>
  );
}

/** Of a stack that works in rounds hardly any are left. */
const calls = (perAnswer: number): string => (perAnswer > 0 && perAnswer < 0.001 ? "< 0.001" : few(perAnswer));

/** Per right answer. */
function frames({ stack, answers }: StackCounters): string {
  return stack && answers > 0 ? `${few(stack.received_frames / answers)}, ${few(stack.sent_frames / answers)}` : "–";
}

function columns(report: Report, rows: StackCounters[]): Column<StackCounters>[] {
  const hasGivenUp = rows.some(({ stack }) => (stack?.dropped_frames ?? 0) > 0);
  const told = (head: string, value: (row: StackCounters) => number | null, format: (value: number) => string): Column<StackCounters> => ({
    head,
    sort: value,
    cell: (row) => {
      const found = value(row);
      return found === null ? "–" : format(found);
    },
  });
  const own = (head: string, value: (stack: StackCounts) => number): Column<StackCounters> => told(head, ({ stack }) => stack && value(stack), count);
  return [
    { head: "contender", text: true, cell: (row) => <Name report={report} name={row.contender} />, sort: (row) => titleOf(report, row.contender) },
    { head: "network", text: true, cell: (row) => row.network, sort: (row) => row.network ?? null },
    told("calls, server", (row) => row.server_system_calls, calls),
    told("calls, generator", (row) => row.generator_system_calls, calls),
    { head: "frames in, out", sort: ({ stack }) => stack && stack.received_frames + stack.sent_frames, cell: frames },
    own("sent again", (stack) => stack.retransmitted_segments),
    own("timers", (stack) => stack.retransmission_timeouts),
    own("wire full", (stack) => stack.wire_full),
    ...(hasGivenUp ? [own("given up", (stack) => stack.dropped_frames)] : []),
  ];
}
