//! Every window as a row of a table for a spreadsheet, raw.

use assay_model::experiment::Cell;
use assay_model::generator_window::GeneratorWindow;
use assay_model::load::{Arrival, StackCounts};
use assay_model::network::Stack;
use assay_model::record::{Machine, Measurement, Record, Run};
use assay_model::usage::Usage;
use assay_stats::lag::Bounds;
use assay_verdict::{DecodedRecord, ServerRun, Window};

use crate::{ReportError, foreign, page, published, titles, words};

/// A planned window and what came of it, or a window of one of several generators.
struct Row<'a> {
    record: &'a Record,
    round: u32,
    /// In the order of the round, from 0.
    place: usize,
    run: &'a Run,
    cell: &'a Cell,
    /// Absent when it was not measured.
    window: Option<&'a Window<'a>>,
    /// Present in a window that ranks nobody, but tells what several generators make of the same server.
    by: Option<&'a GeneratorWindow>,
}

/// A column: its heading, and its field where there is something to tell.
type Column = (&'static str, fn(&Row<'_>) -> Option<String>);

const COLUMNS: [Column; 64] = [
    ("run", |row| text(&row.record.id)),
    ("round", |row| told(row.round)),
    ("place", |row| told(row.place)),
    ("contender", |row| text(&row.run.contender)),
    ("stack_wire", |row| text(titles::network_text(row.record, row.cell))),
    ("protocol", |row| text(row.cell.protocol)),
    ("workload", |row| text(&row.cell.workload)),
    ("connections", |row| told(row.cell.connections)),
    ("pipeline", |row| told(row.cell.pipeline)),
    ("load", |row| text(row.cell.offered)),
    ("offset_ns", |row| told(row.of(|by| Some(by.offset_ns.0), |own| own.offset_ns.0)?)),
    ("window_ns", |row| told(row.of(|by| Some(by.told.as_ref()?.window_ns.0), |own| own.load.window_ns.0)?)),
    ("ok", |row| told(row.of(|by| Some(by.right()?.0), |own| own.load.window.ok)?)),
    ("failed", |row| {
        told(row.of(|by| Some(by.told.as_ref()?.failed), |own| own.load.window.errors.values().sum())?)
    }),
    ("per_second", |row| told(row.of(GeneratorWindow::per_second, page::per_second)?)),
    ("offered_per_second", |row| offered_per_second(row.measured()?)),
    ("service_p50_ns", |row| told(row.window?.times.service.quantile(0.5)?)),
    ("service_p99_ns", |row| told(row.window?.times.service.quantile(0.99)?)),
    ("response_p50_ns", |row| told(row.response(0.5)?.from_due.value)),
    ("response_p50_from_sent_ns", |row| told(row.response(0.5)?.from_sent)),
    ("response_p50_is_lower_bound", |row| told(row.response(0.5)?.from_due.is_lower_bound)),
    ("response_p99_ns", |row| told(row.response(0.99)?.from_due.value)),
    ("response_p99_from_sent_ns", |row| told(row.response(0.99)?.from_sent)),
    ("response_p99_is_lower_bound", |row| told(row.response(0.99)?.from_due.is_lower_bound)),
    ("server_cpu_ns", |row| told(row.server()?.cpu_ns().0)),
    ("server_system_ns", |row| told(row.server()?.system_ns.0)),
    ("server_busiest_thread_ns", |row| told(row.server()?.busiest_thread_ns?.0)),
    ("server_voluntary_switches", |row| told(row.server()?.voluntary_switches)),
    ("server_involuntary_switches", |row| told(row.server()?.involuntary_switches)),
    ("server_page_faults", |row| {
        row.server().and_then(|usage| told(usage.minor_faults + usage.major_faults))
    }),
    ("server_rss_peak_bytes", |row| told(row.server()?.rss_peak_bytes)),
    ("server_rss_bytes", |row| told(row.server()?.rss_bytes)),
    ("server_pss_bytes", |row| told(row.server()?.pss_bytes?)),
    ("server_uncounted_processes", |row| told(row.server()?.uncounted_processes)),
    ("upstream_cpu_ns", |row| told(row.measured()?.upstream.as_ref()?.usage.cpu_ns().0)),
    ("upstream_requests", |row| told(row.measured()?.upstream.as_ref()?.requests?)),
    ("straight_p50_ns", |row| told(row.straight(0.5)?.from_due.value)),
    ("straight_p50_from_sent_ns", |row| told(row.straight(0.5)?.from_sent)),
    ("straight_p50_is_lower_bound", |row| told(row.straight(0.5)?.from_due.is_lower_bound)),
    ("straight_p99_ns", |row| told(row.straight(0.99)?.from_due.value)),
    ("straight_p99_from_sent_ns", |row| told(row.straight(0.99)?.from_sent)),
    ("straight_p99_is_lower_bound", |row| told(row.straight(0.99)?.from_due.is_lower_bound)),
    ("startup_ns", |row| told(row.observed().map(|_| row.run.startup_ns.0)?)),
    ("server_idle_share", |row| told(row.machine()?.server_idle_share)),
    ("server_other_share", |row| {
        told(row.of_machine(|by| by.other_share, |machine| machine.server_other_share)?)
    }),
    ("server_interrupt_share", |row| told(row.machine()?.server_interrupt_share)),
    ("steal_share", |row| told(row.of_machine(|by| by.steal_share, |machine| machine.steal_share)?)),
    ("cpu_pressure_share", |row| told(row.machine()?.cpu_pressure_share?)),
    ("tcp_retransmits", |row| told(row.kernel()?.tcp_retransmits)),
    ("listen_overflows", |row| told(row.kernel()?.listen_overflows)),
    ("generator_busy_share", |row| told(busiest_thread_share(row.observed()?))),
    ("generator_delay_share", |row| told(row.observed()?.generator_delay_share())),
    ("void", |row| text(words::rules_text(row.measured()?.void_rules()))),
    ("void_turns", |row| told(void_turns(row.measured()?)?)),
    ("failure", failure),
    ("rules_kept", |row| told(row.conformance()?.score().kept)),
    ("rules_applicable", |row| told(row.conformance()?.score().applicable)),
    ("rules_broken", rules_broken),
    ("published_per_second", published_per_second),
    ("generator", |row| text(row.by?.generator)),
    ("server_counted", |row| told(row.by?.server_counted?)),
    ("generator_cpu_ns", |row| told(row.by?.cpu_ns?.0)),
    ("told_p50_ns", |row| told(row.by?.told.as_ref()?.percentile(0.5)?.0)),
    ("told_p99_ns", |row| told(row.by?.told.as_ref()?.percentile(0.99)?.0)),
];

/// An end of the wire: how its columns' headings begin, and the counters of its own stack.
type End = (&'static str, fn(&Measurement) -> Option<&StackCounts>);

const ENDS: [End; 2] = [
    ("server_stack", |measured| measured.server_stack.as_ref()),
    ("generator_stack", |measured| measured.load.stack.as_ref()),
];

/// A counter of a stack: how its columns' headings end.
type Counter = (&'static str, fn(&StackCounts) -> u64);

const COUNTERS: [Counter; 13] = [
    ("received_frames", |counts| counts.received_frames),
    ("sent_frames", |counts| counts.sent_frames),
    ("retransmitted_segments", |counts| counts.retransmitted_segments),
    ("retransmission_timeouts", |counts| counts.retransmission_timeouts),
    ("tail_loss_probes", |counts| counts.tail_loss_probes),
    ("loss_recoveries", |counts| counts.loss_recoveries),
    ("wire_full", |counts| counts.wire_full),
    ("dropped_frames", |counts| counts.dropped_frames),
    ("system_calls", |counts| counts.system_calls),
    ("dropped_requests", |counts| counts.dropped_requests),
    ("forgotten_handshakes", |counts| counts.forgotten_handshakes),
    ("memory_shortages", |counts| counts.memory_shortages),
    ("memory_resets", |counts| counts.memory_resets),
];

/// One row per contender (a control counts as one), cell and round, raw (RFC 4180). A planned window that was not measured has a
/// row too, with the reason in `failure`; `void` holds the rules that a window broke, `rules_broken` those of HTTP/1.1 that the
/// contender does; `upstream_…` is of what is behind a proxy, and `straight_…` the response times of the window that went past the
/// proxy; `published_per_second` is the figure of the work that the experiment repeats. A percentile of the response time is that from
/// due; requests that were given up are in it, and `…_is_lower_bound` says where it reaches them. `…_from_sent_ns` is what it took at least,
/// as the generator was late with some requests.
///
/// Windows in which several generators loaded a server are rows, too, behind those of the life that they belong to. They rank
/// nobody: `generator` is filled in them and in no others, `ok` is the server's own count where there is one (`server_counted`), and
/// `told_…` is what the generator says of its times.
///
/// `tcp_retransmits` and `listen_overflows` are the kernel's counters and empty where a user-space stack worked, of which the
/// kernel sees no segment; `server_stack_…` and `generator_stack_…` are that stack's own, of either end, and empty where the
/// kernel's worked or the program told nothing.
///
/// # Errors
/// [`ReportError::Unreadable`] when a histogram of the record cannot be read.
pub fn csv(record: &Record) -> Result<String, ReportError> {
    let mut out = headings().join(",") + "\r\n";
    let evidence = DecodedRecord::of(record)?;
    for (round, server_runs) in record.rounds.iter().zip(&evidence.rounds) {
        for (place, ServerRun { run, windows }) in server_runs.iter().enumerate() {
            let row = |cell, window| Row { record, round: round.index, place, run, cell, window, by: None };
            for window in windows {
                out += &row(&window.measured.cell, Some(window)).line();
            }
            let missing = if run.failure.is_some() { page::missing_cells(record, run) } else { Vec::new() };
            out.extend(missing.iter().map(|cell| row(cell, None).line()));
            let by_generator = run.by_generator.iter();
            out.extend(by_generator.map(|by| Row { by: Some(by), ..row(&by.cell, None) }.line()));
        }
    }
    Ok(out)
}

fn headings() -> Vec<String> {
    let plain = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    let of_end = |(end, _): &End| COUNTERS.map(|(counter, _)| format!("{end}_{counter}"));
    plain.chain(ENDS.iter().flat_map(of_end)).collect()
}

impl Row<'_> {
    fn line(&self) -> String {
        let plain = COLUMNS.iter().map(|(_, of)| of(self));
        let counted = ENDS.iter().flat_map(|(_, of_end)| {
            let counts = self.measured().and_then(of_end);
            COUNTERS.map(|(_, of)| counts.and_then(|counts| told(of(counts))))
        });
        let fields: Vec<String> = plain.chain(counted).map(Option::unwrap_or_default).collect();
        fields.join(",") + "\r\n"
    }

    fn measured(&self) -> Option<&Measurement> {
        self.window.map(|window| window.measured)
    }

    /// What a generator's window tells, else what the planned one does.
    fn of<T>(&self, by: fn(&GeneratorWindow) -> Option<T>, own: fn(&Measurement) -> T) -> Option<T> {
        self.by.map_or_else(|| self.measured().map(own), by)
    }

    /// A percentile of the response time from both ends, however few answers it is of.
    fn response(&self, q: f64) -> Option<Bounds> {
        self.window?.times.response_ends(q)
    }

    /// A percentile of the window beside it, which went past the proxy.
    fn straight(&self, q: f64) -> Option<Bounds> {
        self.window?.straight_times.as_ref()?.response_ends(q)
    }

    fn server(&self) -> Option<&Usage> {
        self.measured()?.server.as_ref()
    }

    /// What was seen beside the figures: of an imported run nothing, for its source tells nothing of its machine.
    fn observed(&self) -> Option<&Measurement> {
        self.measured().filter(|_| self.record.imported.is_none())
    }

    fn machine(&self) -> Option<&Machine> {
        self.observed().map(|measured| &measured.machine)
    }

    /// What the machine did beside a generator's window, else beside the planned one.
    fn of_machine(&self, by: fn(&GeneratorWindow) -> f64, own: fn(&Machine) -> f64) -> Option<f64> {
        self.by.map(by).or_else(|| self.machine().map(own))
    }

    /// The machine's counters where its kernel's TCP worked.
    fn kernel(&self) -> Option<&Machine> {
        self.machine()
            .filter(|_| self.record.network_of(self.cell).is_some_and(|on| on.stack() == Stack::Kernel))
    }

    fn conformance(&self) -> Option<&assay_model::conformance::Conformance> {
        let entry = self.record.entry_of(&self.run.contender)?;
        entry.conformance.as_ref()
    }
}

/// Turns whose rates do not count; nothing where there are none or they do not tell.
fn void_turns(window: &Measurement) -> Option<usize> {
    let told = || window.turns.iter().filter(|turn| turn.taken.is_some());
    told().next().map(|_| told().filter(|turn| turn.is_void()).count())
}

/// A figure of ours.
fn told(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

fn text(value: impl ToString) -> Option<String> {
    Some(foreign::csv(&value.to_string()))
}

fn offered_per_second(measured: &Measurement) -> Option<String> {
    match measured.load.arrival {
        Arrival::Closed => None,
        Arrival::Constant { per_second } | Arrival::Poisson { per_second } => told(per_second),
    }
}

fn busiest_thread_share(measured: &Measurement) -> f64 {
    measured.load.thread_busy_shares.iter().copied().fold(0.0, f64::max)
}

/// Why there is no window.
fn failure(row: &Row<'_>) -> Option<String> {
    if let Some(by) = row.by {
        return text(by.failure.as_ref()?);
    }
    let failure = row.run.failure.as_ref().filter(|_| row.window.is_none())?;
    text(format!("{}: {}", words::stage_in_words(failure.stage), failure.reason))
}

fn rules_broken(row: &Row<'_>) -> Option<String> {
    let broken: Vec<&str> = row.conformance()?.broken().map(|finding| finding.rule.as_str()).collect();
    text(broken.join(" "))
}

fn published_per_second(row: &Row<'_>) -> Option<String> {
    if row.by.is_some() {
        return None;
    }
    told(published::published_per_second(&row.record.experiment, &row.run.contender, row.cell)?)
}
