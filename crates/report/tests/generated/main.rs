//! Records of all kinds, judged and told: nothing that is printed is senseless, and nothing contradicts anything else.
#![allow(clippy::unwrap_used, reason = "a helper may fail as loudly as the test that calls it")]

mod comparisons;
mod kinds;
mod loads;
mod redlines;
mod sense;

use assay_model::record::Record;
use assay_model::verdict::{Call, CellVerdict, Verdict};
use assay_report::export::{csv, json, junit, markdown, openmetrics, summary};
use assay_report::sentences::of_run;
use assay_report::terminal::{Style, render};
use assay_report::words::evidence;
use assay_report::{html, page};
use assay_verdict::{settling, testing};
use proptest::prelude::*;

use kinds::kinds;
use sense::{infinite, nonsense};

/// Everything that people read of a run.
fn told(record: &Record, verdict: &Verdict) -> Vec<(&'static str, String)> {
    let trust: Vec<String> = verdict.trust.iter().map(evidence).collect();
    let of = |width| render(record, verdict, &Style { width, colour: false, ascii: false, full: true });
    vec![
        ("terminal", of(100)),
        ("wide terminal", of(220)),
        ("Markdown", markdown(record, verdict)),
        ("sentences", of_run(record, verdict).join("\n")),
        ("trust", trust.join("\n")),
        ("JUnit", junit(record, verdict, true).unwrap()),
    ]
}

/// What programs read: numbers as they are.
fn written(record: &Record, verdict: &Verdict) -> Vec<(&'static str, String)> {
    let data = serde_json::to_string(&page::build(&[(record, verdict)]).unwrap()).unwrap();
    vec![
        ("JSON", json(record, verdict).unwrap()),
        ("CSV", csv(record).unwrap()),
        ("summary", summary(record, verdict)),
        ("OpenMetrics", openmetrics(record, verdict)),
        ("page's data", data),
    ]
}

/// Where rows or tiers of a table deny what one of its pairs shows.
fn contradiction(cell: &CellVerdict) -> Option<String> {
    let row = |name: &str| cell.standings.iter().position(|standing| standing.contender == name);
    let tier = |name: &str| cell.standings[row(name)?].tier;
    let denied = |faster: &str, slower: &str| {
        row(faster) > row(slower) || tier(faster).is_none() || tier(faster) >= tier(slower)
    };
    let shown = cell.pairs.iter().filter(|pair| pair.call == Call::Distinct);
    let pair = shown.into_iter().find(|pair| denied(&pair.faster, &pair.slower));
    let tiers: Vec<u32> = cell.standings.iter().filter_map(|standing| standing.tier).collect();
    let rates: Vec<f64> =
        cell.standings.iter().filter_map(|standing| Some(standing.throughput_per_second?.estimate)).collect();
    match pair {
        Some(pair) => Some(format!("{pair:?}, but {:?}", cell.standings)),
        None if !tiers.is_sorted() => Some(format!("tiers {tiers:?}")),
        None if !rates.is_sorted_by(|a, b| a >= b) => Some(format!("rates {rates:?}")),
        None => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_senseless_is_printed_and_nothing_contradicts_itself(kind in kinds()) {
        let record = kind.record();
        let verdict = testing::judged(&record);
        for cell in &verdict.cells {
            prop_assert_eq!(contradiction(cell), None);
        }
        let again: Result<Verdict, _> = serde_json::from_value(serde_json::to_value(&verdict).unwrap());
        prop_assert!(again.is_ok_and(|again| again == verdict), "what is not finite is null: {verdict:?}");
        let people = told(&record, &verdict);
        for (what, text) in &people {
            prop_assert_eq!(nonsense(text), None, "{}:\n{}", what, text);
            let denied = text.contains("one round shows no differences") && verdict.rounds > 1;
            prop_assert!(!denied, "{what} with {} rounds:\n{text}", verdict.rounds);
        }
        for (what, text) in written(&record, &verdict) {
            prop_assert_eq!(infinite(&text), None, "{}", what);
        }
        // What it packs was looked at above.
        if kind.seed % 4 == 0 {
            html::page(&record, &verdict).unwrap();
        }
        settling(&record).unwrap();
    }
}
