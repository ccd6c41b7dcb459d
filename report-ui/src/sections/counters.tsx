/** What the user-space stack of each end did to answer: system calls, frames, and what went wrong with them. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { callsPerAnswer, count, few } from "../format";
import { figureColumn, textColumn } from "../parts/columns";
import { Name } from "../parts/Name";
import { Table, type Column } from "../parts/Table";
import type { Report } from "../select";
import { isBeside } from "../state";
import type { EndCounters, Spot, StackCounters, StackCounts, ToldCounts } from "../types";

/** More rows than this wait until somebody asks for them. */
const MOST_OPEN = 24;

/** The server first, as it is what is measured. */
const ENDS = ["server", "generator"] as const;

/** One end of the wire. */
interface End extends EndCounters {
  contender: string;
  network: string | null;
  end: (typeof ENDS)[number];
}

/** What a stack counts beside what every answer takes. */
interface Counter {
  head: string;
  words: string;
  of: (counts: StackCounts) => number;
}

const COUNTERS: readonly Counter[] = [
  { head: "sent again", words: "segments sent again", of: (counts) => counts.retransmitted_segments },
  { head: "timers", words: "retransmission timers that ran out", of: (counts) => counts.retransmission_timeouts },
  { head: "probes", words: "tail-loss probes", of: (counts) => counts.tail_loss_probes },
  { head: "losses", words: "losses that acknowledgements told of", of: (counts) => counts.loss_recoveries },
  { head: "wire full", words: "times that the wire was full", of: (counts) => counts.wire_full },
  { head: "dropped", words: "frames dropped for want of room", of: (counts) => counts.dropped_frames },
];

export function CountersTable({ report, spot, place }: { report: Report; spot: Spot; place: string }): JSX.Element | null {
  const rows = endsOf(report.head.stack_counters.filter((row) => report.isShown(row.contender) && isBeside(row, spot)));
  const [open, setOpen] = useState(rows.length <= MOST_OPEN);
  if (rows.length === 0) return null;
  const seen = COUNTERS.filter(({ of }) => rows.some(({ stack }) => stack && of(stack.counts) > 0));
  const never = COUNTERS.filter((counter) => !seen.includes(counter)).map(({ words }) => words);
  return (
    <details class="part" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What each end did</summary>
      <p class="key">
        Calls are system calls per right answer, beside those on the kernel's stack: the server's as the kernel counts them on its
        CPUs, whoever makes them. What follows each stack tells of itself, from the generator's first connection to its last: per right answer its
        calls for the wire and its frames, then totals. One that is not ours may tell nothing.
        {never.length > 0 && ` No stack tells of any ${either(never)}.`}
      </p>
      {open && <Table caption={`What each end did, ${place}`} columns={columns(report, rows, seen)} rows={rows} rowClass={() => "end"} />}
    </details>
  );
}

const endsOf = (rows: readonly StackCounters[]): End[] =>
  rows.flatMap((row) => ENDS.map((end) => ({ contender: row.contender, network: row.network ?? null, end, ...row[end] })));

const either = (words: readonly string[]): string => [words.slice(0, -1).join(", "), ...words.slice(-1)].filter(Boolean).join(" or ");

/** Nothing where nothing was answered. */
const perAnswer = ({ answers }: ToldCounts, counted: number): number | null => (answers > 0 ? counted / answers : null);

function columns(report: Report, rows: readonly End[], counters: readonly Counter[]): Column<End>[] {
  const figure = (head: string, value: (row: End) => number | null, format: (value: number) => string): Column<End> =>
    figureColumn(head, value, format, <span class="soft">not told</span>);
  const each = (head: string, of: (counts: StackCounts) => number, format: (value: number) => string): Column<End> =>
    figure(head, ({ stack }) => stack && perAnswer(stack, of(stack.counts)), format);
  const perAnswers = [
    figure("calls", (row) => row.system_calls, callsPerAnswer),
    figure("calls, kernel", (row) => row.kernel_system_calls, callsPerAnswer),
    each("for the wire", (counts) => counts.system_calls, callsPerAnswer),
    each("frames in", (counts) => counts.received_frames, few),
    each("frames out", (counts) => counts.sent_frames, few),
  ];
  return [
    { head: "contender, end", text: true, cell: (row) => <Name report={report} name={row.contender} note={row.end} />, sort: (row) => row.contender },
    textColumn("network", (row) => row.network),
    ...perAnswers.filter(({ sort }) => rows.some((row) => sort?.(row) != null)),
    ...counters.map(({ head, of }) => figure(head, ({ stack }) => stack && of(stack.counts), count)),
  ];
}
