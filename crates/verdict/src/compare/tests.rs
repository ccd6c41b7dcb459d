//! Records made up, compared.

use assay_model::check::{Check, CheckOutcome};
use assay_model::comparison::{Comparison, Metric, Pairing, Row, Shift, Threshold, ThresholdOutcome};
use assay_model::design::{Because, Comparing, Design, Side as Seat};
use assay_model::evidence::{Evidence, Partial, Proportion, Withheld};
use assay_model::load::LoadTurn;
use assay_model::record::{DuetTurn, Origin, Record, State};
use assay_model::rule::Rule;
use assay_model::speed::GaugeSeen;
use assay_model::units::Nanos;
use assay_model::verdict::{Call, Pair};

use super::{CompareError, Side, compare, ending, interleaved, without_gauge};
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

/// Of the means of both sides.
fn quotient(change: &assay_model::comparison::Change) -> f64 {
    change.new.unwrap() / change.base.unwrap()
}

#[test]
fn contenders_of_one_run_are_compared_within_its_rounds() {
    let run = run("one", &[("old", rates(1.0)), ("new", rates(0.9))]);
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &thresholds(&["rps:-3%"])).unwrap();
    assert_eq!((found.pairing, found.caveats.len(), found.rows.len()), (Pairing::Rounds, 0, 1));
    let change = rps(&found.rows[0]);
    assert_eq!((change.call, change.rounds), (Shift::Worse, 6));
    assert!((change.ratio.unwrap().estimate - 0.9).abs() < 0.001, "{change:?}");
    assert_eq!(found.findings[0].outcome, ThresholdOutcome::Shown);
    assert_eq!(ending(&found, false), Ending::Regression);
}

/// Three contenders are each missing in another round, where a mean of each pair's own rounds would say something else than the table does.
#[test]
fn contenders_of_one_run_differ_by_as_much_as_the_verdict_of_the_run_says() {
    let mut run = run("one", &[("old", rates(1.0)), ("new", rates(0.9)), ("other", rates(1.4))]);
    for (round, missing) in run.rounds.iter_mut().zip(["old", "new", "other"]) {
        round.runs.retain(|life| life.contender != missing);
    }
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &[]).unwrap();
    let change = rps(&found.rows[0]);
    let verdict = crate::testing::judged(&run);
    let pair =
        verdict.cells[0].pairs.iter().find(|pair| pair.faster == "old" && pair.slower == "new").unwrap();
    assert!(
        (change.ratio.unwrap().estimate * pair.ratio.estimate - 1.0).abs() < 1e-12,
        "{change:?} {pair:?}"
    );
    assert_eq!(change.rounds, 4);
    assert!((quotient(change) * pair.ratio.estimate - 1.0).abs() < 1e-12, "{change:?}");
}

/// Pairs that are left in question when all others are shown to differ need less to be shown themselves, and an interval that does not
/// say so is cut at the margin.
#[test]
fn what_the_verdict_shows_to_differ_is_never_called_unknown() {
    const NOISE: [f64; 5] = [1.017, 0.984, 1.004, 0.979, 1.016];
    let noisy = |factor: f64, first: usize| {
        (0..5).map(|round| 1e5 * factor * NOISE[(first + 2 * round) % 5]).collect::<Vec<f64>>()
    };
    let others = |many: usize| (0..many).map(|i| (format!("other{i}"), noisy(2.0 + i as f64, i)));
    let (mut shown, mut cut) = (0, 0);
    for (many, state) in [(2, State::Interrupted), (9, State::Complete)] {
        for step in 0..40 {
            let b = noisy(1.02 + 0.003 * f64::from(step), 3);
            let named =
                [("a".to_owned(), noisy(1.0, 0)), ("b".to_owned(), b)].into_iter().chain(others(many));
            let named: Vec<(String, Vec<f64>)> = named.collect();
            let mut run =
                run("one", &named.iter().map(|(name, of)| (name.as_str(), of.clone())).collect::<Vec<_>>());
            (run.state, run.experiment.rounds) = (state, 6);
            let verdict = crate::testing::judged(&run);
            let is_of_both = |pair: &&Pair| (pair.faster.as_str(), pair.slower.as_str()) == ("b", "a");
            let pair = verdict.cells[0].pairs.iter().find(is_of_both).unwrap();
            let found = compare(&side(&run, "a"), &[side(&run, "")], &[]).unwrap();
            let change = rps(found.rows.iter().find(|row| row.new.contender == "b").unwrap());
            if pair.call == Call::Distinct {
                shown += 1;
                cut += u32::from((change.ratio.unwrap().low / 1.01 - 1.0).abs() < 1e-12);
                assert_eq!(change.call, Shift::Better, "{pair:?} {change:?}");
                assert!(change.ratio.unwrap().low >= 1.01, "{change:?}");
            }
        }
    }
    assert!(shown > 20 && cut > 2, "{shown} {cut}");
}

/// Figures as `assay show` tells them: a single slow round moves a mean and no median.
#[test]
fn figures_of_both_sides_are_those_of_their_own_run() {
    let slow = [1.0, 1.0, 0.5, 1.0, 1.0, 1.0];
    let uneven = |factor: f64| rates(factor).iter().zip(slow).map(|(rate, slow)| rate * slow).collect();
    let [one, two] = ["one", "two"].map(|id| run(id, &[("old", uneven(1.0)), ("new", rates(0.9))]));
    for other in [&one, &two] {
        let found = compare(&side(&one, "old"), &[side(other, "new")], &[]).unwrap();
        let told = |contender: &str| {
            let verdict = crate::testing::judged(&one);
            verdict.cells[0].standings.iter().find(|of| of.contender == contender).cloned().unwrap()
        };
        let (old, new) = (told("old"), told("new"));
        let change = |metric| found.rows[0].changes.iter().find(|of| of.metric == metric).unwrap().clone();
        let both = |metric| (change(metric).base, change(metric).new);
        assert_eq!(both(Metric::P50), (old.p50_ns.map(|of| of.estimate), new.p50_ns.map(|of| of.estimate)));
        assert_eq!(both(Metric::P99), (old.p99_ns.map(|of| of.estimate), new.p99_ns.map(|of| of.estimate)));
        assert_eq!(both(Metric::Cpu), (old.cpu_per_request_ns, new.cpu_per_request_ns));
        let memory = [old.memory_bytes, new.memory_bytes].map(|bytes| bytes.map(|bytes| bytes as f64));
        assert_eq!(both(Metric::Memory), memory.into());
        let of_medians = change(Metric::P50).new.unwrap() / change(Metric::P50).base.unwrap();
        assert!((change(Metric::P50).ratio.unwrap().estimate / of_medians - 1.0).abs() > 0.05, "{found:?}");
    }
}

/// Of several rounds each needs half of what a single one does, here as in the tables of a run.
#[test]
fn a_percentile_that_a_run_tells_of_its_rounds_is_compared() {
    let few = |factor: f64| rates(factor * 0.06);
    let run = run("one", &[("old", few(1.0)), ("new", few(0.9))]);
    let told = crate::testing::judged(&run).cells[0].standings[0].p99_ns;
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &[]).unwrap();
    let is_compared = found.rows[0].changes.iter().any(|change| change.metric == Metric::P99);
    assert!(told.is_some() && is_compared, "{told:?} {found:?}");
}

#[test]
fn equals_do_not_differ_and_cross_nothing() {
    let run = run("one", &[("old", rates(1.0)), ("new", SIX.map(|rate| rate * 100.0).to_vec())]);
    let all = ["rps:-3%", "p50:+5%", "cpu:+5%", "rss:+20%"];
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &thresholds(&all)).unwrap();
    for change in &found.rows[0].changes {
        // A percentile of a closed loop is told and not called, whatever it is.
        let is_percentile = matches!(change.metric, Metric::P50 | Metric::P99);
        assert_eq!(change.call, if is_percentile { Shift::NotCalled } else { Shift::Equal }, "{change:?}");
    }
    assert_eq!(found.rows[0].changes.len(), Metric::ALL.len());
    assert!(
        found.findings.iter().all(|finding| finding.outcome == ThresholdOutcome::Excluded),
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
    let ThresholdOutcome::Possible { rounds_needed: Some(rounds) } = found.findings[0].outcome else {
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
    let caveats: Vec<(&str, CheckOutcome)> =
        found.caveats.iter().map(|c| (c.rule.name(), c.outcome)).collect();
    let warn = |rule| (rule, CheckOutcome::Warn);
    assert_eq!(
        caveats,
        [warn("pairing"), ("machine", CheckOutcome::Void), warn("machine-state"), warn("method")]
    );
    let between = |caveat: usize| match &found.caveats[caveat].evidence {
        Evidence::Differences { between } => {
            between.iter().map(|of| format!("{} {} {}", of.property, of.base, of.new)).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(between(1), ["cpu_model null \"another\""]);
    assert_eq!(between(2), ["kernel null \"6.8\"", "mitigations [] [\"Spectre\"]"]);
    assert_eq!(between(3), ["window_s 1.0 3.0"]);
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
fn a_run_in_which_nobody_was_measured_says_so() {
    let one = run("one", &[("a", rates(1.0))]);
    let mut empty = run("two", &[("a", rates(1.0))]);
    empty.rounds.clear();
    for name in ["", "a"] {
        let told = compare(&side(&one, ""), &[side(&empty, name)], &[]).unwrap_err().to_string();
        assert_eq!(told, "two measured nobody, so there is nothing to compare; `assay show two` says why");
    }
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
    assert!(format!("{:?}", found.rows[0].withheld).contains("Steal"), "{:?}", found.rows[0]);
    assert_eq!((ending(&found, false), ending(&found, true)), (Ending::Fine, Ending::Void));
}

#[test]
fn the_first_command_is_the_base_of_the_others() {
    let mut run = run("one", &[("limit", rates(3.0)), ("old", rates(1.0)), ("new", rates(1.2))]);
    assert_eq!(interleaved(&run).unwrap_err(), CompareError::NothingToCompare);
    run.contenders.iter_mut().for_each(|entry| entry.identity.origin = Origin::Command);
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

/// A run that a person watches and ends by hand may have been ended for its result.
#[test]
fn a_run_that_was_ended_by_hand_pays_for_its_looks_in_both_designs_and_says_so() {
    let alternating = run("one", &[("old", rates(1.0)), ("new", rates(0.9))]);
    for mut run in [alternating, duets(0.9, 0.9, 1.0)] {
        let told = |run: &Record| {
            let found = compare(&side(run, "old"), &[side(run, "new")], &[]).unwrap();
            let control = found.control.first().map(|of| of.ratio.high / of.ratio.low);
            let width = rps(&found.rows[0]).ratio.map(|ratio| ratio.high / ratio.low).unwrap();
            let partial = found.caveats.into_iter().find(|caveat| caveat.rule == Rule::WholeRun);
            (width, control, partial)
        };
        run.experiment.rounds = 20;
        let (at_once, of_control, nothing) = told(&run);
        assert_eq!(nothing, None);
        run.state = State::BudgetSpent;
        let (width, _, note) = told(&run);
        assert_eq!(note.map(|caveat| caveat.outcome), Some(CheckOutcome::Pass));
        assert!((width / at_once - 1.0).abs() < 1e-12, "what was planned before is no look");
        run.state = State::Interrupted;
        let (width, control, caveat) = told(&run);
        let partial = Partial { run: "one".to_owned(), state: State::Interrupted };
        assert_eq!(caveat.map(|caveat| caveat.evidence), Some(Evidence::Partial(partial)));
        assert!(width > at_once && control >= of_control, "{width} {at_once} {control:?} {of_control:?}");
        run.experiment.rounds = 3;
        assert!(told(&run).0 > at_once, "more rounds than were asked for");
        run.experiment.until_settled = true;
        run.experiment.rounds = 20;
        run.state = State::Complete;
        assert!((told(&run).0 / width - 1.0).abs() < 1e-12, "the same looks");
    }
}

/// A run of `old`, `new` and old's A/A control whose turns say what `turned` says and whose duets say `at_once` and, of the control,
/// `control`.
fn duets(turned: f64, at_once: f64, control: f64) -> Record {
    let mut run = run("one", &[("old", rates(1.0)), ("new", rates(turned)), ("old′", rates(1.0))]);
    run.contenders[2].control_of = Some("old".to_owned());
    let base = "old".to_owned();
    run.experiment.comparing = Some(Comparing { base, design: Design::Duet, because: Because::OneKind });
    for (index, round) in run.rounds.iter_mut().enumerate() {
        // What a restart draws is its own, and the first side has an advantage of 3 %.
        let lot = 1.0 + 0.002 * (index as f64 - 2.5);
        for life in &mut round.runs {
            let partners: &[(&str, f64)] = match life.contender.as_str() {
                "old" => &[("new", 1.0), ("old′", 1.0)],
                "new" => &[("old", at_once * lot)],
                _ => &[("old", control * lot)],
            };
            let turns = partners.iter().flat_map(|(beside, rate)| {
                Seat::BOTH.map(|side| turn(beside, side, rate * if side == Seat::First { 1.03 } else { 1.0 }))
            });
            life.cells[0].duet = turns.collect();
        }
    }
    run
}

fn turn(beside: &str, side: Seat, rate: f64) -> DuetTurn {
    let load = LoadTurn {
        window_ns: Nanos::from_millis(100),
        ok: (rate * 1e6).round() as u64,
        ..LoadTurn::default()
    };
    DuetTurn { beside: beside.to_owned(), side, load, ..DuetTurn::default() }
}

#[test]
fn a_duet_gives_the_ratio_and_turns_the_rates() {
    let run = duets(0.9, 0.9, 1.0);
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &[]).unwrap();
    let change = rps(&found.rows[0]);
    assert_eq!((change.design, change.call, change.rounds), (Design::Duet, Shift::Worse, 6));
    let (at_once, alone) = (change.ratio.unwrap(), change.alternating.unwrap());
    assert!((at_once.estimate - 0.9).abs() < 0.001 && (alone.estimate - 0.9).abs() < 0.001, "{change:?}");
    assert!((quotient(change) - 0.9).abs() < 0.001, "absolute rates come from turns: {change:?}");
    assert!(change.detectable.is_some_and(|least| (0.01..0.05).contains(&least)), "{change:?}");
    assert_eq!((found.caveats.len(), found.control.len(), found.margin), (0, 1, 0.01));
    assert!(found.rows[0].changes.iter().skip(1).all(|change| change.design == Design::Alternating));
}

#[test]
fn a_duet_that_says_something_else_than_turns_is_a_caveat_with_both_figures() {
    let run = duets(0.9, 0.97, 1.0);
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &[]).unwrap();
    let [caveat] = found.caveats.as_slice() else { panic!("{:?}", found.caveats) };
    assert_eq!((caveat.rule.name(), caveat.outcome), ("duet-agrees", CheckOutcome::Warn));
    let Evidence::DuetApart { apart_share, .. } = &caveat.evidence else { panic!("{caveat:?}") };
    assert!((0.077..0.079).contains(apart_share), "{caveat:?}");
    let change = rps(&found.rows[0]);
    let both = [change.ratio, change.alternating].map(|ratio| (ratio.unwrap().estimate * 100.0).round());
    assert_eq!(both, [97.0, 90.0], "both figures are there");
}

#[test]
fn only_a_bias_that_the_control_of_its_own_design_shows_widens_the_margin() {
    let margin = |control: f64| {
        let run = duets(0.97, 0.97, control);
        let found = compare(&side(&run, "old"), &[side(&run, "new")], &[]).unwrap();
        (found.margin, rps(&found.rows[0]).call, found.rows[0].changes[3].margin)
    };
    assert_eq!(margin(1.005), (0.01, Shift::Worse, 0.01));
    let (biased, call, of_turns) = margin(1.05);
    assert!(biased > 0.04 && call != Shift::Worse, "{biased} {call:?}");
    assert_eq!(of_turns, 0.01, "turns show none");
}

#[test]
fn a_comparison_without_a_control_says_so() {
    let mut run = duets(0.9, 0.9, 1.0);
    run.contenders.pop();
    run.rounds.iter_mut().for_each(|round| round.runs.retain(|life| life.contender != "old′"));
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &[]).unwrap();
    assert!(found.control.is_empty());
    assert!(
        found.caveats.iter().any(|caveat| caveat.evidence == Evidence::NoControl { base: "old".to_owned() }),
        "{:?}",
        found.caveats
    );
}

#[test]
fn failures_under_both_loads_withhold_the_row() {
    let mut run = duets(0.9, 0.9, 1.0);
    for life in run.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|life| life.contender == "new")
    {
        life.cells[0].duet.iter_mut().for_each(|turn| turn.load.failed = turn.load.ok / 50);
    }
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &[]).unwrap();
    let Some(Withheld::Of { contender, because }) = &found.rows[0].withheld else {
        panic!("{:?}", found.rows)
    };
    let Withheld::FailedAtOnce { share } = **because else { panic!("{because:?}") };
    assert!(contender == "new" && (0.019..0.021).contains(&share), "{contender} {share}");
}

#[test]
fn sides_that_could_not_live_at_once_are_compared_by_who_lived_with_both() {
    let whole = run("one", &[("limit", rates(3.0)), ("old", rates(1.0)), ("new", rates(0.9))]);
    let split = crate::testing::in_two_groups(whole, 0.5);
    let found = compare(&side(&split, "old"), &[side(&split, "new")], &[]).unwrap();
    let change = rps(&found.rows[0]);
    assert_eq!((change.call, change.rounds), (Shift::Worse, 6));
    assert!((change.ratio.unwrap().estimate - 0.9).abs() < 0.001, "{change:?}");
    assert!((quotient(change) - 0.9).abs() < 0.001, "as in the group of the base: {change:?}");
    let cpu = found.rows[0].changes.iter().find(|change| change.metric == Metric::Cpu);
    assert!(cpu.is_some_and(|change| change.rounds == 6), "{:?}", found.rows);
}

#[test]
fn replicas_are_compared_by_the_mean_of_their_rates() {
    let whole = run("one", &[("limit", rates(3.0)), ("old", rates(1.0)), ("new", rates(0.9))]);
    let several = crate::testing::with_replicas(whole, "new", &[0.8, 1.0, 1.25]);
    let found = compare(&side(&several, "old"), &[side(&several, "new")], &[]).unwrap();
    let change = rps(&found.rows[0]);
    assert_eq!((change.call, change.rounds), (Shift::Worse, 6));
    assert!((change.ratio.unwrap().estimate - 0.9).abs() < 0.001, "{change:?}");
}

/// Spoils every window of turns; those of both at once have their own reasons.
fn disturbed(mut run: Record) -> Record {
    for window in run.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|life| &mut life.cells) {
        window.machine.steal_share = 0.5;
    }
    run
}

/// Makes the generator of `new` wait in the windows of some rounds.
fn waiting(mut run: Record, rounds: usize) -> Record {
    let lives = run.rounds.iter_mut().take(rounds).flat_map(|round| &mut round.runs);
    for life in lives.filter(|life| life.contender == "new") {
        life.cells[0].duet.iter_mut().for_each(|turn| turn.load.generator_delay_share = 0.9);
    }
    run.isolation.generator_cpus = "0-1".to_owned();
    run
}

fn lost(found: &Comparison) -> (Proportion, bool, bool) {
    let told = found.caveats.iter().find_map(|caveat| match &caveat.evidence {
        Evidence::LostPairs { void, is_withheld, turns, .. } => Some((*void, *is_withheld, turns.is_some())),
        _ => None,
    });
    told.unwrap_or_else(|| panic!("{:?}", found.caveats))
}

#[test]
fn void_turns_leave_the_ratio_of_the_duet_and_withhold_their_own_figures() {
    let run = disturbed(duets(0.9, 0.9, 1.0));
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &[]).unwrap();
    assert_eq!(found.rows[0].withheld, None);
    let [change] = found.rows[0].changes.as_slice() else { panic!("{:?}", found.rows) };
    assert_eq!((change.metric, change.design, change.call), (Metric::Rps, Design::Duet, Shift::Worse));
    assert_eq!((change.base, change.new, change.alternating), (None, None, None));
    assert!((change.ratio.unwrap().estimate - 0.9).abs() < 0.001, "{change:?}");
    assert_eq!(lost(&found), (Proportion::new(0, 12), false, true));
}

#[test]
fn rates_of_a_single_round_stand_for_none_beside_the_ratio_of_several() {
    let mut run = duets(0.9, 0.9, 1.0);
    // Half of the windows of each count, and in the last round alone those of both.
    for (round, name) in [(0, "old"), (1, "old"), (2, "old"), (3, "new"), (4, "new")] {
        let lives = run.rounds[round].runs.iter_mut();
        lives.filter(|life| life.contender == name).for_each(|life| life.cells[0].machine.steal_share = 0.9);
    }
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &[]).unwrap();
    let change = rps(&found.rows[0]);
    assert_eq!((change.base, change.new, change.alternating), (None, None, None), "{change:?}");
    assert!((change.ratio.unwrap().estimate - 0.9).abs() < 0.001 && change.rounds == 6, "{change:?}");
}

#[test]
fn void_turns_of_one_side_do_not_hide_the_errors_of_the_other() {
    let mut run = disturbed(duets(0.9, 0.9, 1.0));
    for life in run.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|life| life.contender == "new")
    {
        life.cells[0].duet.iter_mut().for_each(|turn| turn.load.failed = turn.load.ok / 50);
    }
    let found = compare(&side(&run, "old"), &[side(&run, "new")], &[]).unwrap();
    let Some(Withheld::Of { contender, because }) = &found.rows[0].withheld else {
        panic!("{:?}", found.rows)
    };
    assert!(contender == "new" && matches!(**because, Withheld::FailedAtOnce { .. }), "{because:?}");
}

#[test]
fn void_pairs_cost_themselves_and_too_many_of_them_the_duet() {
    let whole = duets(0.9, 0.9, 1.0);
    let some = waiting(whole.clone(), 2);
    let found = compare(&side(&some, "old"), &[side(&some, "new")], &[]).unwrap();
    let change = rps(&found.rows[0]);
    assert_eq!(
        (change.design, change.rounds, lost(&found)),
        (Design::Duet, 4, (Proportion::new(4, 12), false, false))
    );
    let most = waiting(whole.clone(), 4);
    let found = compare(&side(&most, "old"), &[side(&most, "new")], &[]).unwrap();
    assert_eq!(rps(&found.rows[0]).design, Design::Alternating, "turns still tell");
    assert_eq!(lost(&found), (Proportion::new(8, 12), true, false));
    let nothing = disturbed(most);
    let found = compare(&side(&nothing, "old"), &[side(&nothing, "new")], &[]).unwrap();
    assert!(found.rows[0].withheld.is_some() && found.rows[0].changes.is_empty(), "{:?}", found.rows);
    assert_eq!(lost(&found), (Proportion::new(8, 12), true, true));
}

#[test]
fn nothing_is_said_to_be_taken_out_of_rates_of_different_runs() {
    let of = |gauge| {
        let evidence =
            Evidence::MachineSpeed { spread_share: 0.1, outliers: Proportion::new(0, 4), turns: None, gauge };
        Check { rule: Rule::MachineSpeed, outcome: CheckOutcome::Warn, evidence }
    };
    let seen = GaugeSeen { explained_share: 0.6, cpu_share: 0.01 };
    assert_eq!(without_gauge(of(Some(seen))), of(None));
}
