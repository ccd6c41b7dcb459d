//! Rounds that count and rounds that do not, on records made up.

use assay_model::check::CheckOutcome;
use assay_model::evidence::Evidence;
use assay_model::record::{NotRun, Stage};

use super::{check, noisy};
use crate::testing::{judged, record};

/// Rounds that were measured are not all rounds that count, and only these show differences.
#[test]
fn rounds_whose_rates_are_void_are_told_apart_from_those_that_count() {
    let told = |void: usize, whose: &[&str]| {
        let series = [noisy(80_000.0, 4, 3), noisy(20_000.0, 5, 3), noisy(30_000.0, 6, 3)];
        let mut record = record(&[("limit", &series[0]), ("a", &series[1]), ("b", &series[2])]);
        let runs = record.rounds.iter_mut().take(void).flat_map(|round| &mut round.runs);
        for run in runs.filter(|run| whose.contains(&run.contender.as_str())) {
            run.cells.iter_mut().for_each(|window| window.machine.steal_share = 0.3);
        }
        let verdict = judged(&record);
        let rounds = check(&verdict.trust, "rounds");
        let Evidence::Rounds(found) = &rounds.evidence else { panic!("{rounds:?}") };
        assert_eq!((found.complete, verdict.rounds), (3, found.counting.unwrap_or(3)));
        (rounds.outcome, found.counting)
    };
    let all = ["limit", "a", "b"];
    assert_eq!(told(0, &all), (CheckOutcome::Pass, None));
    assert_eq!(told(1, &all), (CheckOutcome::Pass, Some(2)));
    assert_eq!(told(2, &all), (CheckOutcome::Warn, Some(1)));
    assert_eq!(told(3, &all), (CheckOutcome::Warn, Some(0)));
    assert_eq!(told(3, &["limit"]), (CheckOutcome::Pass, None), "a limit is compared with nobody");
    assert_eq!(
        told(3, &["b"]),
        (CheckOutcome::Pass, None),
        "whoever is withheld takes nothing from the others"
    );
    assert_eq!(told(1, &["b"]), (CheckOutcome::Pass, Some(2)));
}

#[test]
fn a_round_in_which_one_of_several_failed_counts() {
    let series = [noisy(20_000.0, 5, 3), noisy(30_000.0, 6, 3), noisy(40_000.0, 7, 3)];
    let mut record = record(&[("a", &series[0]), ("b", &series[1]), ("c", &series[2])]);
    let failed = record.rounds[1].runs.iter_mut().find(|run| run.contender == "b").expect("b ran");
    failed.cells.clear();
    assert_eq!(judged(&record).rounds, 3);
}

#[test]
fn a_round_in_which_all_failed_is_not_complete() {
    let series = [noisy(20_000.0, 5, 3), noisy(30_000.0, 6, 3)];
    let mut record = record(&[("a", &series[0]), ("b", &series[1])]);
    record.experiment.until_settled = true;
    for run in record.rounds.iter_mut().skip(1).flat_map(|round| &mut round.runs) {
        run.cells.clear();
        let reason = "it ended with signal 9".to_owned();
        run.failure = Some(NotRun { stage: Stage::Load, reason, remedy: None, log_tail: Vec::new() });
    }
    let verdict = judged(&record);
    let Evidence::Rounds(found) = &check(&verdict.trust, "rounds").evidence else { panic!("{verdict:?}") };
    assert_eq!((verdict.rounds, found.complete), (1, 1));
}
