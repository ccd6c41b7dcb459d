//! The made-up run with more in it: given rates, a redline, workloads that differ in a number, figures of others.

use assay_model::experiment::{Cell, Measure};
use assay_model::family::Family;
use assay_model::load::Arrival;
use assay_model::record::{Measurement, Record, Run};
use assay_model::units::Nanos;
use assay_model::verdict::{CellVerdict, Verdict};
use assay_model::workload::Workload;
use assay_stats::Histogram;

use crate::{latency, published};

/// Numbers of queries in a request.
pub(crate) const QUERIES: [u32; 3] = [1, 5, 20];
const LINK: &str = "veth:1gbit";

/// The sample with all of that.
pub(crate) fn rated((mut record, mut verdict): (Record, Verdict)) -> (Record, Verdict) {
    record.id = format!("{}-rated", record.id);
    record.link = LINK.parse().ok();
    verdict.latency = latency::latency();
    verdict.redlines = latency::redlines();
    verdict.published = Some(published::figures());
    let loads = ["max", "50%", "common", "redline:p99<10ms"].map(|load| load.parse().unwrap_or_default());
    record
        .experiment
        .measures
        .push(Measure { rates: loads.to_vec(), ..Measure::capacity("hello", vec![64]) });
    for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
        let rates: Vec<Measurement> = offered_to(run, &verdict);
        run.cells.extend(rates);
    }
    add_family(&mut record, &mut verdict);
    (record, verdict)
}

/// A window at each load at which the verdict tells of the contender, and three of the search.
fn offered_to(run: &Run, verdict: &Verdict) -> Vec<Measurement> {
    let Some(model) = run.cells.iter().find(|window| window.cell == Cell::closed("hello", 64)) else {
        return Vec::new();
    };
    let window = |cell: &Cell, per_second: f64, offset: u64| {
        let mut window = model.clone();
        window.cell = cell.clone();
        window.offset_ns = Nanos(model.offset_ns.0 + offset * 10_000_000);
        window.load.arrival = Arrival::Poisson { per_second };
        window.load.latency.response_hdr = Some(times(per_second * run.contender.len() as f64));
        window.load.latency.response_from_sent_hdr = window.load.latency.response_hdr.clone();
        window
    };
    let mut windows = Vec::new();
    for judged in &verdict.latency {
        let told = judged.standings.iter().filter(|standing| standing.contender == run.contender);
        windows
            .extend(told.filter_map(|standing| Some(window(&judged.cell, standing.offered_per_second?, 1))));
    }
    for judged in &verdict.redlines {
        let found = judged.standings.iter().find(|standing| standing.contender == run.contender);
        if let Some(kept) = found.and_then(|standing| standing.kept_per_second) {
            windows.extend([0.8, 1.0, 1.018].map(|share| window(&judged.cell, kept * share, 2)));
        }
    }
    windows
}

/// Log-normal times that grow with the rate.
fn times(per_second: f64) -> String {
    let mut histogram = Histogram::new();
    for step in 0..2000_u32 {
        let share = (f64::from(step) + 0.5) / 2000.0;
        let spread = (share / (1.0 - share)).ln() * 0.3;
        histogram.record_n((per_second * 4.0 * spread.exp()) as u64, 20);
    }
    histogram.to_hdr_base64().unwrap_or_default()
}

/// Workloads that make several queries, each as fast as `json` over their number.
fn add_family(record: &mut Record, verdict: &mut Verdict) {
    let json: Workload = record.workloads[1].clone();
    let Some(judged) = verdict.cells.iter().find(|cell| cell.cell == Cell::closed("json", 64)).cloned()
    else {
        return;
    };
    for queries in QUERIES {
        let name = format!("queries-{queries}");
        let family = Family { name: "queries".to_owned(), parameter: "queries".to_owned(), value: queries };
        record.workloads.push(Workload { name: name.clone(), family: Some(family), ..json.clone() });
        record.experiment.measures.push(Measure::capacity(name.as_str(), vec![64]));
        verdict.cells.push(slower(&judged, &name, queries));
    }
}

fn slower(judged: &CellVerdict, name: &str, times: u32) -> CellVerdict {
    let mut slower = judged.clone();
    slower.cell = Cell::closed(name, 64);
    for throughput in slower.standings.iter_mut().filter_map(|s| s.throughput_per_second.as_mut()) {
        for figure in [&mut throughput.estimate, &mut throughput.low, &mut throughput.high] {
            *figure /= f64::from(times).sqrt() * 2.0;
        }
    }
    slower
}
