//! Comparisons of all kinds: of one run and of two, by turns and by duets.

use assay_model::comparison::{Change, Comparison, Shift, ThresholdFinding};
use assay_model::design::{Because, Comparing, Design, Side as Seat};
use assay_model::load::LoadTurn;
use assay_model::record::{DuetTurn, Record};
use assay_model::units::Nanos;
use assay_report::comparison::{json, junit, markdown, render};
use assay_report::terminal::Style;
use assay_verdict::compare::{CompareError, Side, compare};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng as _;
use proptest::prelude::*;

use crate::kinds::{Kind, factor, kinds};
use crate::sense::{infinite, nonsense};

/// A comparison, and how many rounds there were to compare.
#[derive(Clone, Copy, Debug)]
enum How {
    /// Within the rounds of one run, by turns.
    Rounds,
    /// Within the rounds of one run, by windows in which both were under load.
    Duets,
    /// Runs of different times.
    Runs,
}

/// Nothing where one of them was measured in no round.
fn compared(kind: &Kind, how: How) -> Option<(Comparison, usize)> {
    // The limit is compared with nobody, and at least two are.
    let second = kind.rates[0] * 0.97;
    let rates = [&kind.rates[..], &[second]].concat();
    let kind = Kind { rates, with_limit: false, rated: false, with_control: false, ..kind.clone() };
    let mut record = kind.record();
    let names: Vec<String> = record.contenders.iter().map(|entry| entry.identity.name.clone()).collect();
    if matches!(how, How::Duets) {
        record.experiment.comparing =
            Some(Comparing { base: names[0].clone(), design: Design::Duet, because: Because::OneKind });
        play(&mut record, &names, &kind);
    }
    let later = match how {
        How::Runs => {
            Record { id: "later".to_owned(), ..Kind { seed: kind.seed ^ 1, ..kind.clone() }.record() }
        }
        How::Rounds | How::Duets => record.clone(),
    };
    let rounds = record.rounds.len();
    let side =
        |record: &Record, name: &String| Side { record: record.clone(), contender: Some(name.clone()) };
    let news: Vec<Side> = names[1..].iter().map(|name| side(&later, name)).collect();
    let thresholds = ["rps:-3%", "p99:+2%", "cpu:+5%"].map(|text| text.parse().unwrap());
    match compare(&side(&record, &names[0]), &news, &thresholds) {
        Err(CompareError::NoSuchContender { .. }) => None,
        // Now and then every life ends before its window.
        Err(CompareError::NobodyMeasured { run }) => {
            let of = if run == later.id { &later } else { &record };
            assert!(of.rounds.iter().flat_map(|round| &round.runs).all(|life| life.cells.is_empty()));
            None
        }
        compared => Some((compared.unwrap(), rounds)),
    }
}

/// Gives every life windows beside the base, or the base beside all others, as fast as its rate says.
fn play(record: &mut Record, names: &[String], kind: &Kind) {
    let mut rng = ChaCha8Rng::seed_from_u64(kind.seed);
    for life in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
        let beside = if life.contender == names[0] { &names[1..] } else { &names[..1] };
        for window in &mut life.cells {
            let half = window.load.window.ok as f64 / 20.0;
            let turns = beside.iter().flat_map(|beside| Seat::BOTH.map(|seat| (beside, seat)));
            window.duet = turns
                .map(|(beside, side)| duet(beside, side, half * factor(kind.window_sd, &mut rng)))
                .collect();
        }
    }
}

fn duet(beside: &str, side: Seat, ok: f64) -> DuetTurn {
    let load = LoadTurn { window_ns: Nanos::from_millis(100), ok: ok as u64, ..LoadTurn::default() };
    DuetTurn { beside: beside.to_owned(), side, load, ..DuetTurn::default() }
}

/// Everything that people read of it.
fn told(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let of = |width, full| render(comparison, &Style { width, colour: false, ascii: false, full });
    vec![
        ("terminal", of(100, false)),
        ("wide terminal", of(250, true)),
        ("Markdown", markdown(comparison)),
        ("JUnit", junit(comparison).unwrap()),
    ]
}

/// What a change is called although its interval denies it.
fn denied(change: &Change) -> bool {
    let around_one = change.ratio.is_none_or(|ratio| ratio.low <= 1.0 && ratio.high >= 1.0);
    let is_shown = matches!(change.call, Shift::Better | Shift::Worse);
    let far =
        change.ratio.is_none_or(|ratio| ratio.high - 1.0 > change.margin || 1.0 - ratio.low > change.margin);
    (is_shown && around_one) || (change.call == Shift::Equal && far)
}

/// The first row of a table that calls a difference shown, and prints an interval with no difference in it.
fn row_that_contradicts_itself(text: &str) -> Option<&str> {
    let shown = text.lines().filter(|line| {
        let row = line.trim_end_matches([' ', '|']);
        row.ends_with(" better") || row.ends_with(" worse")
    });
    let mut around_nothing = shown.filter(|line| {
        let ends = line.rsplit_once('[').and_then(|(_, rest)| rest.split_once(" … "));
        ends.is_some_and(|(low, high)| low.starts_with('−') && high.starts_with('+'))
    });
    around_nothing.next()
}

/// Rounds that the text says were compared, where there is a legend.
fn rounds_told(text: &str) -> Option<usize> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, behind) = words.split_once("compared within rounds, ")?;
    let (before, _) = behind.split_once(" round")?;
    before.rsplit(' ').next()?.parse().ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_comparison_prints_nothing_senseless_and_does_not_contradict_itself(
        kind in kinds().prop_filter("somebody is measured", |kind| kind.rounds > 0),
        how in prop_oneof![Just(How::Rounds), Just(How::Duets), Just(How::Runs)],
    ) {
        let compared = compared(&kind, how);
        prop_assume!(compared.is_some());
        let (comparison, rounds) = compared.unwrap();
        let most = comparison.rows.iter().flat_map(|row| &row.changes).map(|change| change.rounds as usize).max();
        for change in comparison.rows.iter().flat_map(|row| &row.changes) {
            prop_assert!(!denied(change), "{change:?}");
            prop_assert!(change.rounds as usize <= rounds, "{change:?} of {rounds} rounds");
        }
        for (what, text) in told(&comparison) {
            prop_assert_eq!(nonsense(&text), None, "{}:\n{}", what, text);
            prop_assert_eq!(row_that_contradicts_itself(&text), None, "{}:\n{}", what, text);
            if let Some(told) = rounds_told(&text) {
                prop_assert_eq!(Some(told), most, "{}:\n{}", what, text);
            }
        }
        let all_found = comparison.findings.iter().all(|ThresholdFinding { row, .. }| (*row as usize) < comparison.rows.len());
        prop_assert!(all_found, "{:?}", comparison.findings);
        let data = json(&comparison).unwrap();
        prop_assert_eq!(infinite(&data), None);
    }
}

#[test]
fn a_row_that_contradicts_itself_is_found() {
    let bad =
        ["  req/s  1k  1k  +1.0 %  [−1.0 … +3.0 %]  better", "| req/s | 1k | +1 % | [−1 … +3 %] | worse |"];
    assert!(bad.iter().all(|row| row_that_contradicts_itself(row).is_some()));
    let good = [
        "  req/s  1k  1k  +2.0 %  [+1.0 … +3.0 %]  better",
        "  req/s  1k  1k  ?  [−1.0 … +3.0 %]  cannot tell",
    ];
    assert!(good.iter().all(|row| row_that_contradicts_itself(row).is_none()));
    assert_eq!(rounds_told("x; compared within\n   rounds, 2 to 6 rounds; y"), Some(6));
}
