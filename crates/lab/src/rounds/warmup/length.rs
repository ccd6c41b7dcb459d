//! How long the warm-up of a life on a workload is (docs/method/carousel.md#warm-up).

use assay_model::record::{Run, Warmup};

use super::rule::{
    LEAST_SLICES, WARMUP_SLICE_S, has_settled, is_even, is_far_below, rate_at_the_end, slices_needed,
};

/// A contender whose first life was warm after so many slices does not get warm by load: that many are the start of its connections,
/// if they were not [far slower](SLOW_WHEN_COLD).
const SLICES_OF_NO_WARMUP: usize = 1;
/// Slices on the first workload of a later life with a database: a process opens its connections to that then, 256 of them in a third of a
/// second (docs/results/design.md#pools-that-fill-in-the-first-turn).
const SLICES_OF_A_NEW_POOL: usize = 2;
/// A first slice below this share of the rate in the end is that of a runtime that is cold, even if the next is not: new connections
/// and memory take a tenth of a slice, an interpreter three quarters.
const SLOW_WHEN_COLD: f64 = 0.5;

/// When a warm-up is over, in slices of load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WarmupLength {
    /// Slices before which the warm-up does not end.
    least: usize,
    /// Slices after which it ends although the server still gets faster.
    most: usize,
    /// Whether the server is warm in the end, where an earlier life tells. Else it is watched, and the warm-up goes on as long as it
    /// gets faster.
    told: Option<bool>,
    /// The rate to which the server must come near before it ends.
    best: f64,
    /// Whether even slices from the first one on are enough, because the runtime is not one that gets warm by load.
    is_compiled: bool,
    /// Requests in flight.
    in_flight: u32,
}

impl WarmupLength {
    /// The warm-up of a life on a workload on which an earlier life had the warm-up `earlier`, if there was one.
    ///
    /// A first life is watched until it no longer gets faster. Later ones get as much load as the first one needed. While a later
    /// life is cold it is watched as well: how long a just-in-time compiler takes depends on how fast the machine is by then.
    pub(crate) fn of(life: &Life<'_>, earlier: Option<&Warmup>) -> Self {
        let most = life.slices_left();
        let (is_compiled, in_flight) = (life.is_compiled(), life.in_flight);
        let Some(earlier) = earlier else {
            return Self { least: 0, most, told: None, best: 0.0, is_compiled, in_flight };
        };
        let least = slices_needed(earlier).max(life.slices_when_new());
        let told = (!life.is_cold()).then_some(earlier.settled);
        Self { least, most: most.max(least), told, best: 0.0, is_compiled, in_flight }
    }

    /// This length, but no shorter than so many slices.
    pub(super) fn at_least(self, slices: usize) -> Self {
        let least = self.least.max(slices);
        Self { least, most: self.most.max(least), ..self }
    }

    /// This length, but the warm-up also goes on while the server is far below this rate, which an earlier life had under the same load.
    pub(super) fn until_near(self, best: f64) -> Self {
        Self { best, ..self }
    }

    /// Whether the slices with these rates are enough.
    pub(super) fn is_reached(self, per_second: &[f64]) -> bool {
        let done = per_second.len();
        let is_near = || !is_far_below(self.best, per_second);
        let is_warm = || is_near() && (self.told.is_some() || self.is_seen_warm(per_second));
        done >= self.least && (done >= self.most || is_warm())
    }

    /// Whether a server that had these slices is warm.
    pub(super) fn has_settled(self, per_second: &[f64]) -> bool {
        !is_far_below(self.best, per_second) && self.told.unwrap_or_else(|| self.is_seen_warm(per_second))
    }

    fn is_seen_warm(self, per_second: &[f64]) -> bool {
        has_settled(per_second) || (self.is_compiled && is_even(per_second, self.in_flight))
    }
}

/// What is known of a life that is about to be warmed up on one more workload.
pub(super) struct Life<'a> {
    /// The life so far.
    pub(crate) run: &'a Run,
    /// The first life of the same contender; absent where this one is.
    pub(crate) first: Option<&'a Run>,
    /// Whether the workload is the first of this life for which a database is asked.
    pub(super) is_first_on_database: bool,
    /// Workloads that it will be asked for, those it knows included.
    pub(crate) workloads: usize,
    /// Most load that warms it up, on all workloads together, in seconds.
    pub(crate) most_s: f64,
    /// Requests in flight while it is warmed up.
    pub(crate) in_flight: u32,
}

impl Life<'_> {
    /// Slices of the time for warm-ups that this workload may have. What others did not need is left for it, and those that come
    /// after it keep the least by which a warm-up can be judged: a runtime is cold on its first workload only.
    fn slices_left(&self) -> usize {
        let equal_s = self.most_s / self.workloads.max(1) as f64;
        let reserve_s = equal_s.min(LEAST_SLICES as f64 * WARMUP_SLICE_S);
        let given: usize = self.run.warmups.iter().map(|warmup| warmup.per_second.len()).sum();
        let after = self.workloads.saturating_sub(self.run.warmups.len() + 1);
        let left_s = self.most_s - given as f64 * WARMUP_SLICE_S - reserve_s * after as f64;
        // `as` saturates, and the value is a whole number.
        (left_s / WARMUP_SLICE_S).ceil() as usize
    }

    /// Slices that warmed up the first life on the workload that it was asked for first, where this life was asked for nothing yet:
    /// what the first life needed on its other workloads says little of a runtime that is cold, because the first one had warmed it
    /// up. And those in which connections to a database are opened, on the first workload that needs one.
    fn slices_when_new(&self) -> usize {
        let is_new = self.run.warmups.is_empty() && self.run.lead_ins.is_empty();
        let first_warmup = self.first.and_then(|first| first.warmups.first());
        let of_pool = if self.is_first_on_database && self.most_s > 0.0 { SLICES_OF_A_NEW_POOL } else { 0 };
        first_warmup.filter(|_| is_new).map_or(0, slices_needed).max(of_pool)
    }

    /// Whether this life was not cold on the first workload that it was asked for: on others, a runtime is no colder.
    fn is_compiled(&self) -> bool {
        self.run.warmups.first().is_some_and(|first| first.settled && !was_cold(first))
    }

    /// Whether the contender gets warm by load, as its first life shows, and this life is not warm on any workload yet.
    fn is_cold(&self) -> bool {
        self.first.is_some_and(is_warmed_by_load) && !self.run.warmups.iter().any(|warmup| warmup.settled)
    }
}

/// Whether a server gets warm by load, as the first warm-up of a life shows. A runtime is coldest there. On further workloads a pool of
/// connections or a cache is slow at first, which a rest does not undo; and what is less than [far slower](SLOW_WHEN_COLD) may be the
/// machine.
pub(super) fn is_warmed_by_load(run: &Run) -> bool {
    run.warmups.first().is_some_and(was_cold)
}

/// Slices of load for a contender that has rested and does not get warm by load: its connections are new. Whether these were slow in its
/// first life cannot be seen where answers come in waves (docs/results/design.md#compiled-servers-without-a-lead-in).
pub(super) fn slices_of_new_connections(run: &Run) -> usize {
    if run.warmups.first().is_some_and(|first| !first.per_second.is_empty()) {
        SLICES_OF_NO_WARMUP
    } else {
        0
    }
}

fn was_cold(warmup: &Warmup) -> bool {
    let slices = &warmup.per_second;
    slices.first().is_some_and(|first| *first < SLOW_WHEN_COLD * rate_at_the_end(slices))
}

/// Whether a server gets warm by load, as its warm-up on a workload shows.
pub(super) fn gets_warm(warmup: &Warmup) -> bool {
    was_cold(warmup) || slices_needed(warmup) > SLICES_OF_NO_WARMUP
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warmup(per_second: &[f64], settled: bool) -> Warmup {
        Warmup { workload: "hello".to_owned(), per_second: per_second.to_vec(), settled, counted: None }
    }

    fn run(warmups: &[Warmup]) -> Run {
        Run { warmups: warmups.to_vec(), ..Run::default() }
    }

    fn life<'a>(run: &'a Run, first: Option<&'a Run>, workloads: usize, most_s: f64) -> Life<'a> {
        Life { run, first, is_first_on_database: false, workloads, most_s, in_flight: 0 }
    }

    /// Slices of a server that gets four times as fast, little by little, within so many of them.
    fn compiled(within: usize, all: usize) -> Vec<f64> {
        let share = |slice: usize| (slice as f64 / within.max(1) as f64).min(1.0);
        (0..all).map(|slice| if within == 0 { 100.0 } else { 25.0 + 75.0 * share(slice) }).collect()
    }

    /// What a server is given that gets warm within so many slices: as many, and what shows that it no longer gets faster.
    fn until_seen(within: usize) -> std::ops::RangeInclusive<usize> {
        within + 3..=within + LEAST_SLICES
    }

    /// Slices that a life gets whose server behaves so.
    fn given(length: WarmupLength, server: &[f64]) -> usize {
        (0..server.len()).find(|n| length.is_reached(&server[..*n])).unwrap_or(server.len())
    }

    #[test]
    fn a_first_life_is_watched_and_may_have_what_others_did_not_need() {
        let none = run(&[]);
        let first = WarmupLength::of(&life(&none, None, 7, 24.0), None);
        assert_eq!(given(first, &compiled(0, 99)), LEAST_SLICES, "warm at once");
        assert!(until_seen(20).contains(&given(first, &compiled(20, 99))), "five seconds");
        let rising: Vec<f64> = (0..99).map(|slice| 1.1_f64.powi(slice)).collect();
        assert_eq!(given(first, &rising), 60, "24 s less 6 × 1.5 s");
        let warm = run(&[warmup(&compiled(0, 6), true), warmup(&compiled(20, 26), true)]);
        let third = WarmupLength::of(&life(&warm, None, 7, 24.0), None);
        assert_eq!(third.most, 96 - 32 - 4 * LEAST_SLICES);
        let short = WarmupLength::of(&life(&none, None, 2, 0.5), None);
        assert_eq!((short.most, given(short, &compiled(9, 99))), (1, 1), "a share of too little is a share");
    }

    #[test]
    fn a_later_life_that_is_cold_is_watched_and_gets_no_less_than_the_first_needed() {
        let first = run(&[warmup(&compiled(4, 10), true), warmup(&compiled(0, 6), true)]);
        let cold = run(&[]);
        let on = |run: &Run, known: usize| {
            WarmupLength::of(&life(run, Some(&first), 2, 16.0), Some(&first.warmups[known]))
        };
        // On a machine that is by then three times as slow it takes three times as long.
        assert!(until_seen(12).contains(&given(on(&cold, 0), &compiled(12, 99))));
        assert_eq!(given(on(&cold, 1), &compiled(0, 99)), LEAST_SLICES, "whichever workload comes first");
        let warm = run(&[warmup(&compiled(4, 10), true)]);
        assert_eq!(given(on(&warm, 1), &compiled(12, 99)), 0, "as much as the first life needed there");
        let unsettled = run(&[warmup(&compiled(4, 10), false)]);
        assert!(until_seen(12).contains(&given(on(&unsettled, 1), &compiled(12, 99))), "it is cold still");
    }

    #[test]
    fn a_compiled_server_gets_nothing_in_later_lives() {
        // Its first slice was slower, by new connections.
        let first = run(&[warmup(&[80.0, 100.0, 100.0, 100.0, 100.0, 100.0], true)]);
        let cold = run(&[]);
        let length = WarmupLength::of(&life(&cold, Some(&first), 1, 16.0), Some(&first.warmups[0]));
        assert_eq!(given(length, &compiled(1, 99)), 1);
        assert!(length.has_settled(&[25.0]), "known from the first life");
        assert_eq!(given(length.at_least(3), &compiled(0, 99)), 3, "a rest asks for more");
    }

    #[test]
    fn a_later_life_opens_its_connections_to_a_database_before_its_turns() {
        let first = run(&[warmup(&compiled(0, 6), true)]);
        let new = run(&[]);
        let known = run(&[warmup(&[], true)]);
        let on = |run: &Run, is_first_on_database| {
            let life = Life { is_first_on_database, ..life(run, Some(&first), 7, 24.0) };
            given(WarmupLength::of(&life, Some(&first.warmups[0])), &compiled(0, 99))
        };
        assert_eq!((on(&new, true), on(&known, true), on(&known, false), on(&new, false)), (2, 2, 0, 0));
    }

    #[test]
    fn a_compiled_server_is_seen_to_be_warm_on_further_workloads_by_three_slices() {
        let on = |first: &[f64]| {
            let known = run(&[warmup(first, true)]);
            WarmupLength::of(&life(&known, None, 7, 24.0), None)
        };
        let compiled_server = on(&[80.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
        assert_eq!(given(compiled_server, &compiled(0, 99)), 3);
        assert!(compiled_server.has_settled(&[100.0; 3]));
        let pool = [vec![50.0], vec![100.0; 20]].concat();
        assert!(until_seen(1).contains(&given(compiled_server, &pool)), "as one that connects to a database");
        assert_eq!(given(on(&compiled(4, 10)), &compiled(0, 99)), LEAST_SLICES, "it gets warm by load");
        // As Gin was seen on `queries-20`: an answer takes an eighth of a second, so that slices have one wave of 64 or two.
        let slow = [vec![256.0], vec![512.0; 20]].concat();
        let with = |in_flight| WarmupLength { in_flight, ..compiled_server };
        assert_eq!((given(with(64), &slow), given(with(16), &slow)), (3, LEAST_SLICES + 1));
    }

    #[test]
    fn a_pool_that_fills_on_a_further_workload_makes_no_server_one_that_gets_warm_by_load() {
        let (even, pool) = (warmup(&compiled(0, 6), true), warmup(&[40.0, 100.0, 100.0, 100.0], true));
        assert!(gets_warm(&pool) && !is_warmed_by_load(&run(&[even.clone(), pool.clone()])));
        assert!(is_warmed_by_load(&run(&[warmup(&compiled(4, 10), true), even])));
        // As Actix was seen on a machine that was slow for half a second.
        let slow = run(&[warmup(&[61.0, 64.0, 100.0, 98.0, 104.0, 95.0, 99.0, 101.0], true)]);
        assert!(!is_warmed_by_load(&slow) && gets_warm(&slow.warmups[0]));
        assert_eq!(slices_of_new_connections(&slow), 1);
    }

    #[test]
    fn a_runtime_that_is_warm_after_a_slice_is_cold_again_when_it_is_restarted() {
        // Slices as they were seen of Node.js: the second is within the noise of the last.
        let seen = [5.0, 23.0, 33.0, 29.0, 32.0, 27.0, 31.0];
        let first = run(&[warmup(&seen, true)]);
        assert_eq!(slices_needed(&first.warmups[0]), SLICES_OF_NO_WARMUP);
        let cold = run(&[]);
        let length = WarmupLength::of(&life(&cold, Some(&first), 1, 16.0), Some(&first.warmups[0]));
        let again = [&[4.0, 11.0, 23.0, 28.0][..], &[31.0; 20]].concat();
        assert!(until_seen(4).contains(&given(length, &again)));
    }

    #[test]
    fn a_plateau_far_below_the_first_life_is_not_warm() {
        let first = run(&[warmup(&compiled(4, 10), true), warmup(&compiled(0, 6), true)]);
        let cold = run(&[]);
        let on = |run: &Run| {
            WarmupLength::of(&life(run, Some(&first), 2, 16.0), Some(&first.warmups[0])).until_near(100.0)
        };
        let plateau = [vec![12.0; 20], vec![80.0; 20]].concat();
        let done = given(on(&cold), &plateau);
        assert!((21..=26).contains(&done) && on(&cold).has_settled(&plateau[..done]), "{done}");
        let warm = run(&[warmup(&compiled(4, 10), true)]);
        assert_eq!(given(on(&warm), &plateau), 22, "also on a workload whose length is known");
        let halved: Vec<f64> = compiled(4, 40).iter().map(|rate| rate * 0.6).collect();
        assert!(until_seen(4).contains(&given(on(&cold), &halved)), "a slow machine is no cold server");
        assert!(!on(&cold).has_settled(&[12.0; 64]), "nor is it warm when the time is over");
    }

    #[test]
    fn what_a_watched_life_did_not_reach_is_told() {
        let first = run(&[warmup(&compiled(4, 10), true)]);
        let cold = run(&[]);
        let length = WarmupLength::of(&life(&cold, Some(&first), 1, 2.0), Some(&first.warmups[0]));
        let rising: Vec<f64> = (0..99).map(|slice| 1.1_f64.powi(slice)).collect();
        let done = given(length, &rising);
        assert_eq!(done, 8, "two seconds are all that it may have");
        assert!(!length.has_settled(&rising[..done]));
    }
}
