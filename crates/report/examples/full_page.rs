//! Writes a page of the greatest size that must open in a second, over made-up figures: 100 contenders × 7 workloads × 6
//! levels × 10 rounds. `cargo run -p assay-report --example full_page FILE`, then `npm run ready -- FILE` in report-ui/.

#[path = "../tests/support/mod.rs"]
mod support;

use std::error::Error;
use std::fs;

use assay_model::experiment::Measure;
use assay_model::record::{Measurement, Record, Round, Run};
use assay_model::units::Nanos;
use assay_model::verdict::{Call, Interval, Pair, Standing, Verdict};
use assay_report::html;
use assay_stats::Histogram;

const CONTENDERS: usize = 100;
const WORKLOADS: [&str; 7] = ["hello", "json", "plaintext", "db", "queries", "fortunes", "updates"];
const LEVELS: [u32; 6] = [8, 16, 32, 64, 128, 256];
const ROUNDS: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("tell the file to write")?;
    let (mut record, mut verdict) = support::sample();
    enlarge(&mut record);
    judge(&record, &mut verdict);
    fs::write(file, html::page(&record, &verdict)?)?;
    Ok(())
}

/// The sample's nginx a hundred times under other names, each a little slower than the one before.
fn enlarge(record: &mut Record) {
    let is_model = |name: &str| name == "nginx";
    let Some(entry) = record.contenders.iter().find(|entry| is_model(&entry.identity.name)).cloned() else {
        return;
    };
    let Some(run) = record.rounds[0].runs.iter().find(|run| is_model(&run.contender)).cloned() else {
        return;
    };
    record.experiment.measures = WORKLOADS.map(|name| Measure::capacity(name, LEVELS.to_vec())).to_vec();
    let workload = record.workloads[0].clone();
    record.workloads = WORKLOADS
        .map(|name| assay_model::workload::Workload { name: name.to_owned(), ..workload.clone() })
        .to_vec();
    record.contenders.truncate(1);
    record.contenders.extend((0..CONTENDERS).map(|i| assay_model::record::Entry {
        identity: assay_model::identity::Identity {
            name: name(i),
            title: format!("Contender {i}"),
            language: ["c", "go", "java", "rust", "javascript"][i % 5].to_owned(),
            workloads: WORKLOADS.map(str::to_owned).to_vec(),
            ..entry.identity.clone()
        },
        ..entry.clone()
    }));
    let mut clock = 0;
    record.rounds = (0..ROUNDS)
        .map(|index| Round {
            server_host: None,
            index,
            runs: (0..CONTENDERS).map(|i| run_of(&run, i, index, &mut clock)).collect(),
        })
        .collect();
    record.elapsed_ns = Nanos(clock);
}

fn name(i: usize) -> String {
    format!("contender-{i:02}")
}

fn run_of(model: &Run, i: usize, round: u32, clock: &mut u64) -> Run {
    let times = times(i, round);
    let cells = WORKLOADS.iter().flat_map(|workload| LEVELS.map(|level| (workload, level)));
    let cells = cells.enumerate().map(|(k, (workload, level))| {
        let mut measurement: Measurement = model.cells[k % model.cells.len()].clone();
        measurement.cell = assay_model::experiment::Cell::closed(*workload, level);
        measurement.offset_ns = Nanos(*clock);
        *clock += 1_100_000_000;
        let wobble = (i * 31 + round as usize * 17 + k * 7) % 23;
        measurement.load.latency.service_hdr.clone_from(&times);
        measurement.load.window.ok = 90_000 - (i * 700) as u64 + wobble as u64 * 40;
        measurement
    });
    Run { contender: name(i), cells: cells.collect(), ..model.clone() }
}

/// Log-normal times of a contender in a round: no two have the same, so that they compress no better than real ones.
fn times(i: usize, round: u32) -> String {
    let mut histogram = Histogram::new();
    let scale = 400_000.0 * (1.0 + 0.0137 * i as f64) * (1.0 + 0.0071 * f64::from(round));
    for step in 0..400_u32 {
        let share = (f64::from(step) + 0.5) / 400.0;
        let spread = (share / (1.0 - share)).ln() * (0.17 + 0.0011 * i as f64);
        histogram.record_n((scale * spread.exp()) as u64, 200);
    }
    histogram.to_hdr_base64().unwrap_or_default()
}

/// Standings and pairs with figures as long as real ones.
fn judge(record: &Record, verdict: &mut Verdict) {
    let Some(model) =
        verdict.cells[0].standings.iter().find(|standing| standing.contender == "nginx").cloned()
    else {
        return;
    };
    let cell = |cell| {
        let standings: Vec<Standing> = (0..CONTENDERS).map(|i| standing(&model, i)).collect();
        let pairs = (0..CONTENDERS).flat_map(|i| (i + 1..CONTENDERS).map(move |j| pair(i, j))).collect();
        assay_model::verdict::CellVerdict { cell, standings, pairs, margin: 0.01, detectable: None }
    };
    verdict.rounds = ROUNDS;
    verdict.cells = record.experiment.cells().into_iter().map(cell).collect();
}

fn standing(model: &Standing, i: usize) -> Standing {
    let rate = 90_000.0 - i as f64 * 700.123;
    Standing {
        contender: name(i),
        throughput_per_second: Some(about(rate)),
        rounds_per_second: (0..ROUNDS).map(|round| Some(rate + f64::from(round) * 31.4159)).collect(),
        share_of_limit: Some(about(rate / 99_000.0)),
        tier: Some(i as u32 / 4 + 1),
        letters: "abc".to_owned(),
        ..model.clone()
    }
}

fn pair(i: usize, j: usize) -> Pair {
    let ratio = about((90_000.0 - i as f64 * 700.123) / (90_000.0 - j as f64 * 700.123));
    let call = if j - i < 3 { Call::Tie } else { Call::Distinct };
    Pair { faster: name(i), slower: name(j), ratio, call }
}

fn about(estimate: f64) -> Interval {
    Interval { estimate, low: estimate * 0.987_654_321, high: estimate * 1.012_345_678, confidence: 0.95 }
}
