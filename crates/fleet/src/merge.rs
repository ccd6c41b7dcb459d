//! One report out of those of several generators.

use std::collections::BTreeMap;

use assay_model::check::CheckOutcome;
use assay_model::cpuset::CpuSet;
use assay_model::load::{
    Arrival, BodyChecks, Books, ErrorSample, GeneratorMemory, GeneratorShare, Latency, LoadReport, LoadTurn,
    Series, StackCounts, SystemCalls, WindowCounts,
};
use assay_model::rule::Rule;
use assay_model::tls::{Handshakes, TlsReport};
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_stats::{Histogram, StatsError};

use crate::checks::{self, added};
use crate::lag::{Late, lag};

/// Wrong answers of one class that are kept for people, by a thread as by all generators.
pub const SAMPLES_PER_CLASS: usize = 3;

/// The load that was asked of all together.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    /// Arrival model with the whole rate.
    pub arrival: Arrival,
    /// Connections of all generators.
    pub connections: u32,
    /// Connections beside these on which nothing is asked.
    pub idle: u32,
}

/// The report of all, with that of each in it. Counts are added up, as are the histograms, bucket by bucket; every percentile is then
/// one of all requests. Without any report it counts nothing, and says who was lost.
///
/// # Errors
/// A histogram that cannot be read, or counts too large to be written.
pub fn merged(whole: &Whole, shares: Vec<GeneratorShare>) -> Result<LoadReport, StatsError> {
    let reports: Vec<&LoadReport> = shares.iter().filter_map(|share| share.report.as_deref()).collect();
    let like = reports.first().map(|report| (*report).clone()).unwrap_or_default();
    let window = reports.iter().map(|report| report.window_ns).max().unwrap_or_default();
    let latency = latency(&reports)?;
    let mut checks = checks::together(&reports.iter().map(|report| &report.checks[..]).collect::<Vec<_>>());
    judge_lag(&mut checks, &latency)?;
    checks.push(checks::generators(&shares, window));
    Ok(LoadReport {
        arrival: whole.arrival.clone(),
        cpus: cpus(&reports),
        connections: whole.connections,
        idle: whole.idle,
        window_ns: window,
        warmup_ns: reports.iter().map(|report| report.warmup_ns).max().unwrap_or_default(),
        books: reports.iter().fold(Books::default(), |sum, report| books(sum, &report.books)),
        window: reports.iter().fold(WindowCounts::default(), |sum, report| counts(sum, &report.window)),
        latency,
        series: series(reports.iter().map(|report| &report.series)),
        generator: reports.iter().fold(Usage::default(), |sum, report| usage(&sum, &report.generator)),
        thread_busy_shares: reports.iter().flat_map(|report| report.thread_busy_shares.clone()).collect(),
        bodies: reports
            .iter()
            .fold(BodyChecks { compared: 0, by_length: 0, unjudged: 0, ..like.bodies }, |sum, report| {
                bodies(sum, &report.bodies)
            }),
        system_calls: reports
            .iter()
            .fold(SystemCalls::default(), |sum, report| calls(sum, report.system_calls)),
        memory: reports.iter().fold(GeneratorMemory::default(), |sum, report| GeneratorMemory {
            start_bytes: sum.start_bytes + report.memory.start_bytes,
            ready_bytes: sum.ready_bytes + report.memory.ready_bytes,
        }),
        stack: stack(&reports),
        tls: tls(&reports)?,
        samples: samples(&reports),
        checks,
        generators: shares,
        ..like
    })
}

/// What is told of one window that all measured.
pub fn merged_turn(turns: &[LoadTurn]) -> LoadTurn {
    let sum = |of: fn(&LoadTurn) -> u64| turns.iter().map(of).sum();
    let longest = |of: fn(&LoadTurn) -> Nanos| turns.iter().map(of).max().unwrap_or_default();
    let greatest = |of: fn(&LoadTurn) -> f64| turns.iter().map(of).fold(0.0, f64::max);
    LoadTurn {
        settle_ns: longest(|turn| turn.settle_ns),
        window_ns: longest(|turn| turn.window_ns),
        ok: sum(|turn| turn.ok),
        failed: sum(|turn| turn.failed),
        answered: sum(|turn| turn.answered),
        slices: series(turns.iter().map(|turn| &turn.slices)),
        generator_busy_share: greatest(|turn| turn.generator_busy_share),
        generator_delay_share: greatest(|turn| turn.generator_delay_share),
    }
}

/// Requests that left late are judged over all: a percentile of the sum may be known where that of one generator is not.
fn judge_lag(checks: &mut [assay_model::check::Check], latency: &Latency) -> Result<(), StatsError> {
    let Some(check) = checks.iter_mut().find(|check| check.rule == Rule::SendLag) else { return Ok(()) };
    let read =
        |text: &Option<String>| text.as_deref().map_or(Ok(Histogram::new()), Histogram::from_hdr_base64);
    let (evidence, is_unknown) = lag(&Late {
        response: &read(&latency.response_hdr)?,
        response_from_sent: &read(&latency.response_from_sent_hdr)?,
        censored: &read(&latency.censored_hdr)?,
        client_lag: &read(&latency.client_lag_hdr)?,
    });
    check.evidence = evidence;
    check.outcome = if is_unknown { CheckOutcome::Warn } else { CheckOutcome::Pass };
    Ok(())
}

fn latency(reports: &[&LoadReport]) -> Result<Latency, StatsError> {
    let every = |of: fn(&Latency) -> &str| sum(reports.iter().map(|report| of(&report.latency)));
    let some = |of: fn(&Latency) -> Option<&str>| {
        let texts: Vec<&str> = reports.iter().filter_map(|report| of(&report.latency)).collect();
        (!texts.is_empty()).then(|| sum(texts.into_iter())).transpose()
    };
    Ok(Latency {
        service_hdr: every(|latency| latency.service_hdr.as_str())?,
        ttfb_hdr: every(|latency| latency.ttfb_hdr.as_str())?,
        connect_hdr: every(|latency| latency.connect_hdr.as_str())?,
        response_hdr: some(|latency| latency.response_hdr.as_deref())?,
        response_from_sent_hdr: some(|latency| latency.response_from_sent_hdr.as_deref())?,
        client_lag_hdr: some(|latency| latency.client_lag_hdr.as_deref())?,
        pool_wait_hdr: some(|latency| latency.pool_wait_hdr.as_deref())?,
        censored_hdr: some(|latency| latency.censored_hdr.as_deref())?,
        failed_hdr: some(|latency| latency.failed_hdr.as_deref())?,
    })
}

/// Histograms added up, bucket by bucket; those of nobody hold nothing.
fn sum<'a>(texts: impl Iterator<Item = &'a str>) -> Result<String, StatsError> {
    let mut all = Histogram::new();
    for text in texts {
        all.merge(&Histogram::from_hdr_base64(text)?);
    }
    all.to_hdr_base64()
}

/// The CPUs of all, as a kernel list. Those of different hosts may have the same numbers.
fn cpus(reports: &[&LoadReport]) -> String {
    let lists = reports.iter().filter_map(|report| report.cpus.parse::<CpuSet>().ok());
    lists.flat_map(|list| list.iter().collect::<Vec<u32>>()).collect::<CpuSet>().to_string()
}

fn books(sum: Books, part: &Books) -> Books {
    Books {
        issued: sum.issued + part.issued,
        ok: sum.ok + part.ok,
        errors: added(sum.errors, &part.errors),
        censored: sum.censored + part.censored,
        sent_bytes: sum.sent_bytes + part.sent_bytes,
        received_bytes: sum.received_bytes + part.received_bytes,
        connections_opened: sum.connections_opened + part.connections_opened,
        repeated: sum.repeated + part.repeated,
    }
}

fn counts(sum: WindowCounts, part: &WindowCounts) -> WindowCounts {
    WindowCounts {
        ok: sum.ok + part.ok,
        errors: added(sum.errors, &part.errors),
        body_bytes: sum.body_bytes + part.body_bytes,
        failed_later: part.failed_later.map(|later| later + sum.failed_later.unwrap_or_default()),
    }
}

/// Counts per interval, each the sum of all; the intervals began together.
fn series<'a>(parts: impl Iterator<Item = &'a Series>) -> Series {
    parts.fold(Series::default(), |mut sum, part| {
        sum.interval_ns = part.interval_ns;
        sum.ok.resize(sum.ok.len().max(part.ok.len()), 0);
        sum.ok.iter_mut().zip(&part.ok).for_each(|(sum, part)| *sum += part);
        sum
    })
}

/// What both used at the same time.
fn usage(one: &Usage, other: &Usage) -> Usage {
    let delays = [one.run_delay_ns, other.run_delay_ns].into_iter().flatten();
    Usage {
        wall_ns: one.wall_ns.max(other.wall_ns),
        user_ns: one.user_ns + other.user_ns,
        system_ns: one.system_ns + other.system_ns,
        rss_peak_bytes: one.rss_peak_bytes + other.rss_peak_bytes,
        rss_bytes: one.rss_bytes + other.rss_bytes,
        voluntary_switches: one.voluntary_switches + other.voluntary_switches,
        involuntary_switches: one.involuntary_switches + other.involuntary_switches,
        run_delay_ns: delays.reduce(|sum, delay| sum + delay),
        busiest_thread_ns: one.busiest_thread_ns.max(other.busiest_thread_ns),
        minor_faults: one.minor_faults + other.minor_faults,
        major_faults: one.major_faults + other.major_faults,
        pss_bytes: None,
        uncounted_processes: one.uncounted_processes + other.uncounted_processes,
        processes: one.processes + other.processes,
        threads: one.threads + other.threads,
        source: other.source,
    }
}

fn bodies(sum: BodyChecks, part: &BodyChecks) -> BodyChecks {
    BodyChecks {
        compared: sum.compared + part.compared,
        by_length: sum.by_length + part.by_length,
        unjudged: sum.unjudged + part.unjudged,
        ..sum
    }
}

fn calls(sum: SystemCalls, part: SystemCalls) -> SystemCalls {
    SystemCalls {
        waits: sum.waits + part.waits,
        receives: sum.receives + part.receives,
        sends: sum.sends + part.sends,
        others: sum.others + part.others,
    }
}

fn stack(reports: &[&LoadReport]) -> Option<StackCounts> {
    reports.iter().filter_map(|report| report.stack.clone()).reduce(|sum, part| sum.plus(&part))
}

fn tls(reports: &[&LoadReport]) -> Result<Option<TlsReport>, StatsError> {
    let parts: Vec<&TlsReport> = reports.iter().filter_map(|report| report.tls.as_ref()).collect();
    let Some(first) = parts.first() else { return Ok(None) };
    let agreed = parts.iter().find_map(|part| part.agreed.clone());
    let count = |of: fn(&TlsReport) -> u64| parts.iter().map(|part| of(part)).sum::<u64>();
    // Who agreed on something else from the first on did so with all connections.
    let otherwise = |part: &TlsReport| match (&part.agreed, &agreed) {
        (Some(own), Some(first)) if own.differs_from(first) => part.full.count + part.resumed.count,
        _ => part.otherwise,
    };
    Ok(Some(TlsReport {
        otherwise: parts.iter().map(|part| otherwise(part)).sum(),
        full: handshakes(parts.iter().map(|part| &part.full))?,
        resumed: handshakes(parts.iter().map(|part| &part.resumed))?,
        failed: count(|part| part.failed),
        sent_bytes: count(|part| part.sent_bytes),
        received_bytes: count(|part| part.received_bytes),
        agreed: agreed.clone(),
        ..(*first).clone()
    }))
}

fn handshakes<'a>(parts: impl Iterator<Item = &'a Handshakes>) -> Result<Handshakes, StatsError> {
    let parts: Vec<&Handshakes> = parts.collect();
    let times: Vec<&str> = parts.iter().filter_map(|part| part.time_hdr.as_deref()).collect();
    Ok(Handshakes {
        count: parts.iter().map(|part| part.count).sum(),
        in_window: parts.iter().map(|part| part.in_window).sum(),
        time_hdr: (!times.is_empty()).then(|| sum(times.into_iter())).transpose()?,
    })
}

/// The first wrong answers of each class.
fn samples(reports: &[&LoadReport]) -> Vec<ErrorSample> {
    let mut kept = BTreeMap::new();
    let is_wanted = |sample: &&ErrorSample| {
        let count = kept.entry(sample.class).or_insert(0usize);
        *count += 1;
        *count <= SAMPLES_PER_CLASS
    };
    reports.iter().flat_map(|report| &report.samples).filter(is_wanted).cloned().collect()
}
