//! One trial at one offered load: does it keep the goal, miss it, or is it too early to tell?
//!
//! A goal such as "p99 ≤ 10 ms" is recast as "at most 1 % of requests are late or failed", so that a trial is decided by
//! counts. With 10,000 requests 100 may be late; 80 or fewer pass, 120 or more fail, two standard deviations of a binomial
//! count to either side, and between them more requests are needed. Each further decision on the same trial is another
//! chance to be wrong, so it asks for a little more; all of them together are wrong with a probability of at most 5 % for
//! a load exactly at the goal (Bonferroni), and with far less for any other.
//!
//! **Effective counts.** Late requests come in bunches, for a queue that is long stays long a while, so n requests tell less
//! than n independent ones would: n / D, where the design effect D (Kish, *Survey Sampling*, 1965, §8.2) is the variance of
//! the counts of slices of the trial over the binomial one (McCullagh & Nelder, *Generalized Linear Models*, 2nd ed. 1989,
//! §4.5).

use crate::StatsError;
use crate::error::open_unit;

/// Late requests to expect at the goal in the first requests of a trial: 10,000 requests for a goal of 1 %.
const EXPECTED_LATE: f64 = 100.0;
/// Least effective counts, below which two standard deviations say too little.
const LEAST_EFFECTIVE: f64 = 10.0;
/// Standard deviations from the goal that decide, at the first decision and at each later one: one-sided 2.28 % + 3 × 0.89 %.
const DEVIATIONS: [f64; 4] = [2.0, 2.37, 2.37, 2.37];
/// Blocks of slices from which their variance can still be told.
const FEWEST_BLOCKS: usize = 10;
/// A trial is given up when so many times its first requests have not decided it: twice as many as the four decisions of a
/// steady server take. One that needs more meets bunches that are as long as whole trials, as on a machine that others disturb,
/// and then the next trial tells more than the rest of this one.
const MOST_TIMES_LONGER: u64 = 16;

/// Requests of one slice of a trial, in the order of time. A trial needs ten or more, better forty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Requests that were late, failed or were never answered.
    pub late: u64,
    /// All requests that were due.
    pub due: u64,
}

/// What is known of a trial so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The load keeps the goal.
    Pass,
    /// The load misses the goal.
    Fail,
    /// Not yet known; measure so many more requests at the same load.
    Extend {
        /// Further requests.
        requests: u64,
    },
    /// The load is so close to the goal that more requests will not tell.
    Undecided,
}

/// Decides one trial, in as many steps as it takes.
#[derive(Debug, Clone)]
pub struct Judge {
    late_share: f64,
    first_requests: u64,
    decisions: usize,
}

impl Judge {
    /// For a goal that allows `late_share` of the requests to be late, 0.01 for a 99th percentile, and a trial of at least
    /// so many requests. A trial must see several of the bunches in which requests are late, or their absence tells nothing:
    /// take what is due in hundreds of deadlines, and in several pauses of a garbage collector.
    ///
    /// # Errors
    /// When `late_share` is not strictly between 0 and 1.
    pub fn new(late_share: f64, least_requests: u64) -> Result<Self, StatsError> {
        open_unit("share of late requests", late_share)?;
        let first_requests = ((EXPECTED_LATE / late_share).ceil() as u64).max(least_requests);
        Ok(Self { late_share, first_requests, decisions: 0 })
    }

    /// Decides on all `slices` of the trial up to now.
    pub fn decide(&mut self, slices: &[Slice]) -> Decision {
        let Slice { late, due } = sum(slices);
        let (late, due) = (late as f64, due as f64);
        let first = self.first_requests as f64;
        if due < first {
            return self.extend(due, first - due);
        }
        let Some(deviations) = DEVIATIONS.get(self.decisions) else { return Decision::Undecided };
        let effect = design_effect(slices);
        let (late_effective, expected) = (late / effect, due / effect * self.late_share);
        // Around the goal the goal's own variance decides; when nearly all are late, only the variance that was seen is
        // small, and it suffices.
        let far_beyond = late - deviations * (effect * late * (1.0 - late / due)).sqrt();
        if far_beyond >= due * self.late_share {
            return Decision::Fail;
        }
        if expected < LEAST_EFFECTIVE {
            return self.extend(due, due * (LEAST_EFFECTIVE / expected - 1.0));
        }
        self.decisions += 1;
        let reach = deviations * (expected * (1.0 - self.late_share)).sqrt();
        if late_effective <= expected - reach {
            Decision::Pass
        } else if late_effective >= expected + reach {
            Decision::Fail
        } else if self.decisions == DEVIATIONS.len() {
            Decision::Undecided
        } else {
            self.extend(due, due)
        }
    }

    fn extend(&self, due: f64, requests: f64) -> Decision {
        if due >= (self.first_requests * MOST_TIMES_LONGER) as f64 {
            return Decision::Undecided;
        }
        // Never less than a tenth more, lest a design effect that creeps up is chased in tiny steps.
        Decision::Extend { requests: requests.max(due / 10.0).max(1.0).ceil() as u64 }
    }
}

/// How many times more requests it takes to know as much as from independent ones; at least 1.
///
/// The slices are merged two by two again and again, and the greatest effect counts: blocks that are shorter than the
/// bunches show too little of them (blocking; Flyvbjerg & Petersen, J. Chem. Phys. 91, 1989).
fn design_effect(slices: &[Slice]) -> f64 {
    let mut blocks: Vec<Slice> = slices.iter().copied().filter(|slice| slice.due > 0).collect();
    let mut effect = dispersion(&blocks);
    while blocks.len() / 2 >= FEWEST_BLOCKS {
        blocks = blocks.chunks(2).map(sum).collect();
        effect = effect.max(dispersion(&blocks));
    }
    effect
}

/// The variance of the blocks' late counts over that of binomial counts with the same mean; 1 when there is nothing to tell.
fn dispersion(blocks: &[Slice]) -> f64 {
    let Slice { late, due } = sum(blocks);
    if blocks.len() < 2 || late == 0 || late == due {
        return 1.0;
    }
    let share = late as f64 / due as f64;
    let squared = |block: &Slice| {
        let expected = block.due as f64 * share;
        (block.late as f64 - expected).powi(2) / (expected * (1.0 - share))
    };
    (blocks.iter().map(squared).sum::<f64>() / (blocks.len() - 1) as f64).max(1.0)
}

fn sum(slices: &[Slice]) -> Slice {
    let total = |of: fn(&Slice) -> u64| slices.iter().map(of).sum();
    Slice { late: total(|slice| slice.late), due: total(|slice| slice.due) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(late: u64, due: u64) -> Decision {
        Judge::new(0.01, 0).unwrap().decide(&[Slice { late, due }])
    }

    /// docs/method/redline.md#when-does-a-trial-pass: with 10,000 requests and a goal of 1 %, pass up to 80 late, fail
    /// from 120, else extend.
    #[test]
    fn ten_thousand_requests_are_decided_at_80_and_120() {
        assert_eq!(Judge::new(0.01, 0).unwrap().first_requests, 10_000);
        assert_eq!((decide(80, 10_000), decide(120, 10_000)), (Decision::Pass, Decision::Fail));
        for late in [81, 100, 119] {
            assert_eq!(decide(late, 10_000), Decision::Extend { requests: 10_000 });
        }
    }

    #[test]
    fn a_trial_is_not_decided_before_its_first_requests_are_in() {
        assert_eq!(decide(0, 5_000), Decision::Extend { requests: 5_000 });
        assert_eq!(decide(5_000, 5_000), Decision::Extend { requests: 5_000 });
        assert_eq!((decide(0, 10_000), decide(10_000, 10_000)), (Decision::Pass, Decision::Fail));
    }

    #[test]
    fn an_overload_that_takes_a_moment_to_build_up_is_a_fail() {
        let slice = |late| Slice { late, due: 1_000 };
        let building_up: Vec<Slice> = [0, 700].into_iter().chain([1_000; 8]).map(slice).collect();
        assert_eq!(Judge::new(0.01, 0).unwrap().decide(&building_up), Decision::Fail);
    }

    #[test]
    fn a_trial_exactly_at_the_goal_ends_undecided() {
        let mut judge = Judge::new(0.01, 0).unwrap();
        let mut due = 10_000;
        loop {
            match judge.decide(&[Slice { late: due / 100, due }]) {
                Decision::Extend { requests } => due += requests,
                end => return assert_eq!((end, due), (Decision::Undecided, 80_000)),
            }
        }
    }

    #[test]
    fn bunched_requests_count_for_less() {
        // All 60 late ones in one of ten slices.
        let bunched: Vec<Slice> =
            (0..10).map(|i| Slice { late: if i == 0 { 60 } else { 0 }, due: 1_000 }).collect();
        assert!((design_effect(&bunched) - 60.0).abs() < 0.5, "{}", design_effect(&bunched));
        // The same in bunches that are longer than a slice: eight neighbours of forty.
        let long: Vec<Slice> =
            (0..40).map(|i| Slice { late: if i < 8 { 10 } else { 0 }, due: 250 }).collect();
        assert!(design_effect(&long) > 3.0 * dispersion(&long), "{}", design_effect(&long));
        let even = [Slice { late: 6, due: 1_000 }; 10];
        assert_eq!(design_effect(&even), 1.0);
        let mut judge = Judge::new(0.01, 0).unwrap();
        assert_eq!(judge.decide(&even), Decision::Pass);
        assert!(matches!(Judge::new(0.01, 0).unwrap().decide(&bunched), Decision::Extend { .. }));
    }

    #[test]
    fn other_goals_scale_and_impossible_ones_are_refused() {
        let mut judge = Judge::new(0.001, 0).unwrap();
        assert_eq!(judge.first_requests, 100_000);
        assert_eq!(judge.decide(&[Slice { late: 80, due: 100_000 }]), Decision::Pass);
        assert_eq!(Judge::new(0.01, 25_000).unwrap().first_requests, 25_000);
        assert!(Judge::new(0.0, 0).is_err() && Judge::new(1.0, 0).is_err());
    }
}
