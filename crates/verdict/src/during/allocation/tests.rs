use assay_model::design::{Because, Comparing, Design};
use assay_model::load::{LoadTurn, Series};
use assay_model::record::Turn;
use assay_stats::simulation::Shape;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use super::*;
use crate::testing;

const SECOND: Nanos = Nanos::from_millis(1000);
/// From the beginning of a turn to that of the next.
const EACH: Nanos = Nanos::from_millis(200);

/// A run in turns: rates of the contenders, of whom one called `limit` is the limit; how much restarts and turns vary.
fn record(contenders: &[(&str, f64)], rounds: usize, turns: u32, [restarts, windows]: [f64; 2]) -> Record {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let rates: Vec<(&str, Vec<f64>)> =
        contenders.iter().map(|(name, rate)| (*name, vec![*rate; rounds])).collect();
    let series: Vec<(&str, &[f64])> = rates.iter().map(|(name, rates)| (*name, rates.as_slice())).collect();
    let mut record = testing::record(&series);
    for round in &mut record.rounds {
        for (place, run) in (0_u64..).zip(&mut round.runs) {
            let level = contenders[place as usize].1.ln() + restarts * Shape::Normal.draw(&mut rng);
            let turn = |rotation: u32| {
                let log = level + windows * Shape::Normal.draw(&mut rng);
                let ok = (log.exp() * 0.15) as u64;
                let load = LoadTurn {
                    settle_ns: Nanos::from_millis(50),
                    window_ns: Nanos::from_millis(150),
                    ok,
                    slices: Series { interval_ns: Nanos::from_millis(10), ok: vec![ok / 15; 20] },
                    ..LoadTurn::default()
                };
                let before = u64::from(rotation) * contenders.len() as u64 + place;
                Turn { rotation, offset_ns: Nanos(EACH.0 * before), load, ..Turn::default() }
            };
            run.cells[0].turns = (0..turns).map(turn).collect();
        }
    }
    record
}

fn means(left_s: u64) -> Means {
    Means {
        left: Nanos(SECOND.0 * left_s),
        round: Nanos(SECOND.0 * 4),
        rotation: Nanos::ZERO,
        rounds: [2, 40],
        turns: [3, 2000],
    }
}

fn seen(record: &Record) -> Seen {
    Seen::of(record, None).expect("readable")
}

#[test]
fn who_is_told_apart_from_everybody_gets_every_second_turn() {
    let record = record(&[("far", 9e4), ("a", 1e4), ("b", 1.001e4), ("limit", 3e5)], 4, 20, [0.01, 0.1]);
    let seen = seen(&record);
    let cell = Cell::closed("hello", 64);
    let shares = ["far", "a", "b", "limit"].map(|name| seen.settled.share_of(name, &cell));
    assert_eq!(shares, [0.5, 1.0, 1.0, 1.0]);
    assert_eq!(seen.rotation, Nanos(EACH.0 * 11 / 3), "three turns, and two of three");
    assert!(!seen.settled.has("far", &Cell::closed("hello", 16)), "it was not measured there");
}

/// Two alternate lives, at 1.3 times the rate and at the rate; the same in a comparison, and as the limit.
#[test]
fn whose_restarts_vary_much_gets_several_processes() {
    let alternates = |name: &str, mut record: Record| {
        for round in record.rounds.iter_mut().step_by(2) {
            let turns = round.runs.iter_mut().filter(|run| run.contender == name);
            for turn in turns.flat_map(|run| &mut run.cells[0].turns) {
                turn.load.ok = turn.load.ok * 13 / 10;
                turn.load.slices.ok.iter_mut().for_each(|ok| *ok = *ok * 13 / 10);
            }
        }
        record
    };
    let named = [("a", 1e5), ("b", 8e4), ("c", 6e4), ("limit", 3e5), ("restless", 9e4)];
    let even = record(&named, 3, 12, [0.005, 0.02]);
    let replicas = |record: &Record| {
        let seen = seen(record).replicas;
        named.map(|(name, _)| seen.number(name))
    };
    assert_eq!(replicas(&even), [1; 5]);
    let most = planning::MOST_REPLICAS as u32;
    let mut restless = alternates("restless", even.clone());
    assert_eq!(replicas(&restless), [1, 1, 1, 1, most]);
    assert_eq!(replicas(&alternates("limit", even)), [1; 5], "the limit is what others are set against");
    let (base, design) = ("a".to_owned(), Design::Alternating);
    restless.experiment.comparing = Some(Comparing { base, design, because: Because::AskedFor });
    assert_eq!(replicas(&restless), [1; 5], "of two builds each round has one life");
}

#[test]
fn a_single_round_tells_nobody_apart_but_how_turns_vary() {
    let noise = |windows: f64| seen(&record(&[("a", 1e4), ("b", 9e4)], 1, 40, [0.01, windows])).noise;
    let (little, much) = (noise(0.05), noise(0.3));
    assert!(
        (0.04..0.06).contains(&little.window_sd) && (0.24..0.36).contains(&much.window_sd),
        "{little:?} {much:?}"
    );
    assert_eq!(little.restart_sd, much.restart_sd, "what is usual");
    assert_eq!(seen(&record(&[("a", 1e4), ("b", 9e4)], 1, 40, [0.01, 0.1])).settled, Settled::default());
}

#[test]
fn the_run_s_own_noise_decides_between_restarts_and_turns() {
    let four = [("a", 1e4), ("b", 1.02e4), ("c", 1.04e4), ("d", 1.06e4)];
    let rest = |noise: [f64; 2]| seen(&record(&four, 4, 20, noise)).rest(&means(120)).expect("fits");
    let (restarts, windows) = (rest([0.08, 0.05]), rest([0.0, 0.3]));
    assert!(restarts.rounds > windows.rounds && restarts.turns < windows.turns, "{restarts:?} {windows:?}");
    for of in [restarts, windows] {
        let takes_s = f64::from(of.rounds) * (4.0 + f64::from(of.turns) * 0.8);
        assert!((100.0..=120.0).contains(&takes_s), "{of:?} takes {takes_s} s");
    }
}

#[test]
fn where_no_further_round_fits_there_is_none_unless_two_are_missing() {
    let of = |rounds| seen(&record(&[("a", 1e4), ("b", 1.02e4)], rounds, 20, [0.01, 0.1])).rest(&means(3));
    assert_eq!((of(2), of(1)), (None, Some(Further { rounds: 1, turns: 3 })));
}

#[test]
fn before_the_first_round_what_is_usual_decides() {
    let experiment = &testing::record(&[("a", &[1e4]), ("b", &[1e4])]).experiment;
    let means = Means { rotation: SECOND, ..means(300) };
    let usual = opening(experiment, 6, &means, None).expect("fits");
    let after = |restart_cv, window_cv| {
        let noise = assay_model::verdict::Noise { restart_cv, window_cv, windows_per_life: 20.0 };
        let past = Past { run: "before".to_owned(), noise, turn: None };
        opening(experiment, 6, &means, Some(&past)).expect("fits")
    };
    let (restless, unsteady) = (after(0.2, 0.01), after(0.005, 0.3));
    assert!(
        unsteady.rounds < usual.rounds && usual.rounds <= restless.rounds,
        "{unsteady:?} {usual:?} {restless:?}"
    );
    assert!(
        unsteady.turns > usual.turns && usual.turns >= restless.turns,
        "{unsteady:?} {usual:?} {restless:?}"
    );
}

#[test]
fn turns_that_were_repeated_take_time() {
    let mut record = record(&[("a", 1e4), ("b", 1.001e4)], 1, 10, [0.01, 0.1]);
    let turns = &mut record.rounds[0].runs[0].cells[0].turns;
    // Of one contender each second turn was had again at once.
    turns.iter_mut().for_each(|turn| turn.rotation /= 2);
    assert_eq!(seen(&record).rotation, Nanos(EACH.0 * 2 * 20 / 15));
}

#[test]
fn the_time_of_turns_is_told_without_what_lies_between_cells() {
    let mut record = record(&[("a", 1e4), ("b", 1e4)], 1, 10, [0.01, 0.1]);
    assert_eq!(time_in_turns(&record.rounds[0]), Nanos(EACH.0 * 20));
    let other = Cell::closed("hello", 16);
    for run in &mut record.rounds[0].runs {
        let mut again = run.cells[0].clone();
        again.cell = other.clone();
        again.turns.iter_mut().for_each(|turn| turn.offset_ns += Nanos(SECOND.0 * 60));
        run.cells.push(again);
    }
    assert_eq!(time_in_turns(&record.rounds[0]), Nanos(EACH.0 * 40));
}

#[test]
fn a_turn_takes_its_length_on_average_and_what_is_typically_between_two() {
    // A slow server's turns are ten times as long; the run was paused before the last.
    let turns = [[0, 100], [110, 1000], [1120, 100], [1230, 1000], [9_000_000, 100]];
    assert_eq!(each(&turns), Nanos(460 + 10));
    assert_eq!((each(&[]), each(&[[5, 7]])), (Nanos(0), Nanos(7)));
}
