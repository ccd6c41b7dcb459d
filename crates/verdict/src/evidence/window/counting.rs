//! The part of a contender's turns that counts. One rule for all of them, from what all of them show: in each turn what came after
//! its rate no longer depended on when the load began (`settle`), in each cell the rotations that are not slower than its later
//! ones (`opening`), and of a life the turns in which it no longer got faster (`warm`). The run orders what it knows at the time;
//! this is known only when it is over (docs/method/carousel.md#warm-up).

use std::collections::BTreeMap;

use assay_model::experiment::Cell;
use assay_model::record::Turn;
use assay_model::setting::Setting;
use assay_model::units::Nanos;
use assay_stats::robust::median;

use super::{ServerRun, Window};
use crate::evidence::turns::{Counting, rate_after, settle_of, shown_shift};

/// Differences that show whether turns of some age were slower than later ones.
const STRETCH: usize = 8;
/// Turns of a life in a cell of which some can be set against others.
const LEAST_TURNS: usize = 3;
/// Fewest other contenders in a rotation that show how fast the machine was in it.
const LEAST_OTHERS: usize = 2;

/// A turn of the first half of a life's in a cell.
#[derive(Clone, Copy, Debug)]
struct Early {
    /// Rotations of the cell in which the life had had turns before.
    before: usize,
    /// Load that the life had behind it.
    age: Nanos,
    /// By how much its log rate differs from that of the second half.
    shift: f64,
}

/// Tells each window of a record what counts of its turns; `least` is the load before each turn that was asked for.
pub(crate) fn count(rounds: &mut [Vec<ServerRun<'_>>], least: Nanos) {
    let settles = settles(rounds, least);
    let settle = |server_run: &ServerRun<'_>, window: &Window<'_>| {
        settles.get(&(server_run.run.contender.as_str(), &window.measured.cell)).copied()
    };
    let mut found: BTreeMap<(&str, Setting, &str), Vec<Early>> = BTreeMap::new();
    for round in rounds.iter() {
        for (server_run, window, differences) in differences(round, &settle) {
            let run = server_run.run;
            let key = (run.contender.as_str(), run.setting(), window.measured.cell.workload.as_str());
            found.entry(key).or_default().extend(differences);
        }
    }
    let first: BTreeMap<_, (usize, Nanos)> =
        found.into_iter().map(|(key, found)| (key, first_of(found))).collect();
    for server_run in rounds.iter_mut().flatten() {
        let run = server_run.run;
        for window in server_run.windows.iter_mut().filter(|window| !window.measured.turns.is_empty()) {
            let cell = &window.measured.cell;
            let key = (run.contender.as_str(), run.setting(), cell.workload.as_str());
            let settle = settles.get(&(run.contender.as_str(), cell)).copied();
            let (before, warm) = first.get(&key).copied().unwrap_or_default();
            let opening = rotations(&window.measured.turns).get(before).copied().unwrap_or(u32::MAX);
            window.counting = Counting { settle, opening, warm }.of(&window.measured.turns);
        }
    }
}

/// The rotations in which a life had its turns: not all of them where it had every second, or replicas had the others.
fn rotations(turns: &[Turn]) -> Vec<u32> {
    let mut rotations: Vec<u32> = turns.iter().map(|turn| turn.rotation).collect();
    rotations.dedup();
    rotations
}

/// How long each contender needs in each cell, by all its turns.
fn settles<'r>(rounds: &[Vec<ServerRun<'r>>], least: Nanos) -> BTreeMap<(&'r str, &'r Cell), Nanos> {
    let mut turns: BTreeMap<(&str, &Cell), Vec<&Turn>> = BTreeMap::new();
    for server_run in rounds.iter().flatten() {
        for window in server_run.windows.iter().filter(|window| !window.measured.turns.is_empty()) {
            let key = (server_run.run.contender.as_str(), &window.measured.cell);
            turns.entry(key).or_default().extend(&window.measured.turns);
        }
    }
    turns.into_iter().map(|(key, turns)| (key, settle_of(&turns, least))).collect()
}

/// Of each life in each cell of a round, the turns of the first half against those of the second.
fn differences<'l, 'r>(
    round: &'l [ServerRun<'r>],
    settle: &impl Fn(&ServerRun<'r>, &Window<'r>) -> Option<Nanos>,
) -> Vec<(&'l ServerRun<'r>, &'l Window<'r>, Vec<Early>)> {
    let turned = |server_run: &'l ServerRun<'r>| {
        let windows = server_run.windows.iter().filter(|window| !window.measured.turns.is_empty());
        windows.map(move |window| (server_run, window))
    };
    let participants: Vec<(&ServerRun<'_>, &Window<'_>)> = round.iter().flat_map(turned).collect();
    let deviations: Vec<BTreeMap<u32, f64>> = participants
        .iter()
        .map(|(server_run, window)| deviations(&window.measured.turns, settle(server_run, window)))
        .collect();
    let compared = participants.iter().enumerate().map(|(index, &(server_run, window))| {
        // The rotations of another group were at another time.
        let beside = |other: &usize| {
            let (beside, its) = participants[*other];
            *other != index
                && its.measured.cell == window.measured.cell
                && beside.run.group == server_run.run.group
        };
        let others: Vec<&BTreeMap<u32, f64>> =
            (0..participants.len()).filter(beside).map(|other| &deviations[other]).collect();
        (server_run, window, against_later(&window.measured.turns, &deviations[index], &others))
    });
    compared.collect()
}

/// The log rate of each rotation's turn, less that of the middle one.
fn deviations(turns: &[Turn], settle: Option<Nanos>) -> BTreeMap<u32, f64> {
    // Of a turn that was repeated the second one.
    let known = turns.iter().filter_map(|turn| Some((turn.rotation, rate_after(turn, settle)?.ln())));
    let known: Vec<(u32, f64)> = known.collect();
    let logs: Vec<f64> = known.iter().map(|(_, log)| *log).collect();
    let middle = median(&logs).unwrap_or_default();
    known.into_iter().map(|(rotation, log)| (rotation, log - middle)).collect()
}

/// The early turns of a life in a cell against the later ones, both without what the machine did in their rotations to all.
fn against_later(turns: &[Turn], own: &BTreeMap<u32, f64>, others: &[&BTreeMap<u32, f64>]) -> Vec<Early> {
    let machine = |rotation: u32| {
        let seen: Vec<f64> = others.iter().filter_map(|other| other.get(&rotation)).copied().collect();
        if seen.len() < LEAST_OTHERS { 0.0 } else { median(&seen).unwrap_or_default() }
    };
    let rotations = rotations(turns);
    let of = |turn: &Turn| {
        let shift = own.get(&turn.rotation)? - machine(turn.rotation);
        let before = rotations.iter().position(|rotation| *rotation == turn.rotation)?;
        Some(Early { before, age: turn.loaded_ns, shift })
    };
    let known: Vec<Early> = turns.iter().filter_map(of).collect();
    // Records from before the load was counted have no ages.
    let is_told = known.first().zip(known.last()).is_some_and(|(first, last)| first.age < last.age);
    if known.len() < LEAST_TURNS || !is_told {
        return Vec::new();
    }
    let (early, late) = known.split_at(known.len() / 2);
    let later = late.iter().map(|turn| turn.shift).sum::<f64>() / late.len() as f64;
    early.iter().map(|turn| Early { shift: turn.shift - later, ..*turn }).collect()
}

/// The rotations with a turn, and the load, after which turns are not shown to be slower than later ones. What is slow in the first
/// rotations of every cell has nothing to do with age, so these are set aside before age is asked for.
fn first_of(mut turns: Vec<Early>) -> (usize, Nanos) {
    let opening = last_slow(&mut turns, |turn| turn.before).map_or(0, |before| before + 1);
    turns.retain(|turn| turn.before >= opening);
    (opening, last_slow(&mut turns, |turn| turn.age).map_or(Nanos::ZERO, |age| Nanos(age.0 + 1)))
}

/// The last of the stretches that are slow from the beginning on, in the order of `key`.
fn last_slow<K: Ord>(turns: &mut [Early], key: impl Fn(&Early) -> K) -> Option<K> {
    turns.sort_by_key(&key);
    let is_slower = |stretch: &&[Early]| {
        let shifts: Vec<f64> = stretch.iter().map(|turn| turn.shift).collect();
        shown_shift(&shifts) < 0.0
    };
    let slow = turns.chunks_exact(STRETCH).take_while(is_slower);
    slow.last().and_then(<[_]>::last).map(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::window::DecodedRecord;
    use crate::{testing, throughput};
    use assay_model::load::{LoadTurn, Series};
    use assay_model::record::Record;

    const SLICE: Nanos = Nanos::from_millis(10);

    /// A turn of `settle` slices before 15 that are measured; the machine is `speed` fast, and the server slow for 4 slices.
    fn turn(rotation: u32, loaded_ms: u64, settle: u64, per_slice: f64) -> Turn {
        let of = |slice: u64| (if slice < 4 { per_slice * 0.5 } else { per_slice }).round() as u64;
        let ok: Vec<u64> = (0..settle + 15).map(of).collect();
        let counted = ok.iter().skip(settle as usize).sum();
        let load = LoadTurn {
            settle_ns: Nanos(SLICE.0 * settle),
            window_ns: Nanos(SLICE.0 * 15),
            ok: counted,
            slices: Series { interval_ns: SLICE, ok },
            ..LoadTurn::default()
        };
        Turn { rotation, loaded_ns: Nanos::from_millis(loaded_ms), load, ..Turn::default() }
    }

    /// Four rounds of three servers, eight turns each, on a machine whose speed differs by a fifth from rotation to rotation;
    /// what `cold` does to the first is by its turn's number.
    fn record(cold: impl Fn(u32) -> f64) -> Record {
        let mut record = testing::record(&[("a", &[1e4; 4]), ("b", &[1e4; 4]), ("c", &[1e4; 4])]);
        for (round, runs) in record.rounds.iter_mut().map(|round| (round.index, &mut round.runs)) {
            for (place, run) in runs.iter_mut().enumerate() {
                let per_slice = |rotation: u32| {
                    let speed = 1.0 + 0.2 * (f64::from(rotation * 7 + round * 3)).sin();
                    let own = if place == 0 { cold(rotation) } else { 1.0 };
                    let jitter = 1.0 + 0.004 * f64::from((rotation * 5 + round + place as u32) % 5);
                    10_000.0 * speed * own * jitter
                };
                let settle = if round == 0 { 2 } else { 4 };
                run.cells[0].turns = (0..8)
                    .map(|rotation| turn(rotation, u64::from(rotation) * 200, settle, per_slice(rotation)))
                    .collect();
            }
        }
        record.experiment.settle_s = 0.02;
        record
    }

    fn countings(record: &Record) -> Vec<Counting> {
        let evidence = DecodedRecord::of(record).expect("readable");
        evidence.windows().map(|window| window.counting).collect()
    }

    #[test]
    fn turns_of_a_first_round_are_cut_to_the_settle_that_the_run_found() {
        let record = record(|_| 1.0);
        let found = countings(&record);
        assert_eq!(found[0], Counting { settle: Some(Nanos::from_millis(40)), ..Counting::default() });
        let turn = &record.rounds[0].runs[0].cells[0].turns[0];
        let raw = turn.load.window_ns.rate_of(turn.load.ok);
        let cut = found[0].rate(turn).expect("counts");
        assert!((raw / cut - 14.0 / 15.0).abs() < 1e-4, "two slow slices were measured: {raw} {cut}");
        assert_eq!(found[0].length(turn), Nanos::from_millis(130));
        // A later round's, which was ordered to settle as long, stays as it is.
        let later = &record.rounds[2].runs[0].cells[0].turns[0];
        assert_eq!(found[0].rate(later), Counting::default().rate(later));
    }

    #[test]
    fn slow_first_turns_do_not_count_and_the_machine_is_not_taken_for_them() {
        let found = countings(&record(|rotation| if rotation < 2 { 0.8 } else { 1.0 }));
        let first: Vec<(u32, Nanos)> =
            found.iter().take(3).map(|counting| (counting.opening, counting.warm)).collect();
        assert_eq!(first, [(2, Nanos::ZERO), (0, Nanos::ZERO), (0, Nanos::ZERO)]);
        assert_eq!(countings(&record(|_| 1.0))[0].opening, 0);
    }

    /// New connections are slow in the first turns that they have, in whichever rotations these are.
    #[test]
    fn first_turns_of_a_replica_are_those_that_it_had() {
        let mut record = record(|rotation| if rotation < 2 { 0.8 } else { 1.0 });
        let all = record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells);
        all.flat_map(|window| &mut window.turns).for_each(|turn| turn.rotation = turn.rotation * 3 + 1);
        assert_eq!(countings(&record)[0].opening, 2 * 3 + 1);
    }

    fn early(before: usize, age_ms: u64, shift: f64) -> Early {
        let jitter = (before % 3) as f64 * 0.002 + age_ms as f64 * 1e-7;
        Early { before, age: Nanos::from_millis(age_ms), shift: shift + jitter }
    }

    #[test]
    fn turns_that_are_slow_at_every_age_are_told_from_young_ones() {
        // The first rotation is slow in lives of any age; nothing is wrong with the young ones.
        let opening = |life: u64| [early(0, life * 1000, -0.3), early(1, life * 1000 + 200, 0.0)];
        assert_eq!(first_of((0..16).flat_map(opening).collect()), (1, Nanos::ZERO));
        // Every rotation is slow in the first second of a life, of which a third have one.
        let young = |life: u64| {
            let (age, shift) = if life.is_multiple_of(3) { (life, -0.2) } else { (5000 + life, 0.0) };
            [early(0, age, shift), early(1, age + 200, shift)]
        };
        let (opening, warm) = first_of((0..24).flat_map(young).collect());
        assert!(
            opening == 0 && (Nanos::from_millis(200)..Nanos::from_millis(5000)).contains(&warm),
            "{warm:?}"
        );
    }

    #[test]
    fn the_second_half_of_a_lifes_turns_always_counts() {
        let turns: Vec<Turn> = (0..3).map(|rotation| turn(rotation, 1000, 2, 1e4)).collect();
        let cold = Counting { settle: None, opening: 2, warm: Nanos::from_millis(60_000) };
        let rates: Vec<bool> = turns.iter().map(|turn| cold.of(&turns).rate(turn).is_some()).collect();
        assert_eq!(rates, [false, true, true]);
    }

    #[test]
    fn the_rate_of_a_life_is_that_of_its_warm_turns() {
        let record = record(|rotation| if rotation < 4 { 0.5 } else { 1.0 });
        let evidence = DecodedRecord::of(&record).expect("readable");
        let window = evidence.windows().next().expect("measured");
        let (warm, all) = (window.rate().expect("some"), throughput(window.measured).expect("some"));
        assert!(warm > all * 1.1, "{warm} {all}");
    }
}
