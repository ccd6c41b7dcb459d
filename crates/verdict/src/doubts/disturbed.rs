//! Whether threads of the generator had to wait for a CPU: one rule with two witnesses. The runner counts the waiting of all
//! threads together, the generator that of its longest-waiting one.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, Neighbour, Proportion};
use assay_model::record::Measurement;
use assay_model::rule::Rule;

use crate::NOTICEABLE_SHARE;

/// What both witnesses say of these windows. The outcome is `Warn` where some objects: single windows become void by
/// [`Measurement::void_rules`]; a caller knows what it means when all are, and who shares the generator's CPUs.
pub(crate) fn check(windows: &[&Measurement], beside_server: Option<Neighbour>) -> Check {
    let share = windows.iter().map(|window| window.generator_delay_share()).fold(0.0, f64::max);
    let noticeable = windows.iter().filter(|window| is_disturbed(window)).count();
    let own = windows.iter().filter_map(|window| own_word(window));
    let own = own.max_by_key(|check| check.outcome).filter(|check| check.outcome != CheckOutcome::Pass);
    let evidence = Evidence::GeneratorWaited {
        share,
        noticeable: Proportion::new(noticeable, windows.len()),
        void: windows.iter().filter(|window| is_void(window)).count() as u64,
        turns: void_turns(windows, Rule::GeneratorDisturbed),
        own: own.map(|check| Box::new(check.evidence.clone())),
        only_own: own.is_some() && share <= NOTICEABLE_SHARE,
        beside_server,
    };
    let outcome = if noticeable == 0 { CheckOutcome::Pass } else { CheckOutcome::Warn };
    Check { rule: Rule::GeneratorDisturbed, outcome, evidence }
}

/// The turns of these windows that do not count for a rule, of those that tell; `None` where none does.
pub(crate) fn void_turns(windows: &[&Measurement], rule: Rule) -> Option<Proportion> {
    let told = || windows.iter().flat_map(|window| &window.turns).filter(|turn| turn.taken.is_some());
    let void = told().filter(|turn| turn.void_rules().any(|broken| broken == rule)).count();
    let all = told().count();
    (all > 0).then(|| Proportion::new(void, all))
}

/// Whether that alone makes the window void as a whole.
fn is_void(window: &Measurement) -> bool {
    window.void_rules().contains(&Rule::GeneratorDisturbed)
}

fn is_disturbed(window: &Measurement) -> bool {
    let objects = |check: &Check| check.outcome != CheckOutcome::Pass;
    window.generator_delay_share() > NOTICEABLE_SHARE || own_word(window).is_some_and(objects)
}

/// What the generator said of it.
fn own_word(window: &Measurement) -> Option<&Check> {
    window.load.checks.iter().find(|check| check.rule == Rule::GeneratorDisturbed)
}

#[cfg(test)]
mod tests {
    use assay_model::evidence::Withheld;
    use assay_model::load::LoadTurn;
    use assay_model::record::{Record, TimeTaken, Turn};
    use assay_model::units::Nanos;

    use super::*;
    use crate::testing::{judged, record};
    use crate::tests::{check, noisy, of, spoil};

    /// Six rounds of `a` beside a limit, in turns; others are at work in so many of the four of each window of `a`.
    fn disturbed(turns: u32) -> Record {
        let limit: Vec<f64> = noisy(80_000.0, 4, 6);
        let mut record = record(&[("limit", &limit), ("a", &noisy(20_000.0, 5, 6))]);
        spoil(&mut record, "a", |window| in_turns(window, turns));
        spoil(&mut record, "limit", |window| in_turns(window, 0));
        record
    }

    /// Four turns of a window, in so many of which others took a fifth of the server's CPUs, and the server gave a tenth.
    fn in_turns(window: &mut Measurement, disturbed: u32) {
        let whole = window.load.window.ok;
        window.machine.server_other_share = 0.2 * f64::from(disturbed) / 4.0;
        window.turns = (0..4)
            .map(|rotation| {
                let is_disturbed = rotation < disturbed;
                let ok = if is_disturbed { whole / 40 } else { whole / 4 };
                let load =
                    LoadTurn { ok, window_ns: Nanos(window.load.window_ns.0 / 4), ..LoadTurn::default() };
                let server_other_share = if is_disturbed { 0.2 } else { 0.0 };
                let taken = Some(TimeTaken { server_other_share, ..TimeTaken::default() });
                Turn { rotation, load, taken, ..Turn::default() }
            })
            .collect();
    }

    #[test]
    fn a_rotation_counts_in_which_a_disturbed_turn_was_repeated() {
        let mut record = disturbed(3);
        let is_void = |record: &Record| {
            let run = record.rounds[0].runs.iter().find(|run| run.contender == "a").expect("a ran");
            !run.cells[0].rate_void_rules().is_empty()
        };
        assert!(is_void(&record), "one rotation of four");
        // Two in vain, one with success.
        spoil(&mut record, "a", |window| {
            let [first, second, third] = [0, 1, 2].map(|turn| window.turns[turn].clone());
            let calm = Turn { rotation: 2, ..window.turns[3].clone() };
            window.turns.splice(0..3, [first.clone(), first, second.clone(), second, third, calm]);
        });
        assert!(!is_void(&record), "two of four, though four turns of seven are void");
        let rate = |record: &Record| {
            of(&judged(record), "a").throughput_per_second.map(|rate| (rate.estimate / 100.0).round())
        };
        assert_eq!(rate(&record), rate(&disturbed(0)));
    }

    #[test]
    fn a_disturbed_turn_is_left_out_and_the_others_of_its_window_count() {
        let void_rules = |record: &Record| {
            let run = record.rounds[0].runs.iter().find(|run| run.contender == "a").expect("a ran");
            run.cells[0].void_rules()
        };
        let rate = |record: &Record| {
            of(&judged(record), "a").throughput_per_second.map(|rate| (rate.estimate / 100.0).round())
        };
        let (none, one, two, three) = (disturbed(0), disturbed(1), disturbed(2), disturbed(3));
        assert!(rate(&none).is_some());
        assert_eq!((rate(&one), rate(&two)), (rate(&none), rate(&none)), "what others took is in no rate");
        assert!(void_rules(&one).is_empty() && void_rules(&two).is_empty(), "a tenth on average at most");
        let told = |record: &Record| check(&judged(record).trust, "other-programs").clone();
        let part = |record: &Record| match told(record).evidence {
            Evidence::Taken { turns: Some(turns), .. } => (turns.hits, turns.of),
            other => panic!("{other:?}"),
        };
        assert_eq!((part(&none), part(&one), part(&two)), ((0, 48), (6, 48), (12, 48)));
        assert_eq!((told(&none).outcome, told(&one).outcome), (CheckOutcome::Pass, CheckOutcome::Warn));
        assert_eq!(void_rules(&three), [Rule::OtherPrograms]);
        let verdict = judged(&three);
        let withheld = of(&verdict, "a").withheld.clone().expect("withheld");
        assert_eq!(withheld, Withheld::AllVoid { rules: vec![Rule::OtherPrograms] });
    }

    #[test]
    fn percentiles_of_a_disturbed_window_do_not_count_where_its_rate_does() {
        let mut record = disturbed(2);
        spoil(&mut record, "a", |window| window.machine.server_other_share = 0.11);
        let verdict = judged(&record);
        let standing = of(&verdict, "a");
        assert!(standing.throughput_per_second.is_some() && standing.p50_ns.is_none(), "{standing:?}");
        // Without a word from its turns the window is void as a whole.
        spoil(&mut record, "a", |window| window.turns[0].taken = None);
        assert!(of(&judged(&record), "a").throughput_per_second.is_none());
    }
}
