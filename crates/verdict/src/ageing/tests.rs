use assay_model::load::{LoadTurn, Series};
use assay_model::record::{Round, Turn};
use assay_stats::simulation::Shape;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use super::*;
use crate::testing::{self, judged};

/// Load of a turn, with what comes before it counts.
const TURN_S: f64 = 0.2;
const WINDOW: Nanos = Nanos::from_millis(150);

/// How the rates of the three servers go with the seconds that a life was under load.
type Courses = [fn(f64) -> f64; 3];

fn steady(_: f64) -> f64 {
    1.0
}

/// Half as fast at first, with a time constant of ten seconds.
fn warming(age_s: f64) -> f64 {
    1.0 - 0.5 * (-age_s / 10.0).exp()
}

fn leaking(age_s: f64) -> f64 {
    (-0.04 * age_s).exp()
}

/// The turns of three servers in one life each, on a machine whose speed wanders by a tenth and more.
fn turns(courses: Courses, rotations: u32, rng: &mut ChaCha8Rng) -> [Vec<Turn>; 3] {
    let mut machine = 0.0;
    let mut turns = [Vec::new(), Vec::new(), Vec::new()];
    let restarts = [0; 3].map(|_| 0.03 * Shape::HeavyTailed.draw(rng));
    for rotation in 0..rotations {
        machine = 0.9 * machine + 0.06 * Shape::Normal.draw(rng);
        for (place, course) in courses.iter().enumerate() {
            let age_s = 1.5 + f64::from(rotation) * TURN_S;
            let log = restarts[place] + machine + 0.07 * Shape::HeavyTailed.draw(rng);
            let ok = (1500.0 * course(age_s) * log.exp()) as u64;
            let load = LoadTurn {
                settle_ns: Nanos::from_millis(50),
                window_ns: WINDOW,
                ok,
                slices: Series { interval_ns: Nanos::from_millis(10), ok: vec![ok / 15; 20] },
                ..LoadTurn::default()
            };
            let loaded_ns = Nanos::from_secs_f64(age_s);
            turns[place].push(Turn { rotation, loaded_ns, load, ..Turn::default() });
        }
    }
    turns
}

/// A run of so many rounds, with a long look of so many rotations; the third server is the limit.
fn record(courses: Courses, rounds: usize, rotations: [u32; 2], seed: u64) -> Record {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rates = vec![1e4; rounds + 1];
    let mut record = testing::record(&[("a", &rates[..]), ("b", &rates[..]), ("limit", &rates[..])]);
    for (number, round) in record.rounds.iter_mut().enumerate() {
        let rotations = rotations[usize::from(number == rounds)];
        for (run, turns) in round.runs.iter_mut().zip(turns(courses, rotations, &mut rng)) {
            run.cells[0].turns = turns;
        }
    }
    record.long_look = record.rounds.pop().filter(|_| rotations[1] > 0);
    record.experiment.settle_s = 0.05;
    record
}

/// What is told of each contender but the limit.
fn told(record: &Record) -> Vec<(&str, Evidence)> {
    let evidence = DecodedRecord::of(record).expect("readable");
    let slow = Slow::of(&evidence);
    let told = slow.found.iter().filter_map(|(entry, trend, later)| {
        let check = objection(trend.as_ref(), later.as_ref())?;
        Some((entry.identity.name.as_str(), check.evidence))
    });
    told.collect()
}

/// The share of runs of which that is told; their lives are under load for six seconds.
fn share_of_runs(
    courses: Courses,
    long: u32,
    runs: u64,
    is_wanted: impl Fn(&[(&str, Evidence)]) -> bool,
) -> f64 {
    let hits = (0..runs).filter(|&seed| is_wanted(&told(&record(courses, 6, [30, long], seed))));
    hits.count() as f64 / runs as f64
}

#[test]
fn a_server_that_speeds_up_for_ten_seconds_is_told_and_nobody_beside_it() {
    let only_a = |told: &[(&str, Evidence)]| matches!(told, [("a", Evidence::SlowMode { change_share, .. })] if *change_share > 0.05);
    let found = share_of_runs([warming, steady, steady], 0, 60, only_a);
    assert!(found >= 0.8, "{found}");
    let slower = |told: &[(&str, Evidence)]| matches!(told, [("b", Evidence::SlowMode { change_share, .. })] if *change_share < -0.05);
    let found = share_of_runs([steady, leaking, steady], 0, 60, slower);
    assert!(found >= 0.8, "{found}");
}

#[test]
fn steady_servers_are_told_in_no_more_than_one_run_in_twenty() {
    for long in [0, 150] {
        let wrong = share_of_runs([steady; 3], long, 200, |told| !told.is_empty());
        assert!(wrong <= 0.05, "{wrong} with a long look of {long}");
    }
}

/// Two cells in each life, of which one comes first and then the other; beside the first the limit's window does not count.
#[test]
fn rates_over_the_limit_are_not_set_against_rates_as_they_are() {
    let is_wrong = |seed: &u64| {
        let mut record = record([steady; 3], 4, [5, 0], *seed);
        record.experiment.measures[0].connections = vec![64, 16];
        for (number, round) in record.rounds.iter_mut().enumerate() {
            for run in &mut round.runs {
                let mut later = run.cells[0].clone();
                later.turns.iter_mut().for_each(|turn| turn.loaded_ns += Nanos::from_millis(2000));
                run.cells.push(later);
                run.cells[(number + 1) % 2].cell.connections = 16;
            }
            // The limit, in the cell that came first.
            round.runs[2].cells[0].load.checks = vec![testing::little(CheckOutcome::Void)];
        }
        !told(&record).is_empty()
    };
    let wrong = (0..40).filter(is_wrong).count();
    assert!(wrong <= 2, "{wrong} of 40");
}

#[test]
fn a_limit_that_drifts_is_told_of_no_contender() {
    /// By 4 % over a life of the rounds.
    fn soon(age_s: f64) -> f64 {
        (-0.006 * age_s).exp()
    }
    /// By as much over a long look.
    fn late(age_s: f64) -> f64 {
        (-0.0013 * age_s).exp()
    }
    for (drift, long) in [(soon as fn(f64) -> f64, 0), (late, 150)] {
        let wrong = share_of_runs([steady, steady, drift], long, 200, |told| !told.is_empty());
        assert!(wrong <= 0.05, "{wrong} with a long look of {long}");
    }
}

#[test]
fn a_change_that_may_be_one_of_those_that_count_as_none_is_not_told() {
    assert!(is_told(0.05, 0.03) && is_told(-0.05, 0.03));
    assert!(!is_told(0.033, 0.027), "it may be 0.6 %");
    assert!(!is_told(0.02, 0.001), "nobody minds");
}

#[test]
fn a_long_look_tells_what_comes_after_the_rounds() {
    /// A change that comes wholly when the lives of the rounds are over.
    fn late(age_s: f64) -> f64 {
        1.3 - 0.3 * (-(age_s - 9.0).max(0.0) / 5.0).exp()
    }
    let found = share_of_runs([late, steady, steady], 200, 60, |told| {
        let [("a", Evidence::LongLook { change_share, young_ns, late_ns, end_ns, .. })] = told else {
            return false;
        };
        let at = |ns: &Nanos| ns.as_secs_f64();
        *change_share > 0.15 && at(young_ns) < 8.0 && at(late_ns) > 20.0 && at(end_ns) > 40.0
    });
    assert!(found >= 0.9, "{found}");
}

#[test]
fn the_verdict_tells_ages_and_objects_where_it_was_measured() {
    let verdict = judged(&record([warming, steady, steady], 8, [40, 0], 1));
    let rules = |name: &str| -> Vec<Rule> {
        let standings = &verdict.cells[0].standings;
        let standing = standings.iter().find(|standing| standing.contender == name).expect("standing");
        standing.checks.iter().map(|check| check.rule).collect()
    };
    assert!(rules("a").contains(&Rule::SlowModes) && !rules("b").contains(&Rule::SlowModes));
    assert!(
        verdict.trust.iter().all(|check| check.rule != Rule::SlowModes),
        "that is said of contenders alone"
    );
    let check = verdict.trust.iter().find(|check| check.rule == Rule::Ages).expect("told");
    let Evidence::Ages { ages, could_show_share: Some(share), long_look_ns: None } = check.evidence else {
        panic!("{check:?}")
    };
    let ends = [ages.loaded_from_ns, ages.loaded_to_ns].map(Nanos::as_secs_f64);
    assert!((1.5..2.5).contains(&ends[0]) && (9.4..9.6).contains(&ends[1]), "{ages:?}");
    assert!(share > 0.0 && share < 0.2, "{share}");
    assert_eq!(verdict.cells[0].standings[0].ages.map(|ages| ages.loaded_to_ns), Some(ages.loaded_to_ns));
}

#[test]
fn a_long_look_is_needed_until_lives_are_old_or_nothing_is_hidden() {
    let needs = |record: &Record| needs_long_look(record).expect("readable");
    let short = record([steady; 3], 3, [20, 0], 1);
    assert!(needs(&short), "four seconds tell nothing about thirty");
    assert!(!needs(&record([steady; 3], 3, [310, 0], 1)), "lives of a minute");
    assert!(!needs(&record([steady; 3], 9, [200, 0], 2)), "forty seconds in nine lives");
    let mut unmeasured = short;
    unmeasured.rounds = vec![Round { index: 0, server_host: None, runs: Vec::new() }];
    assert!(!needs(&unmeasured));
}
