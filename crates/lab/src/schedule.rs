//! The order of contenders and cells, and whether there is time for another round. Pure: a seed and times in.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_model::experiment::{Cell, Experiment, Span};
use assay_model::profiling::Profiling;
use assay_verdict::MIN_ROUNDS;
use chacha20::ChaCha8Rng;
use rand::{Rng, SeedableRng};

use crate::generator::whole_seconds;

/// Rounds after which a run that has nothing to compare has enough: the range of six medians is a 97 % interval.
pub const ENOUGH_ROUNDS: u32 = 6;
/// Rounds that are enough where response times are measured, at rates that are known to all after the first round only.
pub const ENOUGH_LATENCY_ROUNDS: u32 = ENOUGH_ROUNDS + 1;
/// How many rounds more than fit are planned where contenders may be left out of later ones, which then take less time.
pub(crate) const SPARE_ROUNDS: f64 = 1.25;
/// Fewest rotations of a cell in a round: the middle of three is no outlier.
pub const MIN_ROTATIONS: u32 = 3;
/// Most rotations of a cell in a round.
pub const MAX_ROTATIONS: u32 = 2000;
/// Sets the random numbers of rotations apart from those of rounds.
const ROTATIONS: u64 = 0x726f_7461_7465_0001;
/// Sets those of duets apart from both.
const DUETS: u64 = 0x6475_6574_0000_0002;
/// Sets those of generators apart from all.
const GENERATORS: u64 = 0x6765_6e65_0000_0003;
/// What starting and stopping a contender takes, before any was timed.
const TYPICAL_START: Duration = Duration::from_millis(500);
/// What warming a contender up on one workload takes, in seconds, before any was timed; most are warm sooner than an
/// experiment allows. Less than one and a half tells nothing.
const TYPICAL_WARMUP_S: f64 = 1.7;
/// Most connections that warm a server up: ten thousand warm nothing that a thousand do not, and making them anew for each
/// slice takes seconds. The load before each window has as many as the window.
pub(crate) const MAX_WARMUP_CONNECTIONS: u32 = 1024;
/// What counting system calls on one workload and starting the generators for all that takes, before any was timed.
const TYPICAL_COUNTING: Duration = Duration::from_millis(300);
/// Windows of each life for each turn that an experiment asks for, where most of them are duets.
const DUETS_FOR_EACH: f64 = 1.5;
/// What asking a contender for the rules takes, before any was timed.
const TYPICAL_CONFORMANCE: Duration = Duration::from_millis(1000);
/// Warm-up of a later life: most need none, and those that never settled need all of it.
const TYPICAL_LATER_WARMUP_S: f64 = 0.5;
/// Load before the turns in a cell: a slice or two, where others had their turns meanwhile (docs/method/carousel.md#the-lead-in).
const TYPICAL_LEAD_IN: Duration = Duration::from_millis(350);
/// From the end of a turn to the beginning of the next, before any was timed.
const TYPICAL_CHANGE: Duration = Duration::from_millis(20);
/// What starting the generator, connecting and saving takes for one cell, before any was timed.
const TYPICAL_OVERHEAD: Duration = Duration::from_millis(80);

/// What starting, connecting and ending takes a generator that measures in one piece, before any was timed.
const TYPICAL_GENERATOR: Duration = Duration::from_millis(300);
/// What starting a generator for a slice takes that profiles, connecting, and finding the names of functions, before any was timed.
const TYPICAL_SLICE: Duration = Duration::from_millis(300);
/// Load before a slice that profiles, in seconds: until every connection is accepted and has been answered.
pub(crate) const PROFILE_SETTLE_S: f64 = 0.1;
/// What making one connection takes, before any was timed: noticed with thousands only.
const TYPICAL_CONNECT: Duration = Duration::from_micros(100);
/// Generators that are started for warming a contender up on one workload and counting, before any was timed.
const TYPICAL_GENERATORS: u32 = 4;
/// Requests per second of a window that ends after a number of them, before any was timed.
const TYPICAL_PER_SECOND: f64 = 50_000.0;
/// What the search for a redline takes of one server's life, before any was timed: a trial or two.
const TYPICAL_SEARCH: Duration = Duration::from_secs(10);

/// The order of one round, a randomised complete block (docs/method/rounds.md#restarts-are-the-unit-of-replication).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Indices of the contenders, each once.
    pub contenders: Vec<usize>,
    /// Indices of the cells, each once. All contenders of a round share this order, so that what one cell does to the next
    /// (warm caches, sockets in TIME_WAIT) does not differ within a pair; it changes from round to round.
    pub cells: Vec<usize>,
}

/// The order of round `index`. It depends on nothing but the arguments: a contender that drops out later changes no other
/// round's order of the rest.
pub fn block(seed: u64, index: u32, contenders: usize, cells: usize) -> Block {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::from(index));
    Block { contenders: permutation(&mut rng, contenders), cells: permutation(&mut rng, cells) }
}

/// One of `n`, which must not be zero, by the seed; it shares no random numbers with any [`block`].
pub fn choice(seed: u64, n: usize) -> usize {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::MAX);
    permutation(&mut rng, n)[0]
}

/// The order in which `n` servers take their turns in a rotation; it shares no random numbers with any [`block`].
pub fn rotation(seed: u64, round: u32, cell: usize, rotation: u32, n: usize) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ ROTATIONS);
    rng.set_stream(u64::from(round) << 40 | (cell as u64 & 0xff_ffff) << 16 | u64::from(rotation & 0xffff));
    permutation(&mut rng, n)
}

/// The order of `n` windows of two servers at once in a rotation; it shares no random numbers with [`rotation`].
pub fn duet_order(seed: u64, round: u32, cell: usize, number: u32, n: usize) -> Vec<usize> {
    rotation(seed ^ DUETS, round, cell, number, n)
}

/// The order in which `n` generators load one server in a cell; it shares no random numbers with [`rotation`].
pub fn generator_order(seed: u64, round: usize, cell: usize, n: usize) -> Vec<usize> {
    rotation(seed ^ GENERATORS, u32::try_from(round).unwrap_or(u32::MAX), cell, 0, n)
}

/// Sorting by random keys rather than a library's shuffle, whose algorithm may change between versions.
fn permutation(rng: &mut ChaCha8Rng, n: usize) -> Vec<usize> {
    let mut keyed: Vec<(u64, usize)> = (0..n).map(|index| (rng.next_u64(), index)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, index)| index).collect()
}

/// The lives of a contender: the first is warmed up for as long as it needs, the others as long as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lives {
    /// The life of the first round.
    First,
    /// The lives of all others.
    Later,
}

/// How long one round will take when each contender is measured in `cells`.
pub fn predicted_round(experiment: &Experiment, contenders: &[Vec<Cell>], lives: Lives) -> Duration {
    let warm_up = |cells: &Vec<Cell>| {
        let workloads = cells.iter().map(|cell| &cell.workload).collect::<BTreeSet<_>>().len().max(1);
        let each_s = experiment.warmup_s / workloads as f64;
        if lives == Lives::Later {
            return Duration::from_secs_f64(each_s.min(TYPICAL_LATER_WARMUP_S) * workloads as f64);
        }
        let each_s = each_s.min(TYPICAL_WARMUP_S);
        let widest = cells.iter().map(|cell| cell.connections).max().unwrap_or(0);
        let connecting = TYPICAL_CONNECT * widest.min(MAX_WARMUP_CONNECTIONS) * TYPICAL_GENERATORS;
        (Duration::from_secs_f64(each_s) + TYPICAL_COUNTING + connecting).mul_f64(workloads as f64)
    };
    let window = |cell: &Cell| predicted_window(experiment, cell);
    let life = |cells: &Vec<Cell>| {
        let windows = cells.iter().map(window).sum::<Duration>();
        // A cell that is measured past a proxy too stands there twice; others load the proxy alone, and so does a profile.
        let mut own = cells.clone();
        own.dedup();
        let besides = predicted_cross_check(experiment, &own) + predicted_profile(experiment, &own, lives);
        TYPICAL_START + warm_up(cells) + windows + besides
    };
    contenders.iter().map(life).sum()
}

/// How long measuring a cell once will take, in one piece or in turns.
pub fn predicted_window(experiment: &Experiment, cell: &Cell) -> Duration {
    if cell.offered.is_search() {
        return TYPICAL_SEARCH;
    }
    let length_s = match experiment.window_at(cell.offered) {
        Span::Seconds(seconds) => seconds,
        Span::Requests(n) => f64::from(n) / TYPICAL_PER_SECOND,
    };
    let (times, change, lead_in) = match experiment.is_turned(cell) {
        true => (turns_of(experiment), TYPICAL_CHANGE, predicted_lead_in(experiment)),
        false => (1, Duration::ZERO, Duration::ZERO),
    };
    // In a duet two are loaded at once, on both sides, besides some turns: about as much again for each life.
    let windows = if experiment.is_duet(cell) { DUETS_FOR_EACH } else { 1.0 };
    Duration::from_secs_f64((f64::from(times) * experiment.settle_at(cell.offered) + length_s) * windows)
        + change * times
        + lead_in
        + TYPICAL_OVERHEAD
        + TYPICAL_CONNECT * cell.connections
}

/// Load before the turns of a cell: who is not to be warmed up gets none.
fn predicted_lead_in(experiment: &Experiment) -> Duration {
    TYPICAL_LEAD_IN.min(Duration::from_secs_f64(experiment.warmup_s))
}

/// How long loading one server in its cells by ours and every other generator will take.
pub fn predicted_cross_check(experiment: &Experiment, cells: &[Cell]) -> Duration {
    let others = u32::try_from(experiment.other_generators().len()).unwrap_or(u32::MAX);
    let generators = if others == 0 { 0 } else { others.saturating_add(1) };
    let each = |cell: &Cell| match experiment.window_at(cell.offered) {
        Span::Seconds(seconds) => Duration::from_secs(whole_seconds(seconds).into()) + TYPICAL_GENERATOR,
        // Of a number of requests no other is asked.
        Span::Requests(_) => Duration::ZERO,
    };
    cells.iter().map(each).sum::<Duration>() * generators
}

/// Slices of load in which one server is profiled in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slices {
    /// Length of the one in which stacks are sampled, in seconds.
    pub(crate) sampled_s: f64,
    /// Length of the one in which system calls are followed, in seconds; none where they are not.
    pub(crate) traced_s: Option<f64>,
}

/// A thousand samples of a busy CPU, so that a part of a tenth is known to within two hundredths in one life, and tens of thousands of
/// calls.
const THOROUGH: Slices = Slices { sampled_s: 1.5, traced_s: Some(0.25) };
/// Four hundred samples: seven servers take less than ten seconds.
const BRIEF: Slices = Slices { sampled_s: 0.6, traced_s: None };

/// In which of its `cells` a server is profiled in such a life, and in which slices. One look is taken in the first round, which every
/// run has; none knows its last before it is over.
pub(crate) fn profiled(experiment: &Experiment, cells: &[Cell], lives: Lives) -> Option<(Slices, Vec<Cell>)> {
    match experiment.profile {
        Profiling::Never => None,
        Profiling::Always => Some((THOROUGH, cells.to_vec())),
        Profiling::Once => {
            let typical =
                typical_cell(experiment).filter(|cell| lives == Lives::First && cells.contains(cell))?;
            Some((BRIEF, vec![typical]))
        }
    }
}

/// The cell that stands for all: that of the first workload at capacity, with the middle number of connections.
fn typical_cell(experiment: &Experiment) -> Option<Cell> {
    let cells = experiment.cells();
    let first = cells.iter().find(|cell| cell.offered.is_capacity())?;
    let is_alike = |cell: &&Cell| Cell { connections: first.connections, ..(*cell).clone() } == *first;
    let mut alike: Vec<&Cell> = cells.iter().filter(is_alike).collect();
    alike.sort_by_key(|cell| cell.connections);
    alike.get((alike.len() - 1) / 2).copied().cloned()
}

/// How long profiling one server in its cells will take in such a life.
pub(crate) fn predicted_profile(experiment: &Experiment, cells: &[Cell], lives: Lives) -> Duration {
    let Some((Slices { sampled_s, traced_s }, cells)) = profiled(experiment, cells, lives) else {
        return Duration::ZERO;
    };
    let slice = |seconds: f64| TYPICAL_SLICE + Duration::from_secs_f64(PROFILE_SETTLE_S + seconds);
    let each = slice(sampled_s) + traced_s.map_or(Duration::ZERO, slice);
    each * u32::try_from(cells.iter().filter(|cell| !cell.offered.is_search()).count()).unwrap_or(u32::MAX)
}

/// Turns that a window at capacity is made of.
pub fn turns_of(experiment: &Experiment) -> u32 {
    // `as` saturates, and the value is a whole number.
    ((experiment.window_s / experiment.turn_s).round() as u32).max(1)
}

/// How long asking so many contenders before the first round will take: those that are asked for the rules, and those that are only
/// started to be asked how long their answers are.
pub fn predicted_asking(for_rules: usize, for_lengths: usize) -> Duration {
    let of = |contenders: usize| u32::try_from(contenders).unwrap_or(u32::MAX);
    (TYPICAL_START + TYPICAL_CONFORMANCE) * of(for_rules) + TYPICAL_START * of(for_lengths)
}

/// Rounds that the budget allows when each takes `round` and `before` is gone when the first begins, never fewer than
/// [`guaranteed_rounds`] nor more than planned.
pub fn affordable_rounds(experiment: &Experiment, before: Duration, round: Duration) -> u32 {
    let Some(budget_s) = experiment.budget_s else { return experiment.rounds };
    let left_s = (budget_s - before.as_secs_f64()).max(0.0);
    let fitting = (left_s / round.as_secs_f64().max(1e-9)).floor().min(f64::from(u32::MAX));
    // `as` saturates, and the value is a whole number in range.
    (fitting as u32).max(guaranteed_rounds(experiment)).min(experiment.rounds)
}

/// Rounds that are measured whatever they take: from one alone nothing can be shown, but what a search has found.
pub fn guaranteed_rounds(experiment: &Experiment) -> u32 {
    let least = if experiment.searches_alone() { 1 } else { MIN_ROUNDS };
    experiment.least_rounds.unwrap_or(least).min(experiment.rounds).max(1)
}

/// Most rounds of a run that looks after each, to be fixed before the first look: those that fit after `before`
/// when each takes `round`, and some to spare where more than two are compared.
pub fn planned_rounds(experiment: &Experiment, before: Duration, round: Duration, compared: usize) -> u32 {
    let Some(budget_s) = experiment.budget_s else { return experiment.rounds };
    let spare = if compared > 2 { SPARE_ROUNDS } else { 1.0 };
    affordable_rounds(&Experiment { budget_s: Some(budget_s * spare), ..experiment.clone() }, before, round)
}

/// Rounds before which a run does not end because all is settled.
pub fn rounds_before_settling(experiment: &Experiment, pairs: usize) -> u32 {
    let offers_rates = experiment.cells().iter().any(|cell| cell.offered.is_rate());
    match (offers_rates, pairs) {
        // A search decides itself how many servers it needs.
        (false, 0) if experiment.searches() => MIN_ROUNDS,
        (true, _) => ENOUGH_LATENCY_ROUNDS,
        (false, 0) => ENOUGH_ROUNDS,
        (false, _) => MIN_ROUNDS,
    }
}

/// How long what would take `wanted` takes at most, of a budget of which so much is `left`, if there is one.
pub fn within(wanted: Duration, left: Option<Duration>) -> Duration {
    left.map_or(wanted, |left| wanted.min(left))
}

/// Whether a round may begin after `done` rounds took `elapsed` and the next will take `round`.
pub fn allows_another(experiment: &Experiment, done: u32, elapsed: Duration, round: Duration) -> bool {
    if done >= experiment.rounds {
        return false;
    }
    let within = experiment.budget_s.is_none_or(|budget_s| (elapsed + round).as_secs_f64() <= budget_s);
    done < guaranteed_rounds(experiment) || within
}

#[cfg(test)]
mod tests {
    use assay_model::offered::Offered;

    use super::*;

    fn showdown() -> Experiment {
        toml::from_str(include_str!("../../../experiments/showdown.toml")).expect("an experiment")
    }

    #[test]
    fn the_showdown_looks_once_at_each_server_in_less_than_ten_seconds() {
        let showdown = showdown();
        assert_eq!(showdown.profile, Profiling::Once);
        let cells = showdown.cells();
        let (slices, profiled_cells) = profiled(&showdown, &cells, Lives::First).expect("the first round");
        assert_eq!((slices, profiled_cells), (BRIEF, vec![Cell::closed("hello", 64)]));
        assert_eq!(profiled(&showdown, &cells, Lives::Later), None);
        let servers = u32::try_from(showdown.contenders.len() + 1).expect("few");
        let all = predicted_profile(&showdown, &cells, Lives::First) * servers;
        assert!(all <= Duration::from_secs(10), "{all:?}");
    }

    #[test]
    fn rounds_are_predicted_to_take_as_much_longer_as_their_profiles_take() {
        let round = |plan: &Experiment, lives| predicted_round(plan, &[plan.cells()], lives);
        let [never, once, always] = [Profiling::Never, Profiling::Once, Profiling::Always]
            .map(|profile| Experiment { profile, ..showdown() });
        for lives in [Lives::First, Lives::Later] {
            let one = predicted_profile(&once, &once.cells(), lives);
            assert_eq!(one.is_zero(), lives == Lives::Later, "{one:?}");
            assert_eq!(round(&once, lives) - round(&never, lives), one);
            let each = predicted_profile(&always, &always.cells(), lives);
            assert_eq!(round(&always, lives) - round(&never, lives), each);
        }
    }

    fn experiment(rest: &str) -> Experiment {
        let text = format!(
            "name = \"e\"\ncontenders = []\n{rest}\n[[measure]]\nworkload = \"w\"\nconnections = [1]\n"
        );
        toml::from_str(&text).expect("experiment")
    }

    #[test]
    fn a_block_is_a_permutation_and_depends_on_its_seed_and_round() {
        let mut sorted = block(7, 3, 9, 4);
        assert_eq!(sorted, block(7, 3, 9, 4));
        assert_ne!(sorted, block(7, 4, 9, 4));
        assert_ne!(sorted, block(8, 3, 9, 4));
        sorted.contenders.sort_unstable();
        sorted.cells.sort_unstable();
        assert_eq!(sorted.contenders, (0..9).collect::<Vec<_>>());
        assert_eq!(sorted.cells, (0..4).collect::<Vec<_>>());
    }

    #[test]
    fn the_stream_never_changes() {
        // A recorded seed must give the same order in every later version.
        assert_eq!(block(1, 0, 6, 3), Block { contenders: vec![1, 3, 4, 0, 2, 5], cells: vec![1, 0, 2] });
    }

    #[test]
    fn every_order_is_about_equally_likely() {
        let mut counts = std::collections::BTreeMap::new();
        for index in 0..6000 {
            *counts.entry(block(42, index, 3, 1).contenders).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        // χ² with 5 degrees of freedom: 20.5 is the 99.9 % point.
        let chi2: f64 = counts.values().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi2 < 20.5, "{counts:?}");
    }

    #[test]
    fn the_budget_bounds_the_rounds_but_two_are_always_measured() {
        let bounded = experiment("rounds = 10\nbudget_s = 60.0");
        let round = Duration::from_secs(13);
        assert_eq!(affordable_rounds(&bounded, Duration::ZERO, round), 4);
        assert_eq!(affordable_rounds(&bounded, round, round), 3);
        assert_eq!(affordable_rounds(&bounded, round * 9, round), MIN_ROUNDS);
        assert!(allows_another(&bounded, 3, Duration::from_secs(39), round));
        assert!(!allows_another(&bounded, 4, Duration::from_secs(52), round));
        assert!(allows_another(&bounded, 1, Duration::from_secs(500), round));
        assert!(!allows_another(&bounded, 2, Duration::from_secs(500), round));
        // What is left is told, and is never more than the budget leaves.
        assert_eq!(within(round * 5, Some(round * 3)), round * 3);
        assert_eq!((within(round, Some(round * 3)), within(round, None)), (round, round));
        let free = experiment("rounds = 1");
        assert_eq!(affordable_rounds(&free, round, round), 1);
        assert!(!allows_another(&free, 1, Duration::ZERO, round));
    }

    #[test]
    fn a_search_takes_no_round_that_its_budget_has_no_time_for() {
        let rates = "rates = [\"redline:p99<10ms\"]\n";
        let search: Experiment = toml::from_str(&format!(
            "name = \"e\"\ncontenders = []\nrounds = 10\nbudget_s = 20.0\n[[measure]]\nworkload = \"w\"\nconnections = [1]\n{rates}"
        ))
        .expect("experiment");
        let round = Duration::from_secs(14);
        assert!(search.searches_alone() && !experiment("rounds = 1").searches());
        assert_eq!(affordable_rounds(&search, Duration::ZERO, round), 1);
        assert!(
            allows_another(&search, 0, Duration::ZERO, round) && !allows_another(&search, 1, round, round)
        );
    }

    #[test]
    fn rounds_are_planned_within_the_budget_and_some_to_spare_where_contenders_may_leave() {
        let auto = experiment("rounds = 40\nuntil_settled = true\nbudget_s = 100.0");
        assert_eq!(planned_rounds(&auto, Duration::ZERO, Duration::from_secs(10), 2), 10);
        assert_eq!(planned_rounds(&auto, Duration::ZERO, Duration::from_secs(10), 3), 12);
        assert_eq!(planned_rounds(&auto, Duration::ZERO, Duration::from_secs(1), 2), 40);
        assert_eq!(planned_rounds(&experiment("rounds = 7"), Duration::ZERO, Duration::from_secs(1), 2), 7);
        assert_eq!(
            (rounds_before_settling(&auto, 1), rounds_before_settling(&auto, 0)),
            (MIN_ROUNDS, ENOUGH_ROUNDS)
        );
    }

    #[test]
    fn what_goes_past_a_proxy_is_predicted_for_our_windows_and_for_no_other_generator() {
        let plan = experiment("generators = [\"wrk\"]");
        let cell = Cell::closed("w", 1);
        let round = |cells: &[Cell]| predicted_round(&plan, &[cells.to_vec()], Lives::First);
        let twice = round(&[cell.clone(), cell.clone()]) - round(std::slice::from_ref(&cell));
        assert_eq!(twice, predicted_window(&plan, &cell));
        assert!(predicted_cross_check(&plan, &[cell]) > Duration::ZERO);
    }

    #[test]
    fn a_prediction_counts_every_cell() {
        let plan = experiment("warmup_s = 2.0\nsettle_s = 0.5\nwindow_s = 1.5\none_at_a_time = true");
        let cells = vec![Cell::closed("w", 1)];
        let one = predicted_round(&plan, std::slice::from_ref(&cells), Lives::First);
        assert!(one >= Duration::from_secs(4) && one < Duration::from_secs(5));
        // Ten turns settle ten times.
        let turned = Experiment { one_at_a_time: false, ..plan.clone() };
        let first = |plan: &Experiment, parts: &[Vec<Cell>]| predicted_round(plan, parts, Lives::First);
        let besides = TYPICAL_CHANGE * 10 + TYPICAL_LEAD_IN;
        assert_eq!(first(&turned, std::slice::from_ref(&cells)) - one - besides, Duration::from_millis(4500));
        assert_eq!(first(&plan, &[cells.clone(), cells.clone()]), one * 2);
        assert_eq!(first(&plan, &[]), Duration::ZERO);
        let later = predicted_round(&plan, &[cells], Lives::Later);
        let spared = Duration::from_secs_f64(TYPICAL_WARMUP_S - TYPICAL_LATER_WARMUP_S) + TYPICAL_COUNTING;
        assert_eq!(one - later, spared + TYPICAL_CONNECT * TYPICAL_GENERATORS);
        // A window of a number of requests has no load before it, and thousands of connections take time to make.
        let counted = |n| Cell { offered: Offered::Requests(n), ..Cell::closed("w", 1) };
        let few = first(&plan, &[vec![counted(50_000)]]);
        assert_eq!(one - few, Duration::from_secs(1));
        assert_eq!(first(&plan, &[vec![counted(100_000)]]) - few, Duration::from_secs(1));
        assert!(first(&plan, &[vec![Cell::closed("w", 10_000)]]) > one + Duration::from_millis(1300));
    }
}
