//! Records made up for tests.
#![allow(clippy::expect_used, reason = "a test ends at what cannot be")]

use assay_model::check::{Check, CheckOutcome};
use assay_model::contender::Kind;
use assay_model::evidence::Evidence;
use assay_model::experiment::{Cell, Experiment, Measure};
use assay_model::host::{HostFacts, Isolation};
use assay_model::identity::{Identity, Origin};
use assay_model::load::{Arrival, Books, LOAD_SCHEMA, Latency, LoadReport, Series, WindowCounts};
use assay_model::network::Spec;
use assay_model::record::{Entry, Machine, Measurement, Program, RECORD_SCHEMA, Record, Round, Run, State};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_model::verdict::Verdict;
use assay_stats::Histogram;

/// The verdict on a record.
pub fn judged(record: &Record) -> Verdict {
    crate::judge(record).expect("a record whose histograms can be read")
}

/// A window of one second at `per_second` that obeys Little's law.
pub fn load_report(connections: u32, per_second: f64) -> LoadReport {
    let ok = per_second.round() as u64;
    let mut histogram = Histogram::new();
    histogram.record_n((f64::from(connections) / per_second * 1e9) as u64, ok);
    let service_hdr = histogram.to_hdr_base64().expect("histogram");
    LoadReport {
        schema: LOAD_SCHEMA.to_owned(),
        target: "http://127.0.0.1:1".to_owned(),
        engine: "epoll".to_owned(),
        arrival: Arrival::Closed,
        cpus: "0".to_owned(),
        connections,
        pipeline: 1,
        window_ns: Nanos::from_millis(1000),
        warmup_ns: Nanos::ZERO,
        books: Books { issued: ok, ok, ..Books::default() },
        window: WindowCounts { ok, ..WindowCounts::default() },
        latency: Latency { service_hdr, ..Latency::default() },
        series: Series { interval_ns: Nanos::from_millis(100), ok: vec![ok / 10; 10] },
        generator: Usage::default(),
        thread_busy_shares: vec![0.5],
        samples: Vec::new(),
        checks: vec![little(CheckOutcome::Pass)],
        ..LoadReport::default()
    }
}

/// What the generator says of Little's law.
pub fn little(outcome: CheckOutcome) -> Check {
    let evidence = Evidence::LittlesLaw { in_flight: 1.0, throughput_times_latency: 0.97 };
    Check { rule: Rule::LittlesLaw, outcome, evidence }
}

/// A window whose server used its only CPU fully.
fn window(per_second: f64) -> Measurement {
    let busy = Usage {
        wall_ns: Nanos::from_millis(1000),
        user_ns: Nanos::from_millis(400),
        system_ns: Nanos::from_millis(590),
        rss_peak_bytes: 1 << 20,
        rss_bytes: 1 << 20,
        ..Usage::default()
    };
    Measurement {
        server: Some(busy),
        machine: Machine { server_idle_share: 0.01, generator_idle_share: 0.5, ..Machine::default() },
        ..Measurement::new(Cell::closed("hello", 64), load_report(64, per_second))
    }
}

/// Makes the last contender of a record the A/A control of the first.
pub fn with_control(mut record: Record) -> Record {
    let original = record.contenders[0].identity.name.clone();
    if let Some(last) = record.contenders.last_mut() {
        last.control_of = Some(original);
    }
    record
}

/// Splits every round of a record into two groups: the first contender lives in both, the last in the second, all others in the
/// first. In the second group everything is `slower` times as fast.
pub fn in_two_groups(mut record: Record, slower: f64) -> Record {
    let common = record.contenders[0].identity.name.clone();
    let last = record.contenders.last().map(|entry| entry.identity.name.clone()).unwrap_or_default();
    for round in &mut record.rounds {
        let again: Vec<Run> = round.runs.iter().filter(|run| run.contender == common).cloned().collect();
        round.runs.iter_mut().filter(|run| run.contender == last).for_each(|run| run.group = 1);
        round.runs.extend(again.into_iter().map(|run| Run { group: 1, ..run }));
        for cell in round.runs.iter_mut().filter(|run| run.group == 1).flat_map(|run| &mut run.cells) {
            let per_second = cell.load.window.ok as f64 * slower;
            cell.load = load_report(cell.load.connections, per_second);
        }
    }
    record
}

/// Gives a contender replicas from the third round on, each so many times as fast as it was.
pub fn with_replicas(mut record: Record, contender: &str, times: &[f64]) -> Record {
    for round in record.rounds.iter_mut().skip(2) {
        let Some(place) = round.runs.iter().position(|run| run.contender == contender) else { continue };
        let alone = round.runs.remove(place);
        for (replica, times) in (0..).zip(times) {
            let mut run = Run { replica, ..alone.clone() };
            for cell in &mut run.cells {
                cell.load = load_report(cell.load.connections, cell.load.window.ok as f64 * times);
            }
            round.runs.push(run);
        }
    }
    record
}

/// A complete record of one cell, `hello` at 64 connections: contenders with their throughput in each round. One called
/// `limit` is the limit; a throughput of zero is a round in which it died before the window.
pub fn record(contenders: &[(&str, &[f64])]) -> Record {
    let rounds = contenders.iter().map(|(_, series)| series.len()).max().unwrap_or(0);
    let run = |name: &str, per_second: f64| Run {
        contender: name.to_owned(),
        startup_ns: Nanos::from_millis(20),
        cells: if per_second > 0.0 { vec![window(per_second)] } else { Vec::new() },
        ..Run::default()
    };
    let round = |index: usize| Round {
        server_host: None,
        index: u32::try_from(index).expect("few rounds"),
        runs: contenders.iter().filter_map(|(name, series)| Some(run(name, *series.get(index)?))).collect(),
    };
    Record {
        schema: RECORD_SCHEMA.to_owned(),
        id: "20261120-221530-test".to_owned(),
        started_at: "2026-11-20T22:15:30Z".to_owned(),
        elapsed_ns: Nanos::from_millis(1000),
        paused_ns: Nanos::ZERO,
        state: State::Complete,
        assay: Program { version: "0.1.0".to_owned(), profile: "release".to_owned() },
        command: vec!["assay".to_owned()],
        seed: 1,
        experiment: Experiment::new("test", vec![Measure::capacity("hello", vec![64])]),
        workloads: Vec::new(),
        host: HostFacts::default(),
        isolation: Isolation {
            server_cpus: "1".to_owned(),
            generator_cpus: "0".to_owned(),
            statement: String::new(),
        },
        link: Some(Spec::Loopback),
        database: None,
        upstream: None,
        link_facts: None,
        server_hosts: Vec::new(),
        generator_hosts: Vec::new(),
        host_links: Vec::new(),
        imported: None,
        generators: Vec::new(),
        networks: Vec::new(),
        tls: None,
        contenders: contenders.iter().map(|(name, _)| entry(name)).collect(),
        rounds: (0..rounds).map(round).collect(),
        long_look: None,
        energy: None,
    }
}

fn entry(name: &str) -> Entry {
    let kind = if name == "limit" { Kind::Limit } else { Kind::Server };
    let identity = Identity::named(name, kind, Origin::Folder);
    Entry::untried(Identity { workloads: vec!["hello".to_owned()], ..identity })
}
