//! The redline search against servers whose redline is known.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper may fail as loudly as the test that calls it"
)]

use assay_stats::redline::{
    Decision, End, Judge, Purpose, Redline, Search, SearchPlan, Slice, Step, Trial, TrialOutcome,
};
use assay_stats::simulation::normal;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng as _;
use rand::{Rng, RngExt as _};

const PLAN: SearchPlan = SearchPlan {
    start: 500.0,
    step: 2.0,
    lowest: 10.0,
    floor: 25.0,
    highest: 1e6,
    width: 0.02,
    restarts: 3,
    most_trials: 100,
};

/// Searches with whatever answers the trials.
fn search(plan: SearchPlan, mut answer: impl FnMut(&Trial) -> TrialOutcome) -> (Redline, Vec<Trial>) {
    let mut search = Search::new(plan).unwrap();
    let mut trials = Vec::new();
    loop {
        match search.step() {
            Step::Done(redline) => return (redline, trials),
            Step::Try(trial) => {
                search.tell(answer(&trial));
                trials.push(trial);
            }
        }
        assert!(trials.len() <= plan.most_trials as usize, "the search does not end");
    }
}

/// A server that keeps the goal up to exactly `limit`.
fn step_at(limit: f64) -> impl FnMut(&Trial) -> TrialOutcome {
    move |trial| if trial.per_second <= limit { TrialOutcome::Pass } else { TrialOutcome::Fail }
}

#[test]
fn a_sharp_redline_is_enclosed_within_the_width_from_any_start() {
    for start in [10.0, 400.0, 1234.0, 900_000.0] {
        let (redline, trials) =
            search(SearchPlan { start, floor: PLAN.floor.min(start), ..PLAN }, step_at(1234.0));
        let (lower, upper) = (redline.lower.unwrap(), redline.upper.unwrap());
        assert!(lower <= 1234.0 && 1234.0 < upper && upper / lower <= 1.02, "{lower} {upper} from {start}");
        assert_eq!((redline.end, redline.descending), (End::Confirmed, redline.lower));
        assert!(trials.len() < 35, "{} trials from {start}", trials.len());
    }
}

#[test]
fn the_first_steps_double_and_then_halve_in_the_logarithm() {
    let (_, trials) = search(PLAN, step_at(1234.0));
    let loads: Vec<f64> = trials.iter().map(|trial| trial.per_second.round()).take(5).collect();
    assert_eq!(loads, [500.0, 1000.0, 2000.0, 1414.0, 1189.0]);
    let fresh: Vec<bool> = trials.iter().map(|trial| trial.fresh_server).take(5).collect();
    assert_eq!(fresh, [true, false, false, true, true], "a server that failed is replaced");
}

#[test]
fn a_good_guess_is_left_in_small_steps_that_grow() {
    let near = SearchPlan { start: 1_000.0, step: 1.25, ..PLAN };
    let loads = |limit: f64| -> Vec<f64> {
        let (_, trials) = search(near, step_at(limit));
        trials.iter().map(|trial| trial.per_second.round()).take(4).collect()
    };
    assert_eq!(loads(1_234.0), [1_000.0, 1_250.0, 1_118.0, 1_182.0]);
    assert_eq!(loads(5_000.0), [1_000.0, 1_250.0, 1_563.0, 2_443.0]);
    assert_eq!(loads(900.0), [1_000.0, 800.0, 894.0, 946.0]);
    assert_eq!(loads(100.0), [1_000.0, 800.0, 640.0, 410.0]);
    let trials = |plan| search(plan, step_at(1_234.0)).1.len();
    assert!(trials(near) < trials(SearchPlan { step: 2.0, ..near }));
}

#[test]
fn both_bounds_are_seen_with_as_many_servers_as_asked_for() {
    let (redline, trials) = search(PLAN, step_at(1234.0));
    let on_fresh = |load: f64| trials.iter().filter(|trial| trial.per_second == load).count();
    assert!(on_fresh(redline.lower.unwrap()) >= 3 && on_fresh(redline.upper.unwrap()) >= 3);
    let lives = trials.iter().filter(|trial| trial.purpose == Purpose::ConfirmLower);
    assert!(lives.clone().count() >= 2 && lives.clone().all(|trial| trial.fresh_server));
}

#[test]
fn a_void_trial_is_repeated_and_is_no_fail() {
    let mut count = 0;
    let mut answer = step_at(1234.0);
    let (redline, trials) = search(PLAN, |trial| {
        count += 1;
        if count % 2 == 1 { TrialOutcome::Void } else { answer(trial) }
    });
    let (undisturbed, _) = search(PLAN, step_at(1234.0));
    assert_eq!((redline.lower, redline.upper), (undisturbed.lower, undisturbed.upper));
    assert_eq!(trials[0], trials[1]);
    let (void, _) = search(PLAN, |_| TrialOutcome::Void);
    assert_eq!((void.end, void.trials, void.upper), (End::TooManyVoid, 5, None));
}

#[test]
fn loads_beyond_the_search_are_said_to_be() {
    let (above, _) = search(SearchPlan { highest: 3_000.0, ..PLAN }, step_at(1e9));
    assert_eq!((above.end, above.lower, above.upper), (End::AboveHighest, Some(3_000.0), None));
    let (below, _) = search(PLAN, step_at(1.0));
    assert_eq!((below.end, below.lower, below.upper), (End::BelowLowest, None, Some(10.0)));
    let (short, trials) = search(SearchPlan { most_trials: 4, ..PLAN }, step_at(1234.0));
    assert_eq!((short.end, trials.len()), (End::TrialsSpent, 4));
    assert_eq!((short.lower, short.upper.map(f64::round)), (Some(1_000.0), Some(1_414.0)));
}

/// A server that takes longer than the goal allows even when it has nothing else to do.
#[test]
fn a_goal_that_no_load_keeps_is_found_out_at_the_floor() {
    let (redline, trials) = search(PLAN, |_| TrialOutcome::NoneInTime);
    assert_eq!((redline.end, redline.lower, redline.upper), (End::BelowLowest, None, Some(PLAN.floor)));
    let loads: Vec<(f64, Purpose)> = trials.iter().map(|trial| (trial.per_second, trial.purpose)).collect();
    assert_eq!(loads, [(PLAN.start, Purpose::Bracket), (PLAN.floor, Purpose::Floor)]);
    assert!(trials.iter().all(|trial| trial.fresh_server), "an overloaded server would be late at any load");
}

/// A first guess far too high leaves every request late; the floor then costs one trial and changes no answer.
#[test]
fn an_overload_at_the_first_load_is_no_goal_out_of_reach() {
    let limit = 123.4;
    let (redline, trials) = search(PLAN, |trial| match trial.per_second {
        load if load <= limit => TrialOutcome::Pass,
        load if load <= 2.0 * limit => TrialOutcome::Fail,
        _ => TrialOutcome::NoneInTime,
    });
    let (usual, usual_trials) = search(PLAN, step_at(limit));
    assert_eq!((redline.end, redline.lower, redline.upper), (usual.end, usual.lower, usual.upper));
    assert_eq!(trials.iter().filter(|trial| trial.purpose == Purpose::Floor).count(), 1);
    assert_eq!(trials.len(), usual_trials.len() + 1);
}

#[test]
fn a_load_too_close_to_tell_lies_inside_the_interval() {
    let band = |trial: &Trial| match trial.per_second {
        load if load < 980.0 => TrialOutcome::Pass,
        load if load > 1_020.0 => TrialOutcome::Fail,
        _ => TrialOutcome::Undecided,
    };
    let (redline, _) = search(PLAN, band);
    let (lower, upper) = (redline.lower.unwrap(), redline.upper.unwrap());
    assert_eq!(redline.end, End::Confirmed);
    assert!(lower < 980.0 && 1_020.0 < upper && upper / lower < 1.15, "{lower} {upper}");
}

/// A server that collapses: after an overload it carries a quarter less until it is restarted.
#[test]
fn a_server_that_does_not_recover_shows_a_gap() {
    let mut collapsed = false;
    let (redline, trials) = search(PLAN, |trial| {
        collapsed &= !trial.fresh_server;
        let limit = if collapsed { 750.0 } else { 1_000.0 };
        collapsed |= trial.per_second > 1_000.0;
        if trial.per_second <= limit { TrialOutcome::Pass } else { TrialOutcome::Fail }
    });
    let (lower, upper) = (redline.lower.unwrap(), redline.upper.unwrap());
    assert!(lower <= 1_000.0 && 1_000.0 < upper && upper / lower <= 1.02, "{lower} {upper}");
    let descending = redline.descending.unwrap();
    assert!((735.0..=750.0).contains(&descending), "{descending}");
    let down = trials.iter().rev().take_while(|trial| trial.purpose == Purpose::Descend);
    assert!(down.clone().count() >= 4 && down.clone().all(|trial| !trial.fresh_server));
}

/// A server that serves nothing any more once it was overloaded.
#[test]
fn a_server_that_never_recovers_is_told_from_one_that_was_not_asked() {
    let mut broken = false;
    let answer = |trial: &Trial| {
        broken &= !trial.fresh_server;
        let passes = !broken && trial.per_second <= 1_000.0;
        broken |= trial.per_second > 1_000.0;
        if passes { TrialOutcome::Pass } else { TrialOutcome::Fail }
    };
    let (redline, trials) = search(PLAN, answer);
    assert_eq!((redline.end, redline.descending), (End::Confirmed, Some(0.0)));
    assert!(trials.last().unwrap().per_second < PLAN.lowest);
}

/// Bounds that all servers agreed on are confirmed, whatever ends the way down.
#[test]
fn a_search_that_ends_on_its_way_down_has_confirmed_its_bounds() {
    let mut search = Search::new(PLAN).unwrap();
    let mut answer = step_at(1_234.0);
    while let Step::Try(trial) = search.step() {
        if matches!(trial.purpose, Purpose::Overload | Purpose::Descend) {
            break;
        }
        assert_eq!(search.so_far().end, End::TrialsSpent);
        search.tell(answer(&trial));
    }
    let told = |search: &Search| (search.so_far().end, search.so_far().descending);
    assert_eq!(told(&search), (End::Confirmed, None), "before the overload");
    search.tell(TrialOutcome::Fail);
    assert_eq!(told(&search), (End::Confirmed, None), "before the load is lowered");
    for outcome in [TrialOutcome::Fail, TrialOutcome::Fail, TrialOutcome::Pass] {
        search.tell(outcome);
    }
    for outcome in [TrialOutcome::Void; 5] {
        assert_eq!(told(&search), (End::Confirmed, None), "where it recovers is not found yet");
        search.tell(outcome);
    }
    assert!(matches!(search.step(), Step::Done(Redline { end: End::Confirmed, .. })));
}

#[test]
fn impossible_plans_are_refused() {
    for plan in [
        SearchPlan { lowest: 0.0, ..PLAN },
        SearchPlan { floor: 5.0, ..PLAN },
        SearchPlan { start: 1.0, ..PLAN },
        SearchPlan { highest: f64::INFINITY, ..PLAN },
        SearchPlan { width: 0.0, ..PLAN },
        SearchPlan { step: 1.0, ..PLAN },
        SearchPlan { step: 2.5, ..PLAN },
        SearchPlan { restarts: 0, ..PLAN },
        SearchPlan { most_trials: 0, ..PLAN },
    ] {
        assert!(Search::new(plan).is_err(), "{plan:?}");
    }
}

/// A single server with exponential service times and Poisson arrivals, request by request (Lindley's recursion).
struct Queue {
    service_per_second: f64,
    wait_s: f64,
}

impl Queue {
    /// Offers `requests` at a load and counts those that took longer than `deadline_s`, in slices of a fortieth.
    fn offer(&mut self, requests: u64, per_second: f64, deadline_s: f64, rng: &mut impl Rng) -> Vec<Slice> {
        let mut exponential = |rate: f64| -(1.0 - rng.random::<f64>()).ln() / rate;
        let mut slices = Vec::new();
        while slices.iter().map(|slice: &Slice| slice.due).sum::<u64>() < requests {
            let due = requests.div_ceil(40);
            let mut late = 0;
            for _ in 0..due {
                let response = self.wait_s + exponential(self.service_per_second);
                late += u64::from(response > deadline_s);
                self.wait_s = (response - exponential(per_second)).max(0.0);
            }
            slices.push(Slice { late, due });
        }
        slices
    }
}

/// A whole trial of at least five seconds, extended until it is decided.
fn trial(queue: &mut Queue, per_second: f64, deadline_s: f64, rng: &mut impl Rng) -> TrialOutcome {
    let mut judge = Judge::new(0.01, (5.0 * per_second) as u64).unwrap();
    let mut slices = Vec::new();
    loop {
        match judge.decide(&slices) {
            Decision::Pass => return TrialOutcome::Pass,
            Decision::Fail => return TrialOutcome::Fail,
            Decision::Undecided => return TrialOutcome::Undecided,
            Decision::Extend { requests } => {
                slices.extend(queue.offer(requests, per_second, deadline_s, rng))
            }
        }
    }
}

/// How often the redline of an M/M/1 server lies in the interval, and the interval's median width. Its response time is
/// exponential with rate µ − λ (Kleinrock, *Queueing Systems* I, 1975, §3.2), so p99 ≤ 10 ms up to λ = µ − ln 100 / 10 ms.
/// `restart_sd` is how much µ varies between restarts.
fn coverage(restart_sd: f64, searches: usize, seed: u64) -> (f64, f64) {
    let (mu, deadline_s) = (5_000.0, 0.010);
    let truth = mu - 100.0_f64.ln() / deadline_s;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut covered, mut widths) = (0, Vec::new());
    for _ in 0..searches {
        let mut queue = Queue { service_per_second: mu, wait_s: 0.0 };
        // As a run begins: near the capacity that it has measured.
        let (redline, _) = search(SearchPlan { start: 0.8 * mu, step: 1.25, ..PLAN }, |asked| {
            if asked.fresh_server {
                let service_per_second = mu * (restart_sd * normal(&mut rng)).exp();
                queue = Queue { service_per_second, wait_s: 0.0 };
            }
            queue.wait_s = 0.0;
            trial(&mut queue, asked.per_second, deadline_s, &mut rng)
        });
        assert_eq!(redline.end, End::Confirmed, "{redline:?}");
        let (lower, upper) = (redline.lower.unwrap(), redline.upper.unwrap());
        covered += usize::from(lower <= truth && truth <= upper);
        widths.push(upper / lower - 1.0);
    }
    (covered as f64 / searches as f64, assay_stats::robust::median(&widths).unwrap())
}

#[test]
fn the_redline_of_a_queue_lies_in_the_interval() {
    let (covered, width) = coverage(0.0, 40, 1);
    assert!(covered >= 0.9 && width < 0.08, "covered {covered}, width {width}");
}

#[test]
fn restarts_that_differ_widen_the_interval_and_do_not_mislead() {
    let (covered, width) = coverage(0.03, 40, 2);
    assert!(covered >= 0.85 && width > 0.03, "covered {covered}, width {width}");
}
