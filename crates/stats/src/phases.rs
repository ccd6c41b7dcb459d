//! Slow phases of the machine, as the turns of other servers show them.
//!
//! A host that others share answers at half its speed for a second or ten, without a trace in steal time, and a probe between turns
//! sees half of these phases (docs/results/design.md#slow-phases). Other servers' turns see most: a phase slows all of them. So a turn
//! is set aside if those of others around it were far below what each of them usually has. Its own value has no say in that: a
//! server that is slow by itself keeps its slow turns, and of equals none is favoured.

use std::collections::BTreeMap;

use crate::robust::middle;

/// How far apart two turns may be, in seconds from middle to middle, to tell of the same moment.
const REACH_S: f64 = 0.55;
/// Most turns that are looked at before and after one.
const MOST_NEAR: usize = 64;
/// Other servers that must have had turns nearby.
const LEAST_WITNESSES: usize = 2;
/// Turns from which it is known what a server usually has.
const LEAST_TURNS: usize = 4;
/// Fewest lives that a series keeps: nothing can be said of one.
const LEAST_LIVES: usize = 2;
/// A machine that is slow by less is not in a phase: ln 0.82, a sixth.
const LEAST_DEPTH: f64 = 0.2;
/// Standard deviations of the machine's ordinary speed below which it is in a phase.
const DEVIATIONS: f64 = 3.0;
/// Quantiles between which the ordinary speed is taken: the upper part, which phases do not reach.
const ORDINARY: [f64; 2] = [0.75, 0.9];
/// Normal deviations between [`ORDINARY`].
const BETWEEN_ORDINARY: f64 = 0.607;

/// One short window of one server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// The server.
    pub contender: usize,
    /// What its rate may be compared with: the turns of one server in one cell have a number.
    pub series: usize,
    /// The life of the server, among those of its series.
    pub life: usize,
    /// Its middle, in seconds after a moment that is common to all.
    pub at_s: f64,
    /// The natural logarithm of its rate.
    pub log_rate: f64,
}

/// Whether the machine was in a slow phase at each of these turns; it was not where too few others had turns nearby.
pub fn in_slow_phases(turns: &[Turn]) -> Vec<bool> {
    slow_at(&speeds_around(turns))
}

/// Whether each of these turns is left out: those in slow phases, but the two least slow lives of a series are kept whole where no
/// others would be left.
pub fn left_out(turns: &[Turn]) -> Vec<bool> {
    let speeds = speeds_around(turns);
    let mut slow = slow_at(&speeds);
    spare_lives(turns, &speeds, &mut slow);
    slow
}

fn slow_at(speeds: &[Option<f64>]) -> Vec<bool> {
    let mut known: Vec<f64> = speeds.iter().flatten().copied().collect();
    known.sort_unstable_by(f64::total_cmp);
    let is_slow = |speed: f64| limit(&known).is_some_and(|limit| speed < limit);
    speeds.iter().map(|speed| speed.is_some_and(is_slow)).collect()
}

/// The logarithm of the machine's speed around each turn, as the middle of what others' turns near it were of their usual rate.
fn speeds_around(turns: &[Turn]) -> Vec<Option<f64>> {
    let usual = usual_rates(turns);
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by(|a, b| turns[*a].at_s.total_cmp(&turns[*b].at_s));
    let mut speeds = vec![None; turns.len()];
    let (mut first, mut end) = (0, 0);
    for (place, &own) in order.iter().enumerate() {
        let Turn { at_s, contender, .. } = turns[own];
        while turns[order[first]].at_s < at_s - REACH_S {
            first += 1;
        }
        while order.get(end).is_some_and(|next| turns[*next].at_s <= at_s + REACH_S) {
            end += 1;
        }
        let near = order[first.max(place.saturating_sub(MOST_NEAR))..end.min(place + MOST_NEAR)]
            .iter()
            .map(|near| &turns[*near]);
        let mut shown: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for other in near.filter(|near| near.contender != contender) {
            let off = usual[other.series].map(|usual| other.log_rate - usual);
            shown.entry(other.contender).or_default().extend(off);
        }
        // One number of each, so that one that is slow by itself does not speak for the machine.
        let mut shown: Vec<f64> = shown.into_values().filter_map(|mut shown| middle(&mut shown)).collect();
        speeds[own] = (shown.len() >= LEAST_WITNESSES).then(|| middle(&mut shown)).flatten();
    }
    speeds
}

/// The upper quartile of each series, which phases that take up to three quarters of the time do not reach; `None` where turns are few.
fn usual_rates(turns: &[Turn]) -> Vec<Option<f64>> {
    let mut rates: Vec<Vec<f64>> =
        vec![Vec::new(); turns.iter().map(|turn| turn.series + 1).max().unwrap_or(0)];
    turns.iter().for_each(|turn| rates[turn.series].push(turn.log_rate));
    let usual = |rates: &mut Vec<f64>| {
        rates.sort_unstable_by(f64::total_cmp);
        (rates.len() >= LEAST_TURNS).then(|| quantile(rates, 0.75)).flatten()
    };
    rates.iter_mut().map(usual).collect()
}

/// The speed below which the machine is in a phase, by the upper part of its sorted speeds; `None` without any.
fn limit(speeds: &[f64]) -> Option<f64> {
    let [typical, high] = ORDINARY.map(|q| quantile(speeds, q));
    let (typical, high) = (typical?, high?);
    Some(typical - LEAST_DEPTH.max(DEVIATIONS * (high - typical) / BETWEEN_ORDINARY))
}

/// Keeps whole lives of series that would be left with fewer than two, the least slow first.
fn spare_lives(turns: &[Turn], speeds: &[Option<f64>], slow: &mut [bool]) {
    let mut series: BTreeMap<usize, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    for (place, turn) in turns.iter().enumerate() {
        series.entry(turn.series).or_default().entry(turn.life).or_default().push(place);
    }
    for lives in series.into_values() {
        let (mut lost, kept): (Vec<_>, Vec<_>) =
            lives.into_values().partition(|life| life.iter().all(|&turn| slow[turn]));
        let speed =
            |life: &[usize]| life.iter().filter_map(|&turn| speeds[turn]).sum::<f64>() / life.len() as f64;
        lost.sort_by(|a, b| speed(b).total_cmp(&speed(a)));
        let spared = lost.iter().take(LEAST_LIVES.saturating_sub(kept.len())).flatten();
        spared.for_each(|&turn| slow[turn] = false);
    }
}

/// A quantile of sorted values, by the nearest one; `None` without any.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    // `as` saturates, and the value is a whole number in range.
    sorted.get((q * sorted.len().saturating_sub(1) as f64).round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::simulation::normal;

    /// Four servers in turns of a fifth of a second, five lives of four turns each; `at` adds to a turn's logarithm what depends on
    /// its time and its server.
    fn turns(at: impl Fn(f64, usize) -> f64) -> Vec<Turn> {
        noisy(0.03, at, &mut ChaCha8Rng::seed_from_u64(7))
    }

    fn noisy(sd: f64, at: impl Fn(f64, usize) -> f64, rng: &mut ChaCha8Rng) -> Vec<Turn> {
        let turn = |number: usize| {
            let (contender, at_s) = (number % 4, number as f64 * 0.2);
            let log_rate = contender as f64 + sd * normal(rng) + at(at_s, contender);
            Turn { contender, series: contender, life: number / 16, at_s, log_rate }
        };
        (0..80).map(turn).collect()
    }

    fn found(turns: &[Turn]) -> Vec<usize> {
        in_slow_phases(turns).iter().enumerate().filter(|(_, slow)| **slow).map(|(place, _)| place).collect()
    }

    #[test]
    fn a_machine_without_phases_loses_nothing() {
        assert_eq!(found(&turns(|_, _| 0.0)), Vec::<usize>::new());
        assert_eq!(in_slow_phases(&[]), Vec::<bool>::new());
    }

    #[test]
    fn a_phase_is_found_from_its_beginning_to_its_end() {
        let phase = |at_s: f64, _| if (4.1..7.1).contains(&at_s) { -0.5 } else { 0.0 };
        let found = found(&turns(phase));
        assert!(found.iter().all(|place| (20..37).contains(place)), "{found:?}");
        assert!((22..34).all(|place| found.contains(&place)), "{found:?}");
    }

    #[test]
    fn a_server_that_is_slow_by_itself_keeps_its_turns() {
        let own =
            |at_s: f64, contender| if contender == 2 && (4.1..7.1).contains(&at_s) { -0.9 } else { 0.0 };
        assert_eq!(found(&turns(own)), Vec::<usize>::new());
    }

    #[test]
    fn who_has_no_neighbours_in_time_is_left_alone() {
        let mut lone = turns(|at_s, _| if at_s < 8.0 { -0.5 } else { 0.0 });
        lone.iter_mut().for_each(|turn| turn.at_s *= 10.0);
        assert_eq!(found(&lone), Vec::<usize>::new());
    }

    #[test]
    fn two_lives_of_each_are_kept_however_slow_the_machine_was() {
        let mut turns = turns(|at_s, _| if at_s > 4.8 { -0.5 - at_s / 100.0 } else { 0.0 });
        (0..).zip(&mut turns).for_each(|(number, turn)| turn.life = number / 24);
        let slow = left_out(&turns);
        for series in 0..4 {
            let kept = turns.iter().zip(&slow).filter(|(turn, slow)| turn.series == series && !**slow);
            let lives: std::collections::BTreeSet<usize> = kept.map(|(turn, _)| turn.life).collect();
            assert_eq!(lives, [0, 1].into(), "series {series}");
        }
    }

    /// What is kept of equals differs by no more than by chance.
    #[test]
    fn of_equals_none_is_favoured() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut differences: [Vec<f64>; 3] = Default::default();
        for _ in 0..400 {
            let begin = 16.0 * rng.random::<f64>();
            let phase = |at_s| if (begin..begin + 3.0).contains(&at_s) { -0.5 } else { 0.0 };
            let turns = noisy(0.1, |at_s, contender| phase(at_s) - contender as f64, &mut rng);
            let slow = left_out(&turns);
            let kept = |contender| {
                let kept =
                    turns.iter().zip(&slow).filter(|(turn, slow)| turn.contender == contender && !**slow);
                let rates: Vec<f64> = kept.map(|(turn, _)| turn.log_rate).collect();
                rates.iter().sum::<f64>() / rates.len() as f64
            };
            (1..4).zip(&mut differences).for_each(|(other, of)| of.push(kept(other) - kept(0)));
        }
        for of in differences {
            let mean = of.iter().sum::<f64>() / of.len() as f64;
            let variance = of.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (of.len() - 1) as f64;
            assert!(mean.abs() < 3.5 * (variance / of.len() as f64).sqrt(), "{mean} ± {}", variance.sqrt());
        }
    }
}
