//! What the threads saw, put together.

use assay_engine::{Statistics, TlsStatistics};
use assay_host::cpuset::CpuSet;
use assay_model::load::{
    BodyChecks, Books, GeneratorMemory, LOAD_SCHEMA, Latency, LoadReport, LoadTurn, Series, StackCounts,
    SystemCalls, WindowCounts,
};
use assay_model::tls::TlsReport;
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_tcp::Stack;

use crate::LoadError;
use crate::checks::{self, Observations};
use crate::judge::SAMPLED_ONE_IN;
use crate::outcome_counts::OutcomeCounts;
use crate::plan::{Http, LoadPlan, Reuse, Span};
use crate::recorder::Recorder;
use crate::thread::{Reading, ThreadOutcome};

/// One window, as all threads saw it.
pub(crate) struct Window {
    /// When its first request was due.
    pub(crate) start: Nanos,
    /// Load before what is measured.
    pub(crate) settle: Nanos,
    /// By thread.
    pub(crate) outcomes: Vec<ThreadOutcome>,
}

impl Window {
    /// When the last thread noticed that it may begin.
    pub(crate) fn began(&self) -> Nanos {
        self.outcomes.iter().map(|outcome| outcome.began).max().unwrap_or_default()
    }

    /// Requests that all connections took in flight at most.
    fn limit(&self) -> usize {
        self.outcomes.iter().map(|outcome| outcome.limit).sum()
    }

    fn length(&self) -> Nanos {
        let end = self.outcomes.iter().map(|outcome| outcome.window_end).max().unwrap_or_default();
        end - (self.start + self.settle)
    }
}

/// The report of a measurement in one window, or in several on the same connections.
pub(crate) fn assemble(
    plan: &LoadPlan,
    memory: GeneratorMemory,
    windows: &[Window],
) -> Result<LoadReport, LoadError> {
    let outcomes: Vec<&ThreadOutcome> = windows.iter().flat_map(|window| &window.outcomes).collect();
    let last = windows.last().map_or(&[][..], |window| &window.outcomes);
    let recorder = merged(plan, &outcomes);
    let window = total(windows.iter().map(Window::length));
    // Load that nothing is measured after counts in the books alone.
    let measured = || windows.iter().filter(|window| window.length() > Nanos::ZERO);
    let thread_busy_shares = busy_shares(plan, &outcomes, window);
    let generator = usage(&outcomes, window);
    let sum = |of: fn(&ThreadOutcome) -> u64| outcomes.iter().map(|outcome| of(outcome)).sum::<u64>();
    let stack = stack(plan, last);
    let observed = Observations {
        is_open: plan.is_open(),
        window,
        shortest: measured().map(Window::length).min().filter(|_| matches!(plan.span, Span::Time(_))),
        recorder: &recorder,
        busy_shares: &thread_busy_shares,
        waiting_shares: &waiting_shares(plan, &outcomes, window),
        involuntary_switches: generator.involuntary_switches,
        intended_in_window: sum(|outcome| outcome.intended_in_window),
        given_up: sum(|outcome| outcome.given_up),
        mean_in_flight: recorder.flow.mean_in_flight(window),
        in_flight_wanted: in_flight_wanted(plan, windows.iter().map(Window::limit)),
        connections: plan.all_connections(),
        opened: last.iter().map(|outcome| outcome.statistics.connected).sum(),
        stack: stack.as_ref(),
    };
    Ok(LoadReport {
        schema: LOAD_SCHEMA.to_owned(),
        target: format!("{}://{}", plan.scheme(), plan.target),
        engine: plan.stack.name().to_owned(),
        arrival: plan.own_arrival(),
        cpus: plan.cpus.iter().take(plan.threads()).copied().collect::<CpuSet>().to_string(),
        connections: plan.connections,
        idle: plan.idle,
        websocket: plan.websocket,
        pipeline: plan.depth(),
        protocol: plan.protocol(),
        window_ns: window,
        warmup_ns: total(measured().map(|window| window.settle)),
        checks: checks::all(&observed),
        books: books(&recorder, &outcomes, last),
        window: window_counts(&recorder),
        latency: latency(&recorder)?,
        series: series(plan, windows),
        generator,
        thread_busy_shares,
        bodies: bodies(plan, &recorder.window),
        system_calls: system_calls(&outcomes),
        memory,
        running: None,
        server: None,
        stack,
        tls: tls(plan, &recorder, last)?,
        learnt: Vec::new(),
        generators: Vec::new(),
        samples: recorder.samples,
    })
}

/// What is told of one window when it is over.
pub(crate) fn turn(plan: &LoadPlan, window: &Window) -> LoadTurn {
    let outcomes: Vec<&ThreadOutcome> = window.outcomes.iter().collect();
    let sum = |of: fn(&Recorder) -> u64| outcomes.iter().map(|outcome| of(&outcome.recorder)).sum();
    let length = window.length();
    LoadTurn {
        settle_ns: window.settle,
        window_ns: length,
        ok: sum(|recorder| recorder.window.ok),
        failed: sum(|recorder| recorder.window.failed()),
        answered: sum(|recorder| recorder.total.ok),
        slices: Series { interval_ns: plan.series_interval, ok: slices(plan, window) },
        generator_busy_share: greatest(&busy_shares(plan, &outcomes, length)),
        generator_delay_share: greatest(&waiting_shares(plan, &outcomes, length)),
    }
}

/// What a closed loop with lasting connections has in flight all the time: as much as was asked for, or as the server takes. A pipeline
/// is refilled when half of it is answered; at the end of a number of requests fewer and fewer are left.
///
/// `limits` are what the connections took at most, all together, in each window.
fn in_flight_wanted(plan: &LoadPlan, limits: impl Iterator<Item = usize>) -> Option<f64> {
    let lasting = !plan.is_open() && plan.reuse == Reuse::Always && matches!(plan.span, Span::Time(_));
    let is_halved = plan.http == Http::One && plan.pipeline > 1;
    let least = limits.min().filter(|_| lasting)?;
    Some(least as f64 / if is_halved { 2.0 } else { 1.0 })
}

fn total(times: impl Iterator<Item = Nanos>) -> Nanos {
    times.fold(Nanos::ZERO, |sum, time| sum + time)
}

fn greatest(shares: &[f64]) -> f64 {
    shares.iter().copied().fold(0.0, f64::max)
}

fn merged(plan: &LoadPlan, outcomes: &[&ThreadOutcome]) -> Recorder {
    let mut sum = Recorder::new(plan.is_open(), plan.series_interval);
    outcomes.iter().for_each(|outcome| sum.merge(&outcome.recorder));
    sum
}

/// `last` are the outcomes of the last window, whose engines' counters are those of all.
fn books(recorder: &Recorder, outcomes: &[&ThreadOutcome], last: &[ThreadOutcome]) -> Books {
    let of_engines = |of: fn(&Statistics) -> u64| last.iter().map(|outcome| of(&outcome.statistics)).sum();
    Books {
        issued: outcomes.iter().map(|outcome| outcome.issued).sum(),
        ok: recorder.total.ok,
        errors: recorder.total.errors(),
        censored: recorder.censored,
        sent_bytes: of_engines(|statistics| statistics.sent_bytes),
        received_bytes: of_engines(|statistics| statistics.received_bytes),
        connections_opened: of_engines(|statistics| statistics.connected),
        repeated: recorder.repeated,
    }
}

fn window_counts(recorder: &Recorder) -> WindowCounts {
    WindowCounts {
        ok: recorder.window.ok,
        errors: recorder.window.errors(),
        body_bytes: recorder.window.body_bytes,
        failed_later: Some(recorder.failed_later),
    }
}

fn latency(recorder: &Recorder) -> Result<Latency, LoadError> {
    let waits = recorder.waits.as_ref();
    let wait = |of: fn(&crate::recorder::Waits) -> &assay_stats::Histogram| {
        waits.map(|waits| of(waits).to_hdr_base64()).transpose()
    };
    let unless_empty = |histogram: &assay_stats::Histogram| {
        (!histogram.is_empty()).then(|| histogram.to_hdr_base64()).transpose()
    };
    Ok(Latency {
        service_hdr: recorder.times.service.to_hdr_base64()?,
        ttfb_hdr: recorder.times.ttfb.to_hdr_base64()?,
        connect_hdr: recorder.times.connect.to_hdr_base64()?,
        response_hdr: wait(|waits| &waits.response)?,
        response_from_sent_hdr: wait(|waits| &waits.response_from_sent)?,
        client_lag_hdr: wait(|waits| &waits.client_lag)?,
        pool_wait_hdr: wait(|waits| &waits.pool_wait)?,
        censored_hdr: unless_empty(&recorder.times.censored)?,
        failed_hdr: unless_empty(&recorder.times.failed)?,
    })
}

/// Right answers per interval of what was measured, window after window.
fn series(plan: &LoadPlan, windows: &[Window]) -> Series {
    let interval = plan.series_interval;
    let measured = |window: &Window| {
        let settle = if plan.series_from_start { window.settle.0 / interval.0 } else { 0 };
        slices(plan, window).into_iter().skip(usize::try_from(settle).unwrap_or(usize::MAX))
    };
    let windows = windows.iter().filter(|window| window.length() > Nanos::ZERO);
    Series { interval_ns: interval, ok: windows.flat_map(measured).collect() }
}

/// Right answers per interval of one window, those without any right answer at its end included.
fn slices(plan: &LoadPlan, window: &Window) -> Vec<u64> {
    let before = if plan.series_from_start { window.settle } else { Nanos::ZERO };
    let intervals = (window.length() + before).0.div_ceil(plan.series_interval.0);
    let mut slices = vec![0; usize::try_from(intervals).unwrap_or(usize::MAX)];
    for outcome in &window.outcomes {
        slices.resize(slices.len().max(outcome.recorder.series.len()), 0);
        for (sum, part) in slices.iter_mut().zip(&outcome.recorder.series) {
            *sum += part;
        }
    }
    slices
}

fn usage(outcomes: &[&ThreadOutcome], window: Nanos) -> Usage {
    let mut usage = Usage { wall_ns: window, ..Usage::default() };
    outcomes.iter().for_each(|outcome| {
        let [before, after] = &outcome.readings;
        after.usage.add_since(&before.usage, &mut usage);
    });
    usage
}

fn bodies(plan: &LoadPlan, window: &OutcomeCounts) -> BodyChecks {
    BodyChecks {
        checking: plan.checking,
        sampled_one_in: SAMPLED_ONE_IN,
        compared: window.ok - window.by_length - window.unjudged,
        by_length: window.by_length,
        unjudged: window.unjudged,
    }
}

fn system_calls(outcomes: &[&ThreadOutcome]) -> SystemCalls {
    let sum = |of: fn(&Statistics) -> u64| {
        let during = |outcome: &&ThreadOutcome| {
            let [before, after] = &outcome.readings;
            of(&after.statistics) - of(&before.statistics)
        };
        outcomes.iter().map(during).sum()
    };
    SystemCalls {
        waits: sum(|s| s.waits),
        receives: sum(|s| s.receives),
        sends: sum(|s| s.sends),
        others: sum(|s| s.other_calls),
    }
}

/// What our own stack did in all threads.
fn stack(plan: &LoadPlan, outcomes: &[ThreadOutcome]) -> Option<StackCounts> {
    let Stack::User(link) = &plan.stack else { return None };
    let nothing = StackCounts { wire: link.wire.to_string(), lossless: true, ..StackCounts::default() };
    let threads =
        outcomes.iter().filter_map(|outcome| outcome.statistics.stack.as_ref()).map(StackCounts::from);
    Some(threads.fold(nothing, |all, one| all.plus(&one)))
}

/// How the connections were secured.
fn tls(plan: &LoadPlan, recorder: &Recorder, last: &[ThreadOutcome]) -> Result<Option<TlsReport>, LoadError> {
    let Some(client) = &plan.tls else { return Ok(None) };
    let handshakes = recorder.handshakes.as_deref().cloned().unwrap_or_default();
    let of_engines = |of: fn(&TlsStatistics) -> u64| -> u64 {
        last.iter().filter_map(|outcome| outcome.statistics.tls.as_ref()).map(of).sum()
    };
    Ok(Some(TlsReport {
        server_name: client.server_name(),
        insecure: client.is_insecure(),
        resumption: client.resumes(),
        agreed: handshakes.agreed(),
        otherwise: handshakes.otherwise,
        full: handshakes.full.told()?,
        resumed: handshakes.resumed.told()?,
        failed: of_engines(|tls| tls.failed),
        sent_bytes: of_engines(|tls| tls.sent_bytes),
        received_bytes: of_engines(|tls| tls.received_bytes),
    }))
}

fn busy_shares(plan: &LoadPlan, outcomes: &[&ThreadOutcome], window: Nanos) -> Vec<f64> {
    shares(plan, outcomes, window, |before, after| {
        after.usage.cpu_since(&before.usage) - (after.spun - before.spun)
    })
}

fn waiting_shares(plan: &LoadPlan, outcomes: &[&ThreadOutcome], window: Nanos) -> Vec<f64> {
    shares(plan, outcomes, window, |before, after| after.usage.waited_since(&before.usage))
}

/// Of each thread, a time between its two readings of each window as a share of all windows, which are `length` long.
fn shares(
    plan: &LoadPlan,
    outcomes: &[&ThreadOutcome],
    length: Nanos,
    of: impl Fn(&Reading, &Reading) -> Nanos,
) -> Vec<f64> {
    let mut spent = vec![Nanos::ZERO; plan.threads()];
    for outcome in outcomes {
        let [before, after] = &outcome.readings;
        spent[outcome.thread] += of(before, after);
    }
    // The readings are taken just after the window's edges, so a busy thread may seem to exceed it.
    let share =
        |time: Nanos| if length == Nanos::ZERO { 0.0 } else { (time.0 as f64 / length.0 as f64).min(1.0) };
    spent.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_wanted_in_flight_than_the_servers_take() {
        let plan = LoadPlan::new("127.0.0.1:80".parse().unwrap(), Vec::new());
        let plan = LoadPlan { http: Http::Two, connections: 4, pipeline: 32, ..plan };
        let wanted = |plan: &LoadPlan, limits: [usize; 2]| in_flight_wanted(plan, limits.into_iter());
        assert_eq!(wanted(&plan, [128, 128]), Some(128.0));
        assert_eq!(wanted(&plan, [128, 32]), Some(32.0), "in the second window eight of each connection");
        assert_eq!(wanted(&LoadPlan { http: Http::One, ..plan }, [128, 128]), Some(64.0), "half a pipeline");
    }
}
