//! Verdicts of records made up.

mod limit;
mod rates;
mod rounds;
mod trust;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, RestartsUnknown};
use assay_model::experiment::Measure;
use assay_model::link::{Flow, LinkUse};
use assay_model::load::{ErrorClass, ErrorSample};
use assay_model::protocol::Protocol;
use assay_model::record::{NotRun, Record, Stage, State, Turn};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_model::verdict::{Call, CellVerdict, LimitedBy, Standing, Verdict};
use chacha20::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use crate::testing::{judged, little, record, with_control};
use crate::*;

/// `n` throughputs around `mean` with about 1 % noise; round by round the machine's mood, which `pace` gives, is shared.
pub(super) fn noisy(mean: f64, seed: u64, n: usize) -> Vec<f64> {
    let uniform = |rng: &mut ChaCha8Rng| rng.next_u64() as f64 / u64::MAX as f64 - 0.5;
    let (mut own, mut mood) = (ChaCha8Rng::seed_from_u64(seed), ChaCha8Rng::seed_from_u64(1));
    (0..n).map(|_| mean * (1.0 + 0.1 * uniform(&mut mood)) * (1.0 + 0.02 * uniform(&mut own))).collect()
}

pub(super) fn only_cell(verdict: &Verdict) -> &CellVerdict {
    assert_eq!(verdict.cells.len(), 1);
    &verdict.cells[0]
}

pub(super) fn of<'v>(verdict: &'v Verdict, name: &str) -> &'v Standing {
    only_cell(verdict).standings.iter().find(|standing| standing.contender == name).expect(name)
}

pub(super) fn check<'c>(checks: &'c [Check], rule: &str) -> &'c Check {
    checks.iter().find(|check| check.rule.name() == rule).expect(rule)
}

/// Every window of a contender, to spoil it.
pub(super) fn spoil(
    record: &mut Record,
    name: &str,
    mut how: impl FnMut(&mut assay_model::record::Measurement),
) {
    for round in &mut record.rounds {
        for run in round.runs.iter_mut().filter(|run| run.contender == name) {
            run.cells.iter_mut().for_each(&mut how);
        }
    }
}

#[test]
fn the_same_server_twice_is_never_called_different() {
    for seed in 0..200 {
        let record =
            record(&[("a", &noisy(50_000.0, seed * 2 + 10, 6)), ("b", &noisy(50_000.0, seed * 2 + 11, 6))]);
        let verdict = judged(&record);
        assert_ne!(only_cell(&verdict).pairs[0].call, Call::Distinct, "seed {seed}");
        assert_eq!((of(&verdict, "a").tier, of(&verdict, "b").tier), (Some(1), Some(1)));
        assert_eq!(of(&verdict, "a").letters, of(&verdict, "b").letters);
    }
}

#[test]
fn ten_percent_are_found_out_in_six_rounds() {
    let verdict = judged(&record(&[("slow", &noisy(45_000.0, 2, 6)), ("fast", &noisy(50_000.0, 3, 6))]));
    let cell = only_cell(&verdict);
    let pair = &cell.pairs[0];
    assert_eq!((pair.faster.as_str(), pair.slower.as_str(), pair.call), ("fast", "slow", Call::Distinct));
    assert!(pair.ratio.low < 1.111 && 1.111 < pair.ratio.high, "{:?}", pair.ratio);
    assert_eq!(cell.standings[0].contender, "fast");
    assert_eq!((of(&verdict, "fast").tier, of(&verdict, "slow").tier), (Some(1), Some(2)));
    assert!(
        precision(&record(&[("a", &[100.0, 110.0]), ("b", &[100.0, 100.0])]))
            .unwrap()
            .is_some_and(|p| p > 0.0)
    );
}

#[test]
fn a_contender_that_takes_part_twice_is_the_noise_floor_and_no_contender() {
    let series =
        [("a", noisy(50_000.0, 20, 6)), ("b", noisy(45_000.0, 21, 6)), ("a′", noisy(50_000.0, 22, 6))];
    let series: Vec<(&str, &[f64])> = series.iter().map(|(name, rates)| (*name, rates.as_slice())).collect();
    let verdict = judged(&with_control(record(&series)));
    let floor = verdict.noise_floor.as_ref().expect("measured");
    assert_eq!((floor.contender.as_str(), floor.ratios.len()), ("a", 1));
    let ratio = floor.ratios[0].ratio;
    assert!(ratio.low < 1.0 && 1.0 < ratio.high && floor.half_width < 0.03, "{floor:?}");
    assert_eq!(verdict.margin, 0.01, "no bias is shown, and noise is no margin");
    assert!(verdict.noise.is_some_and(|noise| noise.restart_cv < 0.02), "{:?}", verdict.noise);
    let told = check(&verdict.trust, "noise-floor");
    assert_eq!(told.outcome, CheckOutcome::Pass);
    let Evidence::NoiseFloor {
        restart_cv: Some(_),
        restarts_unknown: None,
        contender: Some(name),
        is_compared: true,
        apart: None,
    } = &told.evidence
    else {
        panic!("{told:?}")
    };
    assert_eq!(name, "a");
    let names: Vec<&str> = only_cell(&verdict).standings.iter().map(|s| s.contender.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn a_control_of_too_few_rounds_is_told_to_be_there() {
    let single = with_control(record(&[("a", &[50_000.0]), ("a′", &[49_000.0])]));
    let told = check(&judged(&single).trust, "noise-floor").evidence.clone();
    assert!(
        matches!(&told, Evidence::NoiseFloor { contender: Some(name), is_compared: false, .. } if name == "a"),
        "{told:?}"
    );
}

/// More rounds would not help where it is not rounds that are missing.
#[test]
fn why_it_is_not_known_how_much_restarts_vary_is_told() {
    let told = |record: &Record| {
        let verdict = judged(record);
        let told = check(&verdict.trust, "noise-floor").evidence.clone();
        let Evidence::NoiseFloor { restart_cv, restarts_unknown, .. } = told else { panic!("{told:?}") };
        assert_eq!(restart_cv.is_some(), restarts_unknown.is_none());
        restarts_unknown
    };
    let (a, b) = (noisy(50_000.0, 20, 6), noisy(45_000.0, 21, 6));
    let mut both = record(&[("a", &a), ("b", &b)]);
    assert_eq!(told(&both), None);
    assert_eq!(told(&record(&[("a", &a)])), Some(RestartsUnknown::OneContender));
    assert_eq!(told(&record(&[("a", &a[..1]), ("b", &b[..1])])), Some(RestartsUnknown::FewRounds));
    for (index, round) in both.rounds.iter_mut().enumerate() {
        round.runs.retain(|run| (run.contender == "a") == (index < 3));
    }
    assert_eq!(told(&both), Some(RestartsUnknown::Apart));
}

#[test]
fn a_machine_on_which_equals_differ_is_not_fit() {
    let apart = with_control(record(&[("a", &noisy(50_000.0, 20, 6)), ("a′", &noisy(40_000.0, 21, 6))]));
    let verdict = judged(&apart);
    assert!((0.2..0.25).contains(&verdict.margin), "the bias that is shown at least: {}", verdict.margin);
    let told = check(&verdict.trust, "noise-floor");
    assert!(
        told.outcome == CheckOutcome::Warn
            && matches!(told.evidence, Evidence::NoiseFloor { apart: Some(_), .. }),
        "{told:?}"
    );
}

#[test]
fn on_a_noisy_machine_nothing_is_called_equivalent() {
    let wild = [50_000.0, 20_000.0, 80_000.0];
    let tame = [50_000.0, 52_000.0, 49_000.0];
    for until_settled in [false, true] {
        let mut noisy = with_control(record(&[("a", &tame), ("b", &tame), ("a′", &wild)]));
        noisy.experiment.until_settled = until_settled;
        noisy.experiment.rounds = 3;
        let slower: Vec<f64> =
            tame.iter().zip([0.93, 0.9, 0.92]).map(|(rate, factor)| rate * factor).collect();
        for (round, rate) in noisy.rounds.iter_mut().zip(&slower) {
            round.runs[1].cells[0].load.window.ok = *rate as u64;
        }
        let verdict = judged(&noisy);
        assert_eq!(verdict.margin, 0.01, "noise widens intervals, not the margin");
        assert_ne!(only_cell(&verdict).pairs[0].call, Call::Equivalent, "{:?}", only_cell(&verdict).pairs);
        assert!(verdict.noise.is_some_and(|noise| noise.restart_cv > 0.1), "{:?}", verdict.noise);
    }
}

#[test]
fn the_limit_is_reported_and_not_ranked() {
    let series = noisy(80_000.0, 4, 6);
    let half: Vec<f64> = series.iter().map(|rate| rate / 2.0).collect();
    let verdict = judged(&record(&[("limit", &series), ("a", &half)]));
    let (limit, a) = (of(&verdict, "limit"), of(&verdict, "a"));
    assert_eq!((limit.tier, limit.share_of_limit, limit.letters.as_str()), (None, None, ""));
    let share = a.share_of_limit.expect("share");
    assert!((share.estimate - 0.5).abs() < 1e-4 && share.low <= 0.5 + 1e-4, "{share:?}");
    assert_eq!(a.tier, Some(1));
    assert!(only_cell(&verdict).pairs.is_empty());
}

#[test]
fn of_a_limit_that_answers_wrongly_no_share_is_told() {
    let mut spoilt = record(&[("limit", &noisy(80_000.0, 4, 6)), ("a", &noisy(40_000.0, 5, 6))]);
    spoil(&mut spoilt, "limit", |window| {
        window.load.books.errors.insert(ErrorClass::WrongBody, 1_000_000);
        window.load.books.issued += 1_000_000;
    });
    let verdict = judged(&spoilt);
    assert_eq!((of(&verdict, "a").share_of_limit, of(&verdict, "a").tier), (None, Some(1)));
}

#[test]
fn one_round_gives_points_and_no_tiers() {
    let verdict = judged(&record(&[("a", &[100.0]), ("b", &[50.0])]));
    let rate = of(&verdict, "a").throughput_per_second.expect("rate");
    assert!((rate.estimate - 100.0).abs() < 1e-6 && rate.confidence == 0.0, "{rate:?}");
    assert_eq!(of(&verdict, "a").tier, None);
    assert_eq!(check(&verdict.trust, "rounds").outcome, CheckOutcome::Warn);
}

#[test]
fn three_rounds_alike_by_chance_promise_no_more_than_others_do() {
    let of_seed = |seed: u64| noisy(1000.0, seed, 3);
    let alike = vec![1000.0; 3];
    let (b, c, d, e) = (of_seed(5), of_seed(6), of_seed(7), of_seed(8));
    let verdict = judged(&record(&[("a", &alike), ("b", &b), ("c", &c), ("d", &d), ("e", &e)]));
    let reach = |name: &str| {
        let rate = of(&verdict, name).throughput_per_second.expect("rate");
        (rate.high / rate.low).ln()
    };
    assert!(reach("a") > 0.5 * reach("b"), "{} and {}", reach("a"), reach("b"));
    assert!((0.05..0.5).contains(&reach("b")), "rounds vary by 10 % from end to end: {}", reach("b"));
}

#[test]
fn wrong_answers_withhold_a_contender_and_a_few_are_a_warning() {
    let mut spoilt = record(&[
        ("good", &noisy(1000.0, 5, 6)),
        ("bad", &noisy(2000.0, 6, 6)),
        ("odd", &noisy(900.0, 7, 6)),
    ]);
    spoil(&mut spoilt, "bad", |window| {
        window.load.books.errors.insert(ErrorClass::UnexpectedStatus, 10);
        window.load.books.issued += 10;
        let detail = "status 500 instead of 200".to_owned();
        let class = ErrorClass::UnexpectedStatus;
        window.load.samples.push(ErrorSample { class, detail, received: String::new() });
    });
    let mut once = true;
    spoil(&mut spoilt, "odd", |window| {
        if std::mem::take(&mut once) {
            window.load.books.errors.insert(ErrorClass::HeadTimeout, 1);
            window.load.books.issued += 1;
        }
    });
    let verdict = judged(&spoilt);
    let bad = of(&verdict, "bad");
    assert!(format!("{:?}", bad.withheld).contains("status 500 instead of 200"), "{bad:?}");
    assert_eq!((bad.tier, bad.throughput_per_second, bad.failed), (None, None, 60));
    assert_eq!(of(&verdict, "good").tier, Some(1));
    assert!(of(&verdict, "odd").withheld.is_none());
    assert_eq!(check(&of(&verdict, "odd").checks, "errors").outcome, CheckOutcome::Warn);
    assert_eq!(ending(&spoilt, &verdict, false), Ending::WrongAnswer);
}

#[test]
fn lost_rounds_are_left_out_of_the_pairs() {
    let mut flaky = noisy(1000.0, 8, 6);
    flaky[2] = 0.0;
    let verdict = judged(&record(&[("steady", &noisy(2000.0, 9, 6)), ("flaky", &flaky)]));
    assert_eq!(only_cell(&verdict).pairs[0].call, Call::Distinct);
    assert_eq!(of(&verdict, "flaky").rounds_per_second[2], None);
    // One that hardly ever works must not cost the others their rounds.
    let mut broken = vec![0.0; 6];
    broken[0] = 900.0;
    let verdict =
        judged(&record(&[("a", &noisy(2000.0, 9, 6)), ("b", &noisy(1000.0, 8, 6)), ("broken", &broken)]));
    assert!(of(&verdict, "broken").withheld.is_some());
    assert_eq!((of(&verdict, "a").tier, of(&verdict, "b").tier), (Some(1), Some(2)));
}

#[test]
fn a_saturated_generator_voids_what_it_could_not_drive() {
    let mut driven = record(&[("a", &noisy(1000.0, 5, 6)), ("b", &noisy(900.0, 6, 6))]);
    let saturate = |window: &mut assay_model::record::Measurement| {
        window.load.thread_busy_shares = vec![0.99];
        window.server = window.server.clone().map(|usage| assay_model::usage::Usage {
            user_ns: assay_model::units::Nanos::from_millis(300),
            system_ns: assay_model::units::Nanos::ZERO,
            ..usage
        });
        window.machine.server_idle_share = 0.6;
    };
    spoil(&mut driven, "a", saturate);
    let verdict = judged(&driven);
    let a = of(&verdict, "a");
    assert_eq!(a.limited_by, LimitedBy::Generator);
    assert_eq!(check(&a.checks, "generator-saturated").outcome, CheckOutcome::Void);
    assert!(a.withheld.is_some() && a.tier.is_none());
    assert_eq!(of(&verdict, "b").limited_by, LimitedBy::Server);
    assert_eq!(check(&verdict.trust, "generator").outcome, CheckOutcome::Warn, "the numbers of b are good");
    assert_eq!(check(&verdict.trust, "headroom").outcome, CheckOutcome::Warn);
    assert_eq!(ending(&driven, &verdict, false), Ending::Fine);
    assert_eq!(ending(&driven, &verdict, true), Ending::Void);
    spoil(&mut driven, "b", saturate);
    assert_eq!(check(&judged(&driven).trust, "generator").outcome, CheckOutcome::Void, "nobody's are");
}

#[test]
fn figures_of_a_standing() {
    let verdict = judged(&record(&[("a", &[20_000.0; 6]), ("few", &[900.0; 6])]));
    let a = of(&verdict, "a");
    // 64 in flight at 20 000 a second are 3.2 ms each.
    let p99 = a.p99_ns.expect("enough samples").estimate;
    assert!((p99 / 3.2e6 - 1.0).abs() < 0.005, "{p99}");
    // 990 ms of CPU for 20 000 answers.
    assert!(a.cpu_per_request_ns.is_some_and(|ns| (ns - 49_500.0).abs() < 1.0));
    assert_eq!(a.server_busy_share, Some(0.99));
    assert_eq!(a.startup_ns, Some(20e6));
    let few = of(&verdict, "few");
    assert!(few.p50_ns.is_some() && few.p99_ns.is_none(), "9 samples beyond the 99th percentile are too few");
}

#[test]
fn a_search_for_a_redline_is_not_told_that_it_lacks_a_control() {
    let mut search = record(&[("a", &noisy(1000.0, 5, 6))]);
    let lacks = |record: &Record| judged(record).trust.iter().any(|check| check.rule == Rule::NoiseFloor);
    assert!(lacks(&search));
    search.experiment.measures[0].rates = vec!["redline:p99<10ms".parse().expect("a load")];
    assert!(!lacks(&search));
}

/// The profile of `make showdown` optimises what plain HTTP/1.1 on the kernel's stack needs, and nothing else.
#[test]
fn a_build_for_a_showdown_is_good_for_what_that_measures() {
    let outcome = |change: fn(&mut Measure)| {
        let mut record = record(&[("a", &noisy(1000.0, 5, 6))]);
        record.assay.profile = "showdown".to_owned();
        record.experiment.measures.iter_mut().for_each(change);
        let verdict = judged(&record);
        verdict.trust.iter().find(|check| check.rule == Rule::Build).expect("told").outcome
    };
    assert_eq!(outcome(|_| {}), CheckOutcome::Pass);
    assert_eq!(outcome(|measure| measure.protocols = vec![Protocol::H1, Protocol::H2c]), CheckOutcome::Void);
    assert_eq!(outcome(|measure| measure.protocols = vec![Protocol::H1Tls]), CheckOutcome::Void);
    let user = |measure: &mut Measure| measure.networks = vec!["user/ring".parse().expect("network")];
    assert_eq!(outcome(user), CheckOutcome::Void);
}

#[test]
fn trust_objects_where_something_is_wrong_and_nowhere_else() {
    let clean = judged(&record(&[("a", &noisy(1000.0, 5, 6))]));
    for check in &clean.trust {
        let passes = check.outcome == CheckOutcome::Pass;
        assert_eq!(passes, check.rule != Rule::NoiseFloor, "{check:?}");
    }
    let mut spoilt = record(&[("a", &noisy(1000.0, 5, 6))]);
    spoilt.assay.profile = "debug".to_owned();
    spoilt.isolation.server_cpus = "0".to_owned();
    spoil(&mut spoilt, "a", |window| {
        window.machine.steal_share = 0.2;
        window.machine.listen_overflows = 1;
        window.load.books.issued += 1;
        window.load.checks = vec![little(CheckOutcome::Warn)];
        window.load.series.ok = vec![10, 10, 10, 12, 12, 12, 1];
        window.load.connections = 8;
    });
    let verdict = judged(&spoilt);
    for (rule, outcome) in [
        ("build", CheckOutcome::Void),
        ("books", CheckOutcome::Void),
        ("isolation", CheckOutcome::Void),
        ("little", CheckOutcome::Warn),
        ("steal", CheckOutcome::Void),
        ("tcp", CheckOutcome::Warn),
    ] {
        let check = check(&verdict.trust, rule);
        assert_eq!(check.outcome, outcome, "{check:?}");
    }
    assert_eq!(check(&of(&verdict, "a").checks, "drift").outcome, CheckOutcome::Warn);
    // A third of a second holds five responses of a server that takes 64 ms: their wave is no drift.
    spoil(&mut spoilt, "a", |window| window.load.connections = 64);
    let verdict = judged(&spoilt);
    assert!(of(&verdict, "a").checks.iter().all(|check| check.rule != Rule::Drift));
}

#[test]
fn what_windows_do_by_chance_is_no_drift() {
    let of_thirds = |thirds: [[u64; 2]; 4], turned: bool| {
        let mut drifting = record(&[("a", &noisy(1000.0, 5, 4))]);
        let mut windows = thirds.iter();
        spoil(&mut drifting, "a", |window| {
            let [first, last] = windows.next().expect("four rounds");
            window.load.series.ok = vec![*first, *first, 10, 10, *last, *last, 1];
            window.load.connections = 8;
            window.turns = vec![Turn::default(); usize::from(turned) * 2];
        });
        of(&judged(&drifting), "a").checks.iter().any(|check| check.rule == Rule::Drift)
    };
    let risen = [[10, 12], [10, 13], [10, 12], [11, 13]];
    assert!(of_thirds(risen, false), "each window rose by a fifth");
    assert!(!of_thirds([[10, 15], [14, 10], [10, 9], [10, 14]], false), "by 9 % in all, and by chance");
    assert!(
        !of_thirds(risen, true),
        "turns are compared with those of others, in which the machine did the same"
    );
}

#[test]
fn who_was_not_run_decides_how_the_run_ended() {
    let mut partial = record(&[("a", &noisy(1000.0, 5, 6)), ("b", &[])]);
    let mut not_run = |stage| {
        let reason = "needs Go 1.23 or newer".to_owned();
        partial.contenders[1].not_run = Some(NotRun { stage, reason, remedy: None, log_tail: Vec::new() });
        let verdict = judged(&partial);
        ending(&partial, &verdict, false)
    };
    assert_eq!(not_run(Stage::Needs), Ending::Fine);
    assert_eq!(not_run(Stage::Build), Ending::ContenderFailed);
    assert_eq!(not_run(Stage::Answer), Ending::WrongAnswer);
    partial.state = State::Interrupted;
    assert_eq!(ending(&partial, &judged(&partial), false), Ending::Interrupted);
    let nothing = record(&[("a", &[])]);
    assert_eq!(ending(&nothing, &judged(&nothing), false), Ending::ContenderFailed);
}

/// The machine was half as fast when the second group lived, which is no difference of those in it.
#[test]
fn those_of_different_groups_are_compared_by_the_one_that_lived_in_both() {
    let (limit, a, b) = (noisy(300_000.0, 1, 6), noisy(100_000.0, 2, 6), noisy(80_000.0, 3, 6));
    let series: [(&str, &[f64]); 3] = [("limit", &limit), ("a", &a), ("b", &b)];
    let whole = record(&series);
    let split = testing::in_two_groups(whole.clone(), 0.5);
    let pair = |record: &Record| judged(record).cells[0].pairs[0].clone();
    let (at_once, across) = (pair(&whole), pair(&split));
    assert_eq!((across.faster.as_str(), across.slower.as_str(), across.call), ("a", "b", Call::Distinct));
    assert!((across.ratio.estimate / at_once.ratio.estimate - 1.0).abs() < 0.01, "{across:?} {at_once:?}");
    let verdict = judged(&split);
    assert_eq!(verdict.rounds, 6);
    assert!(["limit", "a", "b"].iter().all(|name| of(&verdict, name).rounds_per_second.len() == 6));
    let share = |name: &str| of(&verdict, name).share_of_limit.expect(name).estimate;
    assert!((share("a") * 3.0 - 1.0).abs() < 0.01 && (share("b") * 3.75 - 1.0).abs() < 0.01, "{verdict:?}");
}

/// A run that a person ends by hand may have been ended for its result.
#[test]
fn a_run_that_a_person_ended_pays_for_having_been_watched() {
    let mut record = record(&[("a", &noisy(1000.0, 1, 6)), ("b", &noisy(1020.0, 2, 6))]);
    record.experiment.rounds = 20;
    let width = |record: &Record| {
        let ratio = judged(record).cells[0].pairs[0].ratio;
        ratio.high / ratio.low - 1.0
    };
    let as_planned = width(&record);
    record.state = State::Interrupted;
    let ended = width(&record);
    assert!(ended > as_planned * 1.1, "{ended} {as_planned}");
    record.state = State::Running;
    assert!((width(&record) - ended).abs() < 1e-12, "what is watched is what would be kept");
}

/// A record may come from anybody.
#[test]
fn counts_of_a_record_that_are_too_large_to_be_added_are_judged() {
    let mut record = record(&[("limit", &[1000.0; 4]), ("a", &[500.0; 4]), ("b", &[400.0; 4])]);
    for name in ["limit", "a", "b"] {
        spoil(&mut record, name, |window| {
            let usage = Usage {
                wall_ns: Nanos::MAX,
                user_ns: Nanos::MAX,
                system_ns: Nanos::MAX,
                voluntary_switches: u64::MAX,
                involuntary_switches: u64::MAX,
                minor_faults: u64::MAX,
                major_faults: u64::MAX,
                run_delay_ns: Some(Nanos::MAX),
                ..Usage::default()
            };
            window.machine.cpu_pressure_share = Some(0.5);
            window.machine.tcp_retransmits = u64::MAX;
            window.machine.listen_overflows = u64::MAX;
            window.load.generator = Usage { run_delay_ns: None, ..usage.clone() };
            window.server = Some(usage);
            let books = &mut window.load.books;
            (books.ok, books.issued, books.censored) = (u64::MAX, u64::MAX, u64::MAX);
            books.errors =
                [(ErrorClass::UnexpectedStatus, u64::MAX), (ErrorClass::WrongBody, u64::MAX)].into();
            let flow = Flow {
                bytes: u64::MAX,
                packets: u64::MAX,
                lost_frames: u64::MAX,
                overflowed_frames: u64::MAX,
                ..Flow::default()
            };
            window.link_use = Some(LinkUse { to_server: flow, to_generator: flow });
        });
    }
    judged(&record);
    spoil(&mut record, "a", |window| window.load.generator.run_delay_ns = Some(Nanos::MAX));
    judged(&record);
}
