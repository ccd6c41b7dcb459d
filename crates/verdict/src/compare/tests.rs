//! Records made up, compared.

use assay_model::check::Outcome;
use assay_model::comparison::{Crossing, Metric, Pairing, Row, Shift, Threshold};
use assay_model::record::{Origin, Record};

use super::{CompareError, Side, compare, ending, interleaved};
use crate::Ending;
use crate::testing::record;

const SIX: [f64; 6] = [1000.0, 1030.0, 985.0, 1012.0, 1021.0, 996.0];

/// The six rates of a contender that is `factor` as fast, with a little noise of its own.
fn rates(factor: f64) -> Vec<f64> {
    let noise = [1.002, 0.998, 1.001, 0.997, 1.003, 0.999];
    SIX.iter().zip(noise).map(|(rate, noise)| rate * factor * noise * 100.0).collect()
}

fn side(record: &Record, contender: &str) -> Side {
    Side { record: record.clone(), contender: (!contender.is_empty()).then(|| contender.to_owned()) }
}

fn run(id: &str, contenders: &[(&str, Vec<f64>)]) -> Record {
    let contenders: Vec<(&str, &[f64])> =
        contenders.iter().map(|(name, of)| (*name, of.as_slice())).collect();
    Record { id: id.to_owned(), ..record(&contenders) }
}

fn thresholds(texts: &[&str]) -> Vec<Threshold> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn rps(row: &Row) -> &assay_model::comparison::Change {
    row.changes.iter().find(|change| change.metric == Metric::Rps).unwrap()
}

#[test]
fn contenders_of_one_run_are_compared_within_its_rounds() {
    let run = run("one", &[("old", rates(1.0)), ("new", rates(0.9))]);
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &thresholds(&["rps:-3%"])).unwrap();
    assert_eq!((found.pairing, found.caveats.len(), found.rows.len()), (Pairing::Rounds, 0, 1));
    let change = rps(&found.rows[0]);
    assert_eq!((change.call, change.rounds), (Shift::Worse, 6));
    assert!((change.ratio.unwrap().estimate - 0.9).abs() < 0.001, "{change:?}");
    assert_eq!(found.findings[0].outcome, Crossing::Shown);
    assert_eq!(ending(&found, false), Ending::Regression);
}

#[test]
fn equals_do_not_differ_and_cross_nothing() {
    let run = run("one", &[("old", rates(1.0)), ("new", SIX.map(|rate| rate * 100.0).to_vec())]);
    let all = ["rps:-3%", "p50:+5%", "cpu:+5%", "rss:+20%"];
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &thresholds(&all)).unwrap();
    assert!(found.rows[0].changes.iter().all(|change| change.call == Shift::NotShown));
    assert_eq!(found.rows[0].changes.len(), Metric::ALL.len());
    assert!(
        found.findings.iter().all(|finding| finding.outcome == Crossing::Excluded),
        "{:?}",
        found.findings
    );
    assert_eq!(ending(&found, true), Ending::Fine);
}

#[test]
fn a_regression_that_may_be_noise_fails_nothing_and_says_how_many_rounds_would_tell() {
    let noisy = [930.0, 1060.0, 905.0, 1035.0, 921.0, 1011.0].map(|rate| rate * 95.0).to_vec();
    let run = run("one", &[("old", rates(1.0)), ("new", noisy)]);
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &thresholds(&["rps:-3%"])).unwrap();
    let Crossing::Possible { rounds_needed: Some(rounds) } = found.findings[0].outcome else {
        panic!("{:?}", found.findings)
    };
    assert!((7..200).contains(&rounds), "{rounds}");
    assert_eq!(ending(&found, true), Ending::Fine);
}

#[test]
fn different_runs_are_compared_by_their_means_with_a_caveat() {
    let base = run("one", &[("a", rates(1.0)), ("b", rates(2.0))]);
    let new = run("two", &[("b", rates(1.8)), ("a", rates(1.0)), ("c", rates(1.0))]);
    let found = compare(&side(&base, ""), &[side(&new, "")], &[]).unwrap();
    assert_eq!(found.pairing, Pairing::Runs);
    let names: Vec<&str> = found.rows.iter().map(|row| row.new.contender.as_str()).collect();
    assert_eq!(names, ["a", "b"], "those of the same name");
    assert_eq!((rps(&found.rows[0]).call, rps(&found.rows[1]).call), (Shift::NotShown, Shift::Worse));
    let rules: Vec<&str> = found.caveats.iter().map(|check| check.rule.name()).collect();
    assert_eq!(rules, ["pairing"]);
    let paired = compare(&side(&new, "a"), &[side(&new, "b")], &[]).unwrap();
    let width = |row: &Row| rps(row).ratio.map(|ratio| ratio.high / ratio.low).unwrap();
    assert!(width(&paired.rows[0]) < width(&found.rows[1]), "what rounds share cancels only within a run");
}

#[test]
fn what_differed_besides_the_contenders_is_named() {
    let base = run("one", &[("a", rates(1.0))]);
    let mut new = run("two", &[("a", rates(1.0))]);
    new.host.cpu_model = Some("another".to_owned());
    new.host.kernel = Some("6.8".to_owned());
    new.host.mitigations = vec!["Spectre".to_owned()];
    new.experiment.window_s = 3.0;
    let found = compare(&side(&base, ""), &[side(&new, "")], &[]).unwrap();
    let caveats: Vec<(&str, Outcome)> = found.caveats.iter().map(|c| (c.rule.name(), c.outcome)).collect();
    let warn = |rule| (rule, Outcome::Warn);
    assert_eq!(caveats, [warn("pairing"), ("machine", Outcome::Void), warn("machine-state"), warn("method")]);
    assert!(found.caveats[1].evidence.contains("CPU unknown → \"another\""), "{:?}", found.caveats[1]);
    assert!(found.caveats[2].evidence.contains("kernel") && found.caveats[2].evidence.contains("Spectre"));
    assert!(found.caveats[3].evidence.contains("seconds of a window 1.0 → 3.0"));
}

#[test]
fn who_is_compared_with_whom_must_be_clear() {
    let [one, two] = ["one", "two"].map(|id| run(id, &[("a", rates(1.0)), ("b", rates(1.0))]));
    let other = run("three", &[("z", rates(1.0))]);
    let ambiguous = compare(&side(&one, ""), &[side(&one, "")], &[]);
    assert!(matches!(ambiguous, Err(CompareError::Ambiguous { .. })), "{ambiguous:?}");
    assert!(matches!(
        compare(&side(&one, ""), &[side(&other, "")], &[]),
        Err(CompareError::Ambiguous { .. })
    ));
    let unknown = compare(&side(&one, "c"), &[side(&two, "")], &[]).unwrap_err().to_string();
    assert!(unknown.contains("no contender `c`") && unknown.contains("a, b"), "{unknown}");
    let named = compare(&side(&one, "a"), &[side(&two, "")], &[]).unwrap();
    assert_eq!((named.rows.len(), named.rows[0].new.contender.as_str()), (1, "a"));
    let others = compare(&side(&one, "b"), &[side(&one, "")], &[]).unwrap();
    assert_eq!((others.rows.len(), others.rows[0].new.contender.as_str()), (1, "a"));
    let only = compare(&side(&one, "a"), &[side(&other, "")], &[]).unwrap();
    assert_eq!(only.rows[0].new.contender, "z");
}

#[test]
fn other_requests_under_the_same_name_are_not_compared() {
    let base = run("one", &[("a", rates(1.0))]);
    let mut new = run("two", &[("a", rates(1.0))]);
    new.workloads.push(assay_model::workload::Workload {
        name: "hello".to_owned(),
        about: "Other bytes.".to_owned(),
        ..Default::default()
    });
    assert_eq!(compare(&side(&base, ""), &[side(&new, "")], &[]), Err(CompareError::NothingInCommon));
}

#[test]
fn what_the_verdict_withholds_is_withheld_here() {
    let mut run = run("one", &[("old", rates(1.0)), ("new", rates(0.9))]);
    for window in run.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|r| r.contender == "new") {
        window.cells[0].machine.steal_share = 0.5;
    }
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &thresholds(&["rps:-3%"])).unwrap();
    assert!(found.rows[0].changes.is_empty());
    assert!(found.rows[0].withheld.as_ref().is_some_and(|why| why.contains("steal")), "{:?}", found.rows[0]);
    assert_eq!((ending(&found, false), ending(&found, true)), (Ending::Fine, Ending::Void));
}

#[test]
fn the_first_command_is_the_base_of_the_others() {
    let mut run = run("one", &[("limit", rates(3.0)), ("old", rates(1.0)), ("new", rates(1.2))]);
    assert_eq!(interleaved(&run).unwrap_err(), CompareError::NothingToCompare);
    run.contenders.iter_mut().for_each(|entry| entry.origin = Origin::Command);
    let (base, news) = interleaved(&run).unwrap();
    assert_eq!((base.contender.as_deref(), news.len()), (Some("old"), 1));
    assert_eq!(news[0].contender.as_deref(), Some("new"));
}

#[test]
fn a_run_that_could_stop_early_pays_for_its_looks() {
    let mut run = run("one", &[("old", rates(1.0)), ("new", rates(0.9))]);
    let width = |run: &Record| {
        let found = compare(&side(run, "old"), &[side(run, "new")], &[]).unwrap();
        rps(&found.rows[0]).ratio.map(|ratio| ratio.high / ratio.low).unwrap()
    };
    let at_once = width(&run);
    run.experiment.until_settled = true;
    run.experiment.rounds = 20;
    assert!(width(&run) > at_once);
}
