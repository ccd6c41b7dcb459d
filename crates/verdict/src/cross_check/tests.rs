use assay_model::generator::Told;
use assay_model::generator_window::CountedBy;
use assay_model::units::Nanos;

use super::*;
use crate::testing;

/// A window of one second.
fn window(generator: GeneratorName, right: u64) -> GeneratorWindow {
    GeneratorWindow {
        cell: Cell::closed("hello", 64),
        generator,
        offset_ns: Nanos::ZERO,
        told: Some(Told { right, window_ns: Nanos::from_millis(1000), ..Told::default() }),
        server_counted: None,
        cpu_ns: Some(Nanos::from_millis(500)),
        steal_share: 0.0,
        other_share: 0.0,
        failure: None,
    }
}

/// A record of two contenders with what each generator got out of them, round by round.
fn record(rates: &[(&str, GeneratorName, [u64; 4])]) -> Record {
    let mut record = testing::record(&[("a", &[100.0; 4]), ("b", &[50.0; 4])]);
    for (contender, generator, right) in rates {
        for (round, right) in record.rounds.iter_mut().zip(right) {
            let runs = &mut round.runs;
            let run = runs.iter_mut().find(|run| run.contender == *contender).expect("a contender");
            run.by_generator.push(window(*generator, *right));
        }
    }
    record
}

use GeneratorName::{Assay, Wrk};

fn judged(record: &Record) -> (CrossCheck, Vec<Check>) {
    let crossed = judge(record, 0.01);
    let checks = check(&crossed, 0.01);
    (crossed.into_iter().next().expect("a cell"), checks)
}

#[test]
fn without_other_generators_there_is_nothing() {
    let verdict = testing::judged(&record(&[]));
    assert!(verdict.cross_checks.is_empty());
    assert!(verdict.trust.iter().all(|check| check.rule != Rule::OtherGenerators));
}

/// The other generator sends less, equally of all: that is its affair, and the ratio is the same.
#[test]
fn who_gets_less_and_tells_the_same_ratio_objects_to_nothing() {
    let (crossed, checks) = judged(&record(&[
        ("a", Assay, [1000, 1010, 990, 1005]),
        ("b", Assay, [500, 505, 495, 502]),
        ("a", Wrk, [900, 909, 891, 905]),
        ("b", Wrk, [450, 455, 445, 452]),
    ]));
    let of = |contender: &str, generator| {
        let its = crossed.standings.iter().find(|s| s.contender == contender && s.generator == generator);
        its.expect("a standing").clone()
    };
    assert_eq!((of("a", Assay).to_ours, of("a", Assay).rounds), (None, 4));
    let to_ours = of("a", Wrk).to_ours.expect("a ratio");
    assert!(to_ours.low > 0.89 && to_ours.high < 0.91, "{to_ours:?}");
    assert_eq!(of("b", Wrk).per_cpu_second, Some(902.0), "the middle of two a half second of CPU time");
    assert_eq!(of("b", Wrk).counted_by, Some(CountedBy::Generator));
    let [pair] = crossed.pairs.as_slice() else { panic!("one pair: {:?}", crossed.pairs) };
    assert!((1.99..2.01).contains(&pair.ratio.estimate) && !pair.is_apart, "{pair:?}");
    assert_eq!(checks.iter().map(|check| check.outcome).collect::<Vec<_>>(), [CheckOutcome::Pass]);
    assert_eq!(checks[0].evidence, Evidence::GeneratorsAgree(GeneratorsAgree { comparisons: 2, pairs: 1 }));
}

#[test]
fn who_gets_more_out_of_a_server_than_ours_is_told() {
    let (_, checks) =
        judged(&record(&[("a", Assay, [1000, 1010, 990, 1005]), ("a", Wrk, [1200, 1212, 1188, 1206])]));
    let [check] = checks.as_slice() else { panic!("{checks:?}") };
    let Evidence::GeneratorGetsMore(found) = &check.evidence else { panic!("{check:?}") };
    assert_eq!((check.outcome, found.contender.as_str(), found.generator), (CheckOutcome::Warn, "a", Wrk));
    assert!((found.ratio - 1.2).abs() < 0.001, "{found:?}");
}

#[test]
fn who_tells_another_ratio_is_told() {
    let (crossed, checks) = judged(&record(&[
        ("a", Assay, [1000, 1010, 990, 1005]),
        ("b", Assay, [500, 505, 495, 502]),
        ("a", Wrk, [500, 505, 495, 502]),
        ("b", Wrk, [490, 494, 486, 493]),
    ]));
    assert!(crossed.pairs[0].is_apart);
    let [check] = checks.as_slice() else { panic!("{checks:?}") };
    let Evidence::GeneratorsDisagree(found) = &check.evidence else { panic!("{check:?}") };
    assert_eq!(found.contenders.each_ref().map(String::as_str), ["a", "b"]);
    assert!(found.theirs < 1.03 && found.ours > 1.98, "{found:?}");
}

/// The ratio of two servers that both wait for the generator is 1, whatever they are.
#[test]
fn who_uses_all_of_its_cpu_tells_no_ratio() {
    let mut record = record(&[
        ("a", Assay, [1000, 1010, 990, 1005]),
        ("b", Assay, [500, 505, 495, 502]),
        ("a", Wrk, [500, 505, 495, 502]),
        ("b", Wrk, [490, 494, 486, 493]),
    ]);
    let windows =
        record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.by_generator);
    windows
        .filter(|window| window.generator == Wrk)
        .for_each(|window| window.cpu_ns = Some(Nanos::from_millis(990)));
    let (crossed, checks) = judged(&record);
    assert!(!crossed.pairs[0].is_apart);
    assert!(
        crossed.standings.iter().any(|standing| standing.busy_share == Some(0.99)),
        "{:?}",
        crossed.standings
    );
    assert_eq!(checks[0].outcome, CheckOutcome::Pass);
}

/// A round without one of the two compares nothing, and a single round shows nothing.
#[test]
fn windows_that_were_disturbed_or_failed_do_not_count() {
    let mut record = record(&[("a", Assay, [1000, 1010, 990, 1005]), ("a", Wrk, [2000, 1010, 990, 1005])]);
    let of_wrk = |record: &mut Record, round: usize, change: fn(&mut GeneratorWindow)| {
        record.rounds[round].runs[0].by_generator.iter_mut().filter(|w| w.generator == Wrk).for_each(change);
    };
    of_wrk(&mut record, 0, |window| window.other_share = 0.5);
    of_wrk(&mut record, 1, |window| {
        (window.told, window.failure) = (None, Some("it printed nothing".to_owned()));
    });
    let (crossed, checks) = judged(&record);
    let wrk = &crossed.standings[1];
    assert_eq!((wrk.rounds, wrk.void, wrk.failures), (2, 1, 1));
    assert_eq!(wrk.failure.as_deref(), Some("it printed nothing"));
    assert_eq!(wrk.to_ours.map(|ratio| ratio.estimate), Some(1.0));
    assert_eq!(checks[0].outcome, CheckOutcome::Pass);
    record.rounds.truncate(1);
    of_wrk(&mut record, 0, |window| window.other_share = 0.0);
    let (crossed, checks) = judged(&record);
    assert_eq!(crossed.standings[1].to_ours.map(|ratio| ratio.estimate), Some(2.0));
    assert_eq!(checks[0].outcome, CheckOutcome::Pass, "one round is a single figure");
}

#[test]
fn the_servers_count_is_the_throughput_and_a_false_count_is_seen() {
    let mut record = record(&[("a", Assay, [1000, 1010, 990, 1005]), ("a", Wrk, [3000, 3030, 2970, 3015])]);
    for window in record.rounds.iter_mut().flat_map(|round| &mut round.runs[0].by_generator) {
        window.server_counted = Some(1000);
    }
    let (crossed, checks) = judged(&record);
    let wrk = &crossed.standings[1];
    assert_eq!(wrk.counted_by, Some(CountedBy::Server));
    assert_eq!(wrk.per_second.map(|rate| rate.estimate.round()), Some(1000.0));
    assert!(wrk.miscount.is_some_and(|share| share > 1.9), "{:?}", wrk.miscount);
    assert_eq!(checks[0].outcome, CheckOutcome::Pass);
}
