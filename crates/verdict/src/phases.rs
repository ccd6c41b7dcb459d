//! Whether turns were left out because the machine was slow around them (docs/method/carousel.md#slow-phases).

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence as Found, Part};
use assay_model::rule::Rule;

use super::window::Evidence;

/// Share of the turns from which it is told.
const NOTICEABLE_PART: f64 = 0.05;

/// How many turns were left out; nothing in a record without any.
pub(crate) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let all: usize = evidence.windows().map(|window| window.turns.len()).sum();
    let slow: usize = evidence.windows().map(|window| window.slow_turns.len()).sum();
    let outcome =
        if slow as f64 > NOTICEABLE_PART * all as f64 { CheckOutcome::Warn } else { CheckOutcome::Pass };
    let evidence = Found::SlowPhases { turns: Part::new(slow, all) };
    (all > 0).then_some(Check { rule: Rule::SlowPhases, outcome, evidence })
}

#[cfg(test)]
mod tests {
    use assay_model::load::LoadTurn;
    use assay_model::record::{Measurement, Record, TimeTaken, Turn};
    use assay_model::units::Nanos;

    use super::*;
    use crate::testing::{judged, record};
    use crate::tests::{check, noisy, of, spoil};
    use crate::window::PhaseWatch;

    const TURN: Nanos = Nanos::from_millis(200);

    /// Four rounds of a limit and three more in turns of four rotations. In the last two rotations of the second round the machine
    /// gives half.
    fn slowed() -> Record {
        let names = ["limit", "a", "b", "c"];
        let rates: Vec<Vec<f64>> = (0..4).map(|seed| noisy(20_000.0, seed, 4)).collect();
        let rows: Vec<(&str, &[f64])> = names.into_iter().zip(rates.iter().map(Vec::as_slice)).collect();
        let mut record = record(&rows);
        for (place, name) in (0..).zip(names) {
            let mut round = 0;
            spoil(&mut record, name, |window| {
                in_turns(window, |rotation| {
                    let at = Nanos(TURN.0 * (1000 * round + 4 * u64::from(rotation) + place));
                    (at, round == 1 && rotation >= 2)
                });
                round += 1;
            });
        }
        record
    }

    /// Four turns of a window: `of` tells when each began, and whether the machine was slow.
    fn in_turns(window: &mut Measurement, of: impl Fn(u32) -> (Nanos, bool)) {
        let whole = window.load.window.ok;
        let turn = |rotation| {
            let (offset_ns, is_slow) = of(rotation);
            let ok = if is_slow { whole / 8 } else { whole / 4 };
            let load = LoadTurn { ok, window_ns: Nanos(window.load.window_ns.0 / 4), ..LoadTurn::default() };
            Turn { rotation, offset_ns, load, taken: Some(TimeTaken::default()), ..Turn::default() }
        };
        window.turns = (0..4).map(turn).collect();
    }

    #[test]
    fn turns_of_a_slow_phase_are_left_out_and_told() {
        let verdict = judged(&slowed());
        let told = check(&verdict.trust, "slow-phases");
        let Found::SlowPhases { turns } = told.evidence else { panic!("{told:?}") };
        assert!(
            (8..=10).contains(&turns.hits) && turns.of == 64,
            "those, and what is beside them: {turns:?}"
        );
        assert_eq!(told.outcome, CheckOutcome::Warn);
        let rounds = &of(&verdict, "a").rounds_per_second;
        let rates: Vec<f64> = rounds.iter().copied().flatten().collect();
        let least = rates.iter().copied().fold(f64::MAX, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        assert!(rates.len() == 4 && least > 0.9 * most, "{rounds:?}");
    }

    #[test]
    fn a_round_that_goes_on_knows_its_slow_rotations_by_those_before() {
        let mut record = slowed();
        record.rounds.swap(1, 3);
        let ongoing = record.rounds.pop().expect("the slow round");
        let riders: Vec<(&str, &[Turn])> =
            ongoing.runs.iter().map(|run| (run.contender.as_str(), run.cells[0].turns.as_slice())).collect();
        let cell = &ongoing.runs[0].cells[0].cell;
        assert_eq!(PhaseWatch::of(&record).slow_rotations(cell, &riders, 4), [false, false, true, true]);
        record.rounds.clear();
        let unknown = PhaseWatch::of(&record).slow_rotations(cell, &[riders[0]], 4);
        assert_eq!(unknown, [false; 4], "nobody else tells");
    }
}
