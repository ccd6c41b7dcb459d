//! Requests that left late, were given up or were so many and no more: every format tells alike what is known of them.

use std::collections::BTreeMap;

use assay_model::energy::EnergyPerAnswer;
use assay_model::experiment::Cell;
use assay_model::load::{Arrival, Latency};
use assay_model::offered::Offered;
use assay_model::record::{Measurement, Record};
use assay_model::rule::Rule;
use assay_model::verdict::{Interval, LatencyStanding, Verdict};
use assay_report::export::{csv, openmetrics, summary};
use assay_report::page::{self, Findings};
use assay_stats::Histogram;
use assay_verdict::testing;

use crate::exposition;
use crate::support::sample;

const ROUNDS: usize = 6;
const RATE: Offered = Offered::Rate(10_000);
/// Quantiles of a page's samples.
const P50: usize = 0;
const P99: usize = 3;

/// The windows of `a` at a rate, of whose requests a fiftieth took 15 ms, the others 1 ms.
fn at_a_rate(spoil: impl Fn(&mut Latency)) -> (Record, Verdict) {
    with_windows(RATE, |window| {
        window.load.arrival = Arrival::Poisson { per_second: 10_000.0 };
        let latency = &mut window.load.latency;
        latency.response_hdr = coded(&[(1_000_000, 9_800), (15_000_000, 200)]);
        latency.response_from_sent_hdr = latency.response_hdr.clone();
        spoil(latency);
    })
}

/// Each contender has a window at a load beside that at capacity; `spoil` changes that of `a`.
fn with_windows(offered: Offered, spoil: impl Fn(&mut Measurement)) -> (Record, Verdict) {
    let mut record = testing::record(&[("a", &[1000.0; ROUNDS]), ("b", &[1000.0; ROUNDS])]);
    record.experiment.measures[0].rates.push(offered);
    for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
        let mut window = run.cells[0].clone();
        window.cell.offered = offered;
        if run.contender == "a" {
            spoil(&mut window);
            run.cells.push(window);
        }
    }
    let verdict = testing::judged(&record);
    (record, verdict)
}

fn coded(values: &[(u64, u64)]) -> Option<String> {
    let mut histogram = Histogram::new();
    values.iter().for_each(|&(value, count)| histogram.record_n(value, count));
    histogram.to_hdr_base64().ok()
}

fn standing(verdict: &Verdict) -> &LatencyStanding {
    verdict.latency[0].standings.iter().find(|of| of.contender == "a").unwrap()
}

fn told_of(verdict: &Verdict) -> Vec<f64> {
    standing(verdict).quantiles.iter().map(|of| of.quantile).collect()
}

/// The rows of a table that are of the load, by heading.
fn rows(table: &str, load: &str) -> Vec<BTreeMap<String, String>> {
    let heads: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let row = |line: &str| {
        let fields = line.splitn(heads.len(), ',').map(str::to_owned);
        heads.iter().map(|head| (*head).to_owned()).zip(fields).collect::<BTreeMap<String, String>>()
    };
    table.lines().skip(1).map(row).filter(|row| row["load"] == load && row["contender"] == "a").collect()
}

fn fields<const N: usize>(row: &BTreeMap<String, String>, heads: [&str; N]) -> [String; N] {
    heads.map(|head| row[head].clone())
}

/// The samples of a family that are of the load, by a label.
fn exposed(record: &Record, verdict: &Verdict, family: &str, label: &str) -> BTreeMap<String, f64> {
    let load = record.experiment.measures[0].rates.last().unwrap().to_string();
    let families = exposition::read(&openmetrics(record, verdict)).unwrap();
    let samples = families.get(family).map(|family| family.samples.as_slice()).unwrap_or_default();
    let of =
        samples.iter().filter(|sample| sample.labels["load"] == load && sample.labels["contender"] == "a");
    of.map(|sample| (sample.labels[label].clone(), sample.value)).collect()
}

fn findings(record: &Record, verdict: &Verdict) -> Findings {
    page::build(&[(record, verdict)]).unwrap().runs.remove(0).findings.remove(0)
}

/// The curve at a percentile: outer `None` where it has ended.
fn curve_at(record: &Record, verdict: &Verdict, q: f64) -> Option<Option<u64>> {
    let page = page::build(&[(record, verdict)]).unwrap();
    let run = &page.runs[0];
    let at = run.head.quantiles.iter().position(|of| *of == q).unwrap();
    let curve = run.findings[0].curves.iter().find(|of| of.offered != "max").unwrap();
    curve.median_ns.get(at).copied()
}

#[test]
fn a_percentile_that_requests_left_too_late_for_is_told_nowhere() {
    // All left 0.5 ms late, which is half of 1 ms and nothing of 15 ms.
    let (record, verdict) = at_a_rate(|latency| {
        latency.response_from_sent_hdr = coded(&[(500_000, 9_800), (14_500_000, 200)]);
    });
    assert_eq!(told_of(&verdict), [0.99]);
    let samples = findings(&record, &verdict).samples;
    let of_a = samples.iter().filter(|of| of.offered != "max");
    assert!(of_a.clone().count() == ROUNDS && of_a.clone().all(|of| of.quantiles_ns[P50].is_none()));
    assert!(of_a.clone().all(|of| of.quantiles_ns[P99].is_some()));
    assert_eq!(curve_at(&record, &verdict, 0.5), Some(None));
    assert!(curve_at(&record, &verdict, 0.99).flatten().is_some());
    let row = rows(&summary(&record, &verdict), &RATE.to_string()).remove(0);
    assert_eq!(fields(&row, ["response_p50_ns", "response_p50_is_lower_bound"]), ["", ""]);
    assert_eq!(row["response_p99_is_lower_bound"], "false");
    let exposed = exposed(&record, &verdict, "assay_response_time_seconds", "quantile");
    assert_eq!(exposed.keys().collect::<Vec<_>>(), ["0.99"]);
    // The windows are raw, so they have both ends.
    let windows = rows(&csv(&record).unwrap(), &RATE.to_string());
    let ms = |field: &str| (field.parse::<f64>().unwrap() / 1e5).round() / 10.0;
    for row in &windows {
        let ends = ["response_p50_ns", "response_p50_from_sent_ns", "response_p99_from_sent_ns"];
        assert_eq!(fields(row, ends).map(|field| ms(&field)), [1.0, 0.5, 14.5], "{row:?}");
    }
    assert_eq!(windows.len(), ROUNDS);
}

#[test]
fn a_percentile_that_reaches_what_was_given_up_is_a_bound_in_every_format() {
    let (record, verdict) = at_a_rate(|latency| latency.censored_hdr = coded(&[(3_000_000_000, 300)]));
    let bounds: Vec<bool> = standing(&verdict).quantiles.iter().map(|of| of.is_lower_bound).collect();
    assert_eq!(bounds, [false, false, true]);
    let findings = findings(&record, &verdict);
    let of_a = findings.samples.iter().filter(|of| of.offered != "max");
    assert!(of_a.clone().all(|of| [P50, P99].map(|at| of.are_lower_bounds[at]) == [false, true]));
    assert_eq!(curve_at(&record, &verdict, 0.99), None, "it ends before");
    assert!(curve_at(&record, &verdict, 0.95).flatten().is_some());
    let row = rows(&summary(&record, &verdict), &RATE.to_string()).remove(0);
    let heads = ["response_p50_is_lower_bound", "response_p99_is_lower_bound", "response_p99_high_ns"];
    assert_eq!(fields(&row, heads), ["false", "true", ""]);
    assert!(row["response_p99_ns"].parse::<f64>().unwrap() > 2.9e9 && !row["response_p99_low_ns"].is_empty());
    let exposed = exposed(&record, &verdict, "assay_response_time_is_lower_bound", "quantile");
    assert_eq!(
        exposed.into_iter().collect::<Vec<_>>(),
        [("0.5".into(), 0.0), ("0.9".into(), 0.0), ("0.99".into(), 1.0)]
    );
    for row in rows(&csv(&record).unwrap(), &RATE.to_string()) {
        let [p50, p99] = fields(&row, ["response_p50_is_lower_bound", "response_p99_is_lower_bound"]);
        assert_eq!([p50.as_str(), p99.as_str()], ["false", "true"], "{row:?}");
        assert!(row["response_p99_ns"].parse::<f64>().unwrap() > 2.9e9, "{row:?}");
    }
}

#[test]
fn a_load_of_so_many_requests_is_in_the_summary_and_in_openmetrics() {
    let cell = Offered::Requests(1000);
    let (mut record, verdict) = with_windows(cell, |window| window.load.books.censored = 3);
    let load = cell.to_string();
    let row = |record: &Record, verdict: &Verdict| rows(&summary(record, verdict), &load).remove(0);
    let heads = ["rounds", "requests", "unanswered", "withheld", "answered_shares"];
    assert_eq!(fields(&row(&record, &verdict), heads), ["6", "6018", "18", "", ""]);
    assert!(!row(&record, &verdict)["slowest_ns"].is_empty());
    let withheld = |record: &Record, verdict: &Verdict| {
        exposed(record, verdict, "assay_withheld", "workload").into_values().collect::<Vec<f64>>()
    };
    assert_eq!(withheld(&record, &verdict), [0.0]);
    let unanswered = exposed(&record, &verdict, "assay_unanswered_requests", "workload");
    assert_eq!(unanswered.into_values().collect::<Vec<f64>>(), [18.0]);
    record.experiment.answered_within_ms = vec![0.001, 1000.0];
    let verdict = testing::judged(&record);
    let shares = row(&record, &verdict)["answered_shares"].clone();
    assert!(shares.starts_with("0.001=0 1000=0.997"), "{shares}");
    let at_capacity = rows(&summary(&record, &verdict), "max").remove(0);
    assert_eq!(at_capacity["answered_shares"], "0.001=0 1000=1");
    let exposed = exposed(&record, &verdict, "assay_answered_ratio", "within_ms");
    assert!(exposed["0.001"] == 0.0 && (exposed["1000"] - 0.997).abs() < 1e-3, "{exposed:?}");
    for round in record.rounds.iter_mut().take(ROUNDS - 1) {
        round.runs[0].cells[1].machine.steal_share = 0.5;
    }
    let verdict = testing::judged(&record);
    assert_eq!(withheld(&record, &verdict), [1.0]);
    let withheld = row(&record, &verdict)["withheld"].clone();
    assert!(withheld.contains(&Rule::Steal.to_string()) && row(&record, &verdict)["slowest_ns"].is_empty());
}

#[test]
fn figures_are_figures_and_words_of_others_are_harmless() {
    let (record, mut verdict) = sample();
    let cell = verdict.cells.iter_mut().find(|of| of.cell == Cell::closed("hello", 64)).unwrap();
    let standing = cell.standings.iter_mut().find(|of| of.contender == "nginx").unwrap();
    let whole_uj = Interval { estimate: 40.0, low: -9232.5, high: 9312.5, confidence: 0.95 };
    standing.energy = Some(EnergyPerAnswer { whole_uj, idle_uj: None, beyond_idle_uj: None });
    standing.letters = "=1+1".to_owned();
    let table = summary(&record, &verdict);
    assert!(table.contains(",-9232.5,") && !table.contains("'-"), "{table}");
    assert!(table.contains(",'=1+1,"), "{table}");
}
