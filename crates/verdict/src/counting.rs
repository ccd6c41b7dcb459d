//! Which part of a contender's turns counts. One rule for all of them, from what all of them show: in each turn what came after
//! its rate no longer depended on when the load began (`settle`), and of a life the turns in which it no longer got faster
//! (`warm`). The run orders what it knows at the time; this is known only when it is over (docs/method/carousel.md#warm-up).

use std::collections::BTreeMap;

use assay_model::experiment::Cell;
use assay_model::network::Network;
use assay_model::record::Turn;
use assay_model::units::Nanos;
use assay_stats::robust::median;

use super::turns::{settle_of, shown_shift};
use super::window::{Life, Window};

/// Differences from which it is told whether turns of some age were slower than later ones.
const STRETCH: usize = 8;
/// Turns of a life in a cell of which some can be set against others.
const LEAST_TURNS: usize = 3;
/// Others in the same rotation who show how fast the machine was in it.
const LEAST_OTHERS: usize = 2;

/// From where on a contender's turns count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    /// Load in a turn that does not count, instead of what was ordered; absent where the slices do not tell.
    settle: Option<Nanos>,
    /// Load that a life must have behind it.
    warm: Nanos,
}

/// A turn of a cold or warm server: how much load it had behind it, and by how much its log rate differs from later turns'.
type Difference = (Nanos, f64);

impl Counting {
    /// Right answers per second in a turn; none before it counts, and when nothing came.
    pub(crate) fn rate(&self, turn: &Turn) -> Option<f64> {
        (turn.loaded_ns >= self.warm).then(|| rate_after(turn, self.settle)).flatten()
    }

    /// The part of a turn that is measured, if it counts.
    pub(crate) fn length(&self, turn: &Turn) -> Nanos {
        match turn.loaded_ns >= self.warm {
            true => part_after(turn, self.settle).1,
            false => Nanos::ZERO,
        }
    }
}

/// Tells each window of a record what counts of its turns; `least` is the load before each turn that was asked for.
pub(crate) fn count(rounds: &mut [Vec<Life<'_>>], least: Nanos) {
    let settles = settles(rounds, least);
    let settle = |life: &Life<'_>, window: &Window<'_>| {
        settles.get(&(life.run.contender.as_str(), &window.measured.cell)).copied()
    };
    let mut found: BTreeMap<(&str, Option<Network>, &str), Vec<Difference>> = BTreeMap::new();
    for round in rounds.iter() {
        for (life, window, differences) in differences(round, &settle) {
            let key = (life.run.contender.as_str(), life.run.network, window.measured.cell.workload.as_str());
            found.entry(key).or_default().extend(differences);
        }
    }
    let warm: BTreeMap<_, Nanos> =
        found.into_iter().map(|(key, mut found)| (key, warm_from(&mut found))).collect();
    for life in rounds.iter_mut().flatten() {
        let run = life.run;
        for window in life.windows.iter_mut().filter(|window| !window.measured.turns.is_empty()) {
            let cell = &window.measured.cell;
            let key = (run.contender.as_str(), run.network, cell.workload.as_str());
            window.counting = Counting {
                settle: settles.get(&(run.contender.as_str(), cell)).copied(),
                warm: warm.get(&key).copied().unwrap_or_default(),
            };
        }
    }
}

/// How long each contender needs in each cell, by all its turns.
fn settles<'r>(rounds: &[Vec<Life<'r>>], least: Nanos) -> BTreeMap<(&'r str, &'r Cell), Nanos> {
    let mut turns: BTreeMap<(&str, &Cell), Vec<&Turn>> = BTreeMap::new();
    for life in rounds.iter().flatten() {
        for window in life.windows.iter().filter(|window| !window.measured.turns.is_empty()) {
            let key = (life.run.contender.as_str(), &window.measured.cell);
            turns.entry(key).or_default().extend(&window.measured.turns);
        }
    }
    turns.into_iter().map(|(key, turns)| (key, settle_of(&turns, least))).collect()
}

/// Of each life in each cell of a round, the turns of the first half against those of the second.
fn differences<'l, 'r>(
    round: &'l [Life<'r>],
    settle: &impl Fn(&Life<'r>, &Window<'r>) -> Option<Nanos>,
) -> Vec<(&'l Life<'r>, &'l Window<'r>, Vec<Difference>)> {
    let turned = |life: &'l Life<'r>| {
        let windows = life.windows.iter().filter(|window| !window.measured.turns.is_empty());
        windows.map(move |window| (life, window))
    };
    let riders: Vec<(&Life<'_>, &Window<'_>)> = round.iter().flat_map(turned).collect();
    let deviations: Vec<BTreeMap<u32, f64>> = riders
        .iter()
        .map(|(life, window)| deviations(&window.measured.turns, settle(life, window)))
        .collect();
    let compared = riders.iter().enumerate().map(|(index, &(life, window))| {
        let beside =
            |other: &usize| *other != index && riders[*other].1.measured.cell == window.measured.cell;
        let others: Vec<&BTreeMap<u32, f64>> =
            (0..riders.len()).filter(beside).map(|other| &deviations[other]).collect();
        (life, window, against_later(&window.measured.turns, &deviations[index], &others))
    });
    compared.collect()
}

/// The log rate of each rotation's turn, less that of the middle one.
fn deviations(turns: &[Turn], settle: Option<Nanos>) -> BTreeMap<u32, f64> {
    let known = turns.iter().filter_map(|turn| Some((turn.rotation, rate_after(turn, settle)?.ln())));
    let known: Vec<(u32, f64)> = known.collect();
    let logs: Vec<f64> = known.iter().map(|(_, log)| *log).collect();
    let middle = median(&logs).unwrap_or_default();
    known.into_iter().map(|(rotation, log)| (rotation, log - middle)).collect()
}

/// The early turns of a life in a cell against the later ones, both without what the machine did in their rotations to all.
fn against_later(
    turns: &[Turn],
    own: &BTreeMap<u32, f64>,
    others: &[&BTreeMap<u32, f64>],
) -> Vec<Difference> {
    let machine = |rotation: u32| {
        let seen: Vec<f64> = others.iter().filter_map(|other| other.get(&rotation)).copied().collect();
        if seen.len() < LEAST_OTHERS { 0.0 } else { median(&seen).unwrap_or_default() }
    };
    let known = turns
        .iter()
        .filter_map(|turn| Some((turn.loaded_ns, own.get(&turn.rotation)? - machine(turn.rotation))));
    let known: Vec<Difference> = known.collect();
    // Records from before the load was counted have no ages.
    let is_told = known.first().zip(known.last()).is_some_and(|(first, last)| first.0 < last.0);
    if known.len() < LEAST_TURNS || !is_told {
        return Vec::new();
    }
    let (early, late) = known.split_at(known.len() / 2);
    let later = late.iter().map(|(_, log)| log).sum::<f64>() / late.len() as f64;
    early.iter().map(|(age, log)| (*age, log - later)).collect()
}

/// The load after which turns are not shown to be slower than later ones.
fn warm_from(differences: &mut [Difference]) -> Nanos {
    differences.sort_by_key(|(age, _)| *age);
    let cold = differences.chunks_exact(STRETCH).take_while(|stretch| is_slower(stretch));
    cold.last().and_then(<[_]>::last).map_or(Nanos::ZERO, |(age, _)| Nanos(age.0 + 1))
}

fn is_slower(stretch: &[Difference]) -> bool {
    let logs: Vec<f64> = stretch.iter().map(|(_, log)| *log).collect();
    shown_shift(&logs) < 0.0
}

fn rate_after(turn: &Turn, settle: Option<Nanos>) -> Option<f64> {
    let (ok, length) = part_after(turn, settle);
    Some(length.rate_of(ok)).filter(|rate| *rate > 0.0)
}

/// Right answers after so much load, and how long that part is; what was ordered where the slices do not tell.
fn part_after(turn: &Turn, settle: Option<Nanos>) -> (u64, Nanos) {
    let (load, slices) = (&turn.load, &turn.load.slices);
    let whole = (load.ok, load.window_ns);
    let Some(settle) = settle.filter(|_| slices.interval_ns > Nanos::ZERO) else { return whole };
    let first = usize::try_from(settle.0 / slices.interval_ns.0).unwrap_or(usize::MAX);
    let length = (load.settle_ns + load.window_ns) - settle;
    match slices.ok.get(first..) {
        Some(counted) if length > Nanos::ZERO => (counted.iter().sum(), length),
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Evidence;
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
        let evidence = Evidence::of(record).expect("readable");
        evidence.windows().map(|window| window.counting).collect()
    }

    #[test]
    fn turns_of_a_first_round_are_cut_to_the_settle_that_the_run_found() {
        let record = record(|_| 1.0);
        let found = countings(&record);
        assert_eq!(found[0], Counting { settle: Some(Nanos::from_millis(40)), warm: Nanos::ZERO });
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
    fn cold_turns_do_not_count_and_the_machine_is_not_taken_for_warmth() {
        let found = countings(&record(|rotation| if rotation < 2 { 0.8 } else { 1.0 }));
        let warm: Vec<Nanos> = found.iter().take(3).map(|counting| counting.warm).collect();
        assert_eq!(warm, [Nanos(200_000_001), Nanos::ZERO, Nanos::ZERO]);
        assert_eq!(countings(&record(|_| 1.0))[0].warm, Nanos::ZERO);
    }

    #[test]
    fn the_rate_of_a_life_is_that_of_its_warm_turns() {
        let record = record(|rotation| if rotation < 4 { 0.5 } else { 1.0 });
        let evidence = Evidence::of(&record).expect("readable");
        let window = evidence.windows().next().expect("measured");
        let (warm, all) = (window.rate().expect("some"), throughput(window.measured).expect("some"));
        assert!(warm > all * 1.1, "{warm} {all}");
    }
}
