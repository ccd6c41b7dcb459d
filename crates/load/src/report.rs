//! What the threads saw, put together.

use assay_engine::{StackStatistics, Statistics};
use assay_host::cpuset::CpuSet;
use assay_model::load::{
    BodyChecks, Books, GeneratorMemory, LOAD_SCHEMA, Latency, LoadReport, Series, StackCounts, SystemCalls,
    WindowCounts,
};
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_tcp::Stack;

use crate::LoadError;
use crate::checks::{self, Evidence};
use crate::judge::SAMPLED_ONE_IN;
use crate::plan::Plan;
use crate::recorder::Recorder;
use crate::tally::Tally;
use crate::thread::{Outcome, Reading};

/// The report of a measurement that began at `start`; there is at least one outcome.
pub(crate) fn assemble(
    plan: &Plan,
    start: Nanos,
    memory: GeneratorMemory,
    outcomes: &[Outcome],
) -> Result<LoadReport, LoadError> {
    let recorder = merged(plan, outcomes);
    let window_start = start + plan.warmup;
    let window_end = outcomes.iter().map(|outcome| outcome.window_end).max().unwrap_or_default();
    let window = window_end - window_start;
    let thread_busy_shares = busy_shares(outcomes, window);
    let generator = usage(outcomes, window);
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let stack = stack(plan, outcomes);
    let evidence = Evidence {
        is_open: plan.is_open(),
        window,
        recorder: &recorder,
        busy_shares: &thread_busy_shares,
        waiting_shares: &waiting_shares(outcomes, window),
        involuntary_switches: generator.involuntary_switches,
        intended_in_window: sum(|outcome| outcome.intended_in_window),
        given_up: sum(|outcome| outcome.given_up),
        mean_in_flight: recorder.flow.mean_in_flight(window_end),
        connections: plan.connections,
        opened: sum(|outcome| outcome.statistics.connected),
        stack: stack.as_ref(),
    };
    Ok(LoadReport {
        schema: LOAD_SCHEMA.to_owned(),
        target: format!("http://{}", plan.target),
        engine: plan.stack.name().to_owned(),
        arrival: plan.arrival.clone(),
        cpus: plan.cpus.iter().take(plan.threads()).copied().collect::<CpuSet>().to_string(),
        connections: plan.connections,
        pipeline: plan.pipeline,
        window_ns: window,
        warmup_ns: plan.warmup,
        checks: checks::all(&evidence),
        books: books(&recorder, outcomes),
        window: WindowCounts {
            ok: recorder.window.ok,
            errors: recorder.window.errors(),
            body_bytes: recorder.window.body_bytes,
        },
        latency: latency(&recorder)?,
        series: series(&recorder, plan.series_interval, window),
        generator,
        thread_busy_shares,
        bodies: bodies(plan, &recorder.window),
        system_calls: system_calls(outcomes),
        memory,
        stack,
        samples: recorder.samples,
    })
}

fn merged(plan: &Plan, outcomes: &[Outcome]) -> Recorder {
    let mut all = outcomes.iter();
    let first = all.next().map(|outcome| outcome.recorder.clone());
    let mut sum = first.unwrap_or_else(|| Recorder::new(plan.is_open(), plan.series_interval));
    all.for_each(|outcome| sum.merge(&outcome.recorder));
    sum
}

fn books(recorder: &Recorder, outcomes: &[Outcome]) -> Books {
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum();
    Books {
        issued: sum(|outcome| outcome.issued),
        ok: recorder.total.ok,
        errors: recorder.total.errors(),
        censored: recorder.censored,
        sent_bytes: sum(|outcome| outcome.statistics.sent_bytes),
        received_bytes: sum(|outcome| outcome.statistics.received_bytes),
        connections_opened: sum(|outcome| outcome.statistics.connected),
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
        client_lag_hdr: wait(|waits| &waits.client_lag)?,
        pool_wait_hdr: wait(|waits| &waits.pool_wait)?,
        censored_hdr: unless_empty(&recorder.times.censored)?,
        failed_hdr: unless_empty(&recorder.times.failed)?,
    })
}

/// The intervals of the whole window, those without any right answer at its end included.
fn series(recorder: &Recorder, interval: Nanos, window: Nanos) -> Series {
    let mut ok = recorder.series.clone();
    let intervals = usize::try_from(window.0.div_ceil(interval.0)).unwrap_or(usize::MAX);
    ok.resize(intervals.max(ok.len()), 0);
    Series { interval_ns: interval, ok }
}

fn usage(outcomes: &[Outcome], window: Nanos) -> Usage {
    let mut usage = Usage { wall_ns: window, ..Usage::default() };
    outcomes.iter().for_each(|outcome| {
        let [before, after] = &outcome.readings;
        after.usage.add_since(&before.usage, &mut usage);
    });
    usage
}

fn bodies(plan: &Plan, window: &Tally) -> BodyChecks {
    BodyChecks {
        checking: plan.checking,
        sampled_one_in: SAMPLED_ONE_IN,
        compared: window.ok - window.by_length - window.unjudged,
        by_length: window.by_length,
        unjudged: window.unjudged,
    }
}

fn system_calls(outcomes: &[Outcome]) -> SystemCalls {
    let sum = |of: fn(&Statistics) -> u64| {
        let during = |outcome: &Outcome| {
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
fn stack(plan: &Plan, outcomes: &[Outcome]) -> Option<StackCounts> {
    let Stack::User(link) = &plan.stack else { return None };
    let nothing = StackCounts { wire: link.wire.to_string(), lossless: true, ..StackCounts::default() };
    let threads = outcomes.iter().filter_map(|outcome| outcome.statistics.stack.as_ref()).map(stack_of_one);
    Some(threads.fold(nothing, |all, one| all.plus(&one)))
}

/// What the stack of one thread did; the wire is told of all together.
fn stack_of_one(thread: &StackStatistics) -> StackCounts {
    StackCounts {
        wire: String::new(),
        lossless: thread.lossless,
        received_frames: thread.received_frames,
        sent_frames: thread.sent_frames,
        retransmitted_segments: thread.retransmitted_segments,
        retransmission_timeouts: thread.retransmission_timeouts,
        tail_loss_probes: thread.tail_loss_probes,
        loss_recoveries: thread.loss_recoveries,
        wire_full: thread.wire_full,
        dropped_frames: thread.dropped_frames,
        system_calls: thread.system_calls,
    }
}

fn busy_shares(outcomes: &[Outcome], window: Nanos) -> Vec<f64> {
    shares(outcomes, window, |before, after| {
        after.usage.cpu_since(&before.usage) - (after.spun - before.spun)
    })
}

fn waiting_shares(outcomes: &[Outcome], window: Nanos) -> Vec<f64> {
    shares(outcomes, window, |before, after| after.usage.waited_since(&before.usage))
}

/// Of each thread, a time between its two readings as a share of the window.
fn shares(outcomes: &[Outcome], window: Nanos, of: impl Fn(&Reading, &Reading) -> Nanos) -> Vec<f64> {
    let share = |outcome: &Outcome| {
        let [before, after] = &outcome.readings;
        // The readings are taken just after the window's edges, so a busy thread may seem to exceed it.
        let time = of(before, after).0 as f64;
        if window == Nanos::ZERO { 0.0 } else { (time / window.0 as f64).min(1.0) }
    };
    outcomes.iter().map(share).collect()
}
