//! Load just before the turns in a cell, over the connections that they use (docs/method/carousel.md#the-lead-in).

use std::iter::{once, repeat};
use std::time::Duration;

use assay_model::experiment::Cell;
use assay_model::record::{LeadIn, Run, Warmup};
use assay_model::units::Nanos;

use super::had_counting_slice;
use super::length::{is_warmed_by_load, slices_of_new_connections};
use super::rule::{
    SMOOTHED_SLICES, WARMUP_SLICE_S, first_at_the_end, is_far_below, rate_at_the_end, slices_needed,
};
use crate::generator::Generator;
use crate::log;
use crate::rounds::life::halt::Halt;
use crate::rounds::life::server_run::OngoingRun;
use crate::rounds::telling::Telling;

/// Most slices of a lead-in, so also of one that shows how long a contender takes to be what it was before it rested: two seconds.
const MOST_SLICES: usize = 8;
/// Looks from which a recovery is learnt: the middle one of three is moved by no outlier.
const LOOKS: usize = 3;
/// Fewest slices for a contender that gets warm by load: a second. Three looks at slices that vary often show too little
/// (docs/results/design.md#looks-that-show-too-little).
const LEAST_RECOVERY: usize = 4;

/// Slices of load for a contender that has rested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// The contender needs so many.
    Known(usize),
    /// A look at so many will show what it needs.
    Look(usize),
}

impl OngoingRun<'_> {
    /// Load before the turns in a cell: on a workload that is new to this life its [warm-up](Self::warmup_length); after a rest as
    /// much as the contender is seen to need, because a server with a just-in-time compiler gives up the code of what it was not
    /// asked for while others had their turns.
    pub(crate) fn lead_in(
        &mut self,
        generator: &mut Generator,
        cell: &Cell,
        telling: &Telling<'_>,
    ) -> Result<(), Halt> {
        if !self.run.warmups.iter().any(|warmup| warmup.workload == cell.workload) {
            return self.warm_up_in_place(generator, cell, telling);
        }
        let (recovery, best) = (self.recovery(), self.best_lead_in(cell));
        let per_second = self.slices(generator, |done| is_enough(done, recovery, best))?;
        if !per_second.is_empty() {
            self.run.lead_ins.push(LeadIn { cell: cell.clone(), per_second });
            if let (None, Some(found)) = (recovery.known(), self.recovery().known()) {
                log::recovers(&self.run.contender, found as f64 * WARMUP_SLICE_S);
            }
        }
        Ok(())
    }

    /// A warm-up over the connections of the turns that follow it.
    fn warm_up_in_place(
        &mut self,
        generator: &mut Generator,
        cell: &Cell,
        telling: &Telling<'_>,
    ) -> Result<(), Halt> {
        let after_a_rest = self.recovery().known().unwrap_or(0);
        let length = self.warmup_length(cell).at_least(after_a_rest).until_near(self.best_lead_in(cell));
        let per_second = self.slices(generator, |done| length.is_reached(done))?;
        let counted = if self.server_run.is_counted(&cell.workload) {
            None
        } else {
            Some(self.server_run.count(&mut self.server, generator)?)
        };
        let settled = length.has_settled(&per_second);
        let warmup = Warmup { workload: cell.workload.clone(), per_second, settled, counted };
        if had_counting_slice(&warmup) {
            self.loaded += Nanos::from_secs_f64(self.server_run.counting_s());
        }
        self.file_warmup(warmup, telling);
        Ok(())
    }

    /// Slices of load until they are enough, and their rates.
    fn slices(
        &mut self,
        generator: &mut Generator,
        is_enough: impl Fn(&[f64]) -> bool,
    ) -> Result<Vec<f64>, Halt> {
        let per_second = self.server_run.warm_up_by(&mut self.server, generator, is_enough)?;
        self.loaded += Nanos::from_secs_f64(per_second.len() as f64 * WARMUP_SLICE_S);
        Ok(per_second)
    }

    /// Slices of load that the contender gets after a rest, as this life and earlier ones show.
    fn recovery(&self) -> Recovery {
        recovery_of(&self.lives())
    }

    /// The best rate that the contender is known to have had over the connections of these turns.
    fn best_lead_in(&self, cell: &Cell) -> f64 {
        best_lead_in_of(&self.lives(), cell)
    }

    /// The contender's lives, this one last.
    fn lives(&self) -> Vec<&Run> {
        self.server_run.earlier_runs().chain([&self.run]).collect()
    }
}

impl Recovery {
    fn known(self) -> Option<usize> {
        match self {
            Self::Known(slices) => Some(slices),
            Self::Look(_) => None,
        }
    }

    fn slices(self) -> usize {
        let (Self::Known(slices) | Self::Look(slices)) = self;
        slices
    }
}

/// Whether slices with these rates are enough for a contender that has rested: so many, and more where it is still far below what it was
/// in this cell, because it was asked for something else meanwhile and its compiler has given up code that both need.
fn is_enough(per_second: &[f64], recovery: Recovery, best: f64) -> bool {
    let done = per_second.len();
    done >= recovery.slices() && (done >= MOST_SLICES || !is_far_below(best, per_second))
}

/// The best rate at which a lead-in of these lives in the cell ended; 0 where the contender does not get warm by load.
fn best_lead_in_of(lives: &[&Run], cell: &Cell) -> f64 {
    if !lives.iter().any(|run| is_warmed_by_load(run)) {
        return 0.0;
    }
    let lead_ins = lives.iter().flat_map(|run| &run.lead_ins).filter(|lead_in| lead_in.cell == *cell);
    lead_ins.map(|lead_in| rate_at_the_end(&lead_in.per_second)).fold(0.0, f64::max)
}

/// What warming up and looking at a first life took beyond what later lives get, which are watched as long on their first workload.
pub(crate) fn spared(run: &Run) -> Duration {
    let needed = recovery_of(&[run]).slices();
    let on_first = if is_warmed_by_load(run) { usize::MAX } else { needed };
    let least = once(on_first).chain(repeat(needed));
    let warmups: Duration = run.warmups.iter().zip(least).map(|(of, least)| super::spared(of, least)).sum();
    let given = run.lead_ins.iter().map(|lead_in| lead_in.per_second.len());
    let slices: usize = given.map(|slices| slices.saturating_sub(needed)).sum();
    warmups + Duration::from_secs_f64(slices as f64 * WARMUP_SLICE_S)
}

/// What the contender of these lives needs after a rest. A server that rested is not colder than one that has just been started, so a
/// look is no longer than the longest warm-up of its first life, and what follows it to compare with.
fn recovery_of(lives: &[&Run]) -> Recovery {
    let Some(first_life) = lives.iter().find(|run| !run.warmups.is_empty()) else {
        return Recovery::Known(0);
    };
    if !is_warmed_by_load(first_life) {
        return Recovery::Known(slices_of_new_connections(first_life));
    }
    let when_cold = first_life.warmups.iter().map(slices_needed).max().unwrap_or(0);
    let length = (when_cold + SMOOTHED_SLICES).min(MOST_SLICES);
    let lead_ins = lives.iter().flat_map(|run| &run.lead_ins);
    let looks = lead_ins.filter_map(|lead_in| lead_in.per_second.get(..length));
    let looks: Vec<&[f64]> = looks.take(LOOKS).collect();
    if looks.len() < LOOKS {
        return Recovery::Look(length);
    }
    Recovery::Known(slices_until_recovered(&looks).max(LEAST_RECOVERY))
}

/// Slices after which the rate was what it was in the end, of looks of one length. Each is taken as a share of its own end, because
/// workloads differ in their rates; the looks' median is judged as a warm-up is. All slices where it still rose in the end.
fn slices_until_recovered(looks: &[&[f64]]) -> usize {
    let length = looks.iter().map(|look| look.len()).min().unwrap_or(0);
    let share = |look: &[f64], slice: usize| {
        let end = look[length - SMOOTHED_SLICES..].iter().sum::<f64>() / SMOOTHED_SLICES as f64;
        if end > 0.0 { look[slice] / end } else { 1.0 }
    };
    let middle = |slice| {
        let mut shares: Vec<f64> = looks.iter().map(|look| share(look, slice)).collect();
        shares.sort_by(f64::total_cmp);
        shares[shares.len() / 2]
    };
    let typical: Vec<f64> = (0..length).map(middle).collect();
    match first_at_the_end(&typical) {
        slice if slice + SMOOTHED_SLICES < length => slice,
        _ => length,
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    /// Moments of a slice of which the rate is the mean.
    const STEPS: u32 = 50;

    /// The rates of a look's slices at a server whose rate is `rate(t)` of its best after `t` seconds of load, with so much noise.
    fn look(rate: impl Fn(f64) -> f64, best: f64, noise: f64, chance: &mut ChaCha8Rng) -> Vec<f64> {
        let at = |slice: usize, step: u32| {
            rate((slice as f64 + f64::from(step) / f64::from(STEPS)) * WARMUP_SLICE_S)
        };
        let mean = |slice| (0..STEPS).map(|step| at(slice, step)).sum::<f64>() / f64::from(STEPS);
        (0..MOST_SLICES)
            .map(|slice| best * mean(slice) * (1.0 + noise * chance.random_range(-1.0..1.0)))
            .collect()
    }

    /// The slices that are learnt from three looks at workloads of different rates.
    fn learnt(rate: impl Fn(f64) -> f64, noise: f64, seed: u64) -> usize {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let looks = [90e3, 20e3, 3e3].map(|best| look(&rate, best, noise, &mut chance));
        slices_until_recovered(&[&looks[0], &looks[1], &looks[2]])
    }

    #[test]
    fn a_recovery_of_one_and_a_fifth_second_is_found_whatever_its_shape() {
        let step = |t: f64| if t < 1.2 { 0.5 } else { 1.0 };
        let ramp = |t: f64| 0.4 + 0.6 * (t / 1.2).min(1.0);
        assert_eq!((learnt(step, 0.0, 0), learnt(ramp, 0.0, 0)), (5, 4));
        for seed in 0..200 {
            // Half a second, as long as everybody had it once, is never taken for enough.
            let found = [learnt(step, 0.05, seed), learnt(ramp, 0.05, seed)];
            assert!(found.iter().all(|slices| (3..=MOST_SLICES).contains(slices)), "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn who_recovers_at_once_needs_nothing_and_who_never_does_gets_the_longest() {
        assert_eq!(learnt(|_| 1.0, 0.0, 0), 0);
        assert_eq!(learnt(|t| 1.0 + t, 0.0, 0), MOST_SLICES);
        assert_eq!(learnt(|_| 0.0, 0.0, 0), 0, "nothing was answered");
        let needless = (0..200).filter(|seed| learnt(|_| 1.0, 0.05, *seed) > 2).count();
        assert!(needless < 20, "{needless} of 200 have more than half a second");
    }

    /// A life that was warm after `cold` slices, and was looked at so often.
    fn life(cold: usize, lead_ins: usize) -> Run {
        let (workload, counted) = ("hello".to_owned(), None);
        let slow_until = |slices: usize, all: usize| -> Vec<f64> {
            let slow = if cold > 1 { 40.0 } else { 60.0 };
            (0..all).map(|slice| if slice < slices { slow } else { 100.0 }).collect()
        };
        let warmup = Warmup { workload, per_second: slow_until(cold, cold + 6), settled: true, counted };
        let looked = slow_until(2, (cold + SMOOTHED_SLICES).min(MOST_SLICES));
        let lead_in = LeadIn { cell: Cell::closed("hello".to_owned(), 64), per_second: looked };
        Run { warmups: vec![warmup], lead_ins: vec![lead_in; lead_ins], ..Run::default() }
    }

    #[test]
    fn it_is_learnt_from_three_looks_over_all_lives_and_only_of_who_had_to_be_warmed_up() {
        assert_eq!(
            recovery_of(&[&life(0, 0)]),
            Recovery::Known(1),
            "it was warm at once, but connections are new"
        );
        assert_eq!(recovery_of(&[&life(1, 0)]), Recovery::Known(1), "nothing shorter is to be found");
        assert_eq!(recovery_of(&[&Run::default()]), Recovery::Known(0), "it was not loaded");
        assert_eq!(recovery_of(&[&life(4, 2)]), Recovery::Look(6));
        assert_eq!(recovery_of(&[&life(4, 2), &life(4, 1)]), Recovery::Known(LEAST_RECOVERY));
        assert_eq!(recovery_of(&[&life(20, 2)]), Recovery::Look(MOST_SLICES), "two seconds are enough");
        assert_eq!(spared(&life(4, 3)), Duration::from_secs_f64(3.0 * 2.0 * WARMUP_SLICE_S));
        assert_eq!(spared(&life(4, 2)), Duration::ZERO, "later lives may look as well");
    }

    #[test]
    fn a_lead_in_goes_on_while_the_contender_is_far_below_what_it_was_in_this_cell() {
        let (hello, json) = (Cell::closed("hello", 64), Cell::closed("json", 64));
        let led_in = |run: Run, cell: &Cell, per_second: Vec<f64>| {
            let lead_ins = [run.lead_ins, vec![LeadIn { cell: cell.clone(), per_second }]].concat();
            Run { lead_ins, ..run }
        };
        let first = led_in(led_in(life(4, 0), &hello, vec![60.0, 90.0, 110.0]), &json, vec![800.0, 800.0]);
        let best = best_lead_in_of(&[&first, &life(4, 0)], &hello);
        assert_eq!(best, 100.0, "in this cell, and by its end");
        assert_eq!(
            best_lead_in_of(&[&first], &Cell::closed("hello", 1)),
            0.0,
            "one connection is another load"
        );
        let compiled = led_in(life(1, 0), &hello, vec![90.0]);
        assert_eq!(best_lead_in_of(&[&compiled], &hello), 0.0, "nothing is given up that was never compiled");

        let given = |rates: &dyn Fn(usize) -> f64| {
            let slices: Vec<f64> = (0..20).map(rates).collect();
            (0..20).find(|done| is_enough(&slices[..*done], Recovery::Known(1), best))
        };
        assert_eq!(given(&|_| 60.0), Some(1), "a slow machine is no cold server");
        assert_eq!(
            given(&|slice| if slice < 4 { 12.0 } else { 95.0 }),
            Some(5),
            "the mean of the last two is near"
        );
        assert_eq!(given(&|_| 12.0), Some(MOST_SLICES));
    }
}
