//! The search for a redline, driven by windows: which load comes next, and what the windows measured so far have shown.
//!
//! The search is a function of the windows in the record, so it can be replayed from there: the same windows lead to
//! the same trials and to the same answer. A trial is made of several windows at one load, its slices.

use assay_model::record::Measurement;
use assay_model::rule::Rule;
use assay_model::slo::Slo;
use assay_model::units::total;
use assay_stats::Histogram;
use assay_stats::redline::{
    Decision, Judge, Purpose, Redline, Search, SearchPlan, Slice, Step, Trial, TrialOutcome,
};

use crate::evidence::sample::offered_rate;
use crate::evidence::window::Window;

/// Bounds nearer than this to each other are near enough.
const WIDTH: f64 = 0.02;
/// Servers that must agree on each bound.
const RESTARTS: u32 = 3;
/// Most trials of one search.
const MOST_TRIALS: u32 = 60;
/// Where the search begins, and between which loads it is made, as shares of the capacity. Most redlines lie a little below the
/// capacity, so it begins there and leaves it in small steps. A little more than the capacity can be carried where a closed
/// loop leaves the server waiting.
const START_SHARE: f64 = 0.8;
const FIRST_STEP: f64 = 1.25;
const LOWEST_SHARE: f64 = 0.001;
/// At this share of the capacity next to nothing waits for anything else.
const FLOOR_SHARE: f64 = 0.05;
const HIGHEST_SHARE: f64 = 2.0;
/// Requests of the trial at the floor. It asks whether any of them is in time: when not one of twenty is, at least 86 % are late
/// (0.86²⁰ is 5 %), and no objective allows so many.
const FLOOR_REQUESTS: f64 = 20.0;
/// How many deadlines it must last: a pause that is shorter makes not all requests late.
const FLOOR_DEADLINES: f64 = 10.0;
/// Windows that a trial begins with.
const SLICES: u32 = 4;
/// Shortest and longest of them, in seconds.
const SLICE_S: std::ops::RangeInclusive<f64> = 0.5..=20.0;
/// How many deadlines a window must last. At a load of 2 % too much the queue grows by 2 % of the time, so that after fifty
/// deadlines every further request is late.
const DEADLINES: f64 = 100.0;
/// Load before a window, over the window's length: a queue begins empty.
const SETTLE_SHARE: f64 = 0.2;
/// Allowed share of an objective that allows nothing: no finite number of requests could show that none is ever late.
const LEAST_SHARE: f64 = 1e-4;
/// Earlier versions searched with fractions of requests and offered whole ones: what they offered next is as near as this to what follows
/// from what they had offered, as a share and in requests per second. Where that is less than one, only the load itself will do.
const ROUNDED_SHARE: f64 = 0.005;
const ROUNDED: std::ops::RangeInclusive<f64> = 0.5..=3.0;
/// A rule of the generator that speaks of the server here: a load that cannot be carried is late, not void.
const CARRIED: Rule = Rule::OfferedLoad;

/// How long a trial of an objective takes at least which it passes, with the load before its windows, in seconds.
pub fn shortest_trial_s(slo: Slo) -> f64 {
    first_windows_s(slo) * (1.0 + SETTLE_SHARE) * f64::from(SLICES)
}

/// A search with what is known of its current trial.
#[derive(Clone, Debug)]
pub struct Course {
    slo: Slo,
    search: Search,
    judge: Judge,
    /// Windows of the current trial so far.
    slices: Vec<Slice>,
    /// Void windows of the current trial so far.
    void_slices: u32,
    /// Length of the next window.
    slice_s: f64,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Measure a window.
    Window {
        /// Offered load in requests per second.
        per_second: f64,
        /// Load before it, in seconds.
        settle_s: f64,
        /// Length of the window in seconds.
        window_s: f64,
        /// Whether a trial begins with it that needs a server which was not overloaded.
        fresh_server: bool,
    },
    /// The search is over.
    Done(Redline),
}

impl Course {
    /// A search that begins below `capacity`, the throughput of a closed loop; `None` when that is no rate to begin from.
    pub fn new(slo: Slo, capacity: f64) -> Option<Self> {
        let plan = SearchPlan {
            start: capacity * START_SHARE,
            step: FIRST_STEP,
            lowest: capacity * LOWEST_SHARE,
            floor: capacity * FLOOR_SHARE,
            highest: capacity * HIGHEST_SHARE,
            width: WIDTH,
            restarts: RESTARTS,
            most_trials: MOST_TRIALS,
        };
        let mut course = Self {
            slo,
            search: Search::new(plan).ok()?,
            judge: judge(slo, plan.start)?,
            slices: Vec::new(),
            void_slices: 0,
            slice_s: 0.0,
        };
        course.begin_trial();
        Some(course)
    }

    /// The search after the windows of the record, up to the first that it would not have asked for: the record is then of an
    /// assay that searched in another way, and what its windows mean cannot be told.
    pub fn replay<'w>(mut self, mut windows: impl Iterator<Item = &'w Window<'w>>) -> Self {
        while let Some(window) = windows.next().filter(|window| self.asks_for(window)) {
            self.take(window);
        }
        self
    }

    /// Whether this is the window that [`Self::next`] asked for.
    pub(crate) fn asks_for(&self, window: &Measurement) -> bool {
        match (self.next(), offered_rate(window)) {
            (Next::Window { per_second, .. }, Some(offered)) => {
                let rounded = (per_second * ROUNDED_SHARE).clamp(*ROUNDED.start(), *ROUNDED.end());
                (per_second - offered).abs() <= rounded
            }
            _ => false,
        }
    }

    /// What to do next; the same until a window is taken.
    pub fn next(&self) -> Next {
        match self.search.step() {
            Step::Done(redline) => Next::Done(redline),
            Step::Try(trial) => Next::Window {
                per_second: trial.per_second,
                settle_s: self.slice_s * SETTLE_SHARE,
                window_s: self.slice_s,
                fresh_server: trial.fresh_server && self.slices.is_empty() && self.void_slices == 0,
            },
        }
    }

    /// What is known now, whether or not the search is over.
    pub fn so_far(&self) -> Redline {
        self.search.so_far()
    }

    /// Takes the window that [`Self::next`] asked for.
    pub fn take(&mut self, window: &Window<'_>) {
        let Some(slice) = slice(window, self.slo) else {
            // One bad window is repeated; a trial that has as many of them as it needs good ones is void.
            self.void_slices += 1;
            if self.void_slices >= SLICES {
                self.tell(window, TrialOutcome::Void);
            }
            return;
        };
        self.slices.push(slice);
        let outcome = if self.is_hopeless() || self.is_at_the_floor() {
            self.missed()
        } else if self.slices.len() < SLICES as usize {
            return;
        } else {
            match self.judge.decide(&self.slices) {
                Decision::Pass => TrialOutcome::Pass,
                Decision::Fail => self.missed(),
                Decision::Undecided => TrialOutcome::Undecided,
                Decision::Extend { requests } => return self.extend(requests),
            }
        };
        self.tell(window, outcome);
    }

    /// Ends the trial of which this is the last window: it was made at the load that was offered.
    fn tell(&mut self, window: &Measurement, outcome: TrialOutcome) {
        match offered_rate(window) {
            Some(offered) => self.search.tell_at(offered, outcome),
            None => self.search.tell(outcome),
        }
        self.begin_trial();
    }

    /// How the objective was missed.
    fn missed(&self) -> TrialOutcome {
        match self.slices.iter().all(|slice| slice.late == slice.due) {
            true => TrialOutcome::NoneInTime,
            false => TrialOutcome::Fail,
        }
    }

    /// Whether the question is not how many requests are late, but whether all are: one window answers it.
    fn is_at_the_floor(&self) -> bool {
        matches!(self.search.step(), Step::Try(Trial { purpose: Purpose::Floor, .. }))
    }

    /// Whether so many requests were late, over a hundred deadlines and more, that no further window could make up for it.
    fn is_hopeless(&self) -> bool {
        let (late, due) = self
            .slices
            .iter()
            .fold((0, 0), |sum, slice| (total([sum.0, slice.late]), total([sum.1, slice.due])));
        let beyond_doubt = f64::midpoint(1.0, allowed(self.slo));
        due > 0 && late as f64 >= beyond_doubt * due as f64
    }

    /// Extends the trial by further requests, in windows of the same length, or in one more window that is long enough for them.
    fn extend(&mut self, requests: u64) {
        if let Next::Window { per_second, .. } = self.next() {
            self.slice_s =
                (requests as f64 / per_second / f64::from(SLICES)).clamp(self.slice_s, *SLICE_S.end());
        }
    }

    fn begin_trial(&mut self) {
        self.slices.clear();
        self.void_slices = 0;
        let Step::Try(trial) = self.search.step() else { return };
        let Some(judge) = judge(self.slo, trial.per_second) else { return };
        // Windows get longer where requests are few, but not the first ones: an overload shows in one of them.
        let wanted_s = match trial.purpose {
            Purpose::Floor => (FLOOR_REQUESTS / trial.per_second).max(deadline_s(self.slo) * FLOOR_DEADLINES),
            _ => deadline_s(self.slo) * DEADLINES,
        };
        self.slice_s = wanted_s.clamp(*SLICE_S.start(), *SLICE_S.end());
        self.judge = judge;
    }
}

/// Zero where the objective is about failures alone.
fn deadline_s(slo: Slo) -> f64 {
    slo.longest.map_or(0.0, |longest| longest.as_secs_f64())
}

/// Length of the windows that a trial begins with, in seconds.
fn first_windows_s(slo: Slo) -> f64 {
    (deadline_s(slo) * DEADLINES).clamp(*SLICE_S.start(), *SLICE_S.end())
}

fn allowed(slo: Slo) -> f64 {
    slo.allowed_share().max(LEAST_SHARE)
}

fn judge(slo: Slo, per_second: f64) -> Option<Judge> {
    let least_s = first_windows_s(slo) * f64::from(SLICES);
    // A tenth less, because a Poisson process may bring fewer than are due on average.
    Judge::new(allowed(slo), (0.9 * least_s * per_second) as u64).ok()
}

/// Whether a window tells nothing of the server.
pub(crate) fn is_void(window: &Measurement) -> bool {
    window.void_rules().iter().any(|rule| *rule != CARRIED)
}

/// How many requests of a window were late or failed; `None` for a void window.
fn slice(window: &Window<'_>, slo: Slo) -> Option<Slice> {
    if is_void(window) {
        return None;
    }
    let nothing = Histogram::new();
    let (ended, cut_off) = (window.times.response.as_ref().unwrap_or(&nothing), &window.times.censored);
    // Requests that were given up for lack of an answer in time are among the cut off ones.
    let failed = window.failed_otherwise();
    let late = slo.longest.map_or(0, |longest| ended.count() - ended.count_at_or_below(longest.0));
    Some(Slice {
        late: total([late, failed, cut_off.count()]),
        due: total([ended.count(), failed, cut_off.count()]),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing;
    use assay_model::load::{Arrival, ErrorClass};
    use assay_stats::redline::End;

    fn slo() -> Slo {
        "p99<10ms".parse().expect("slo")
    }

    /// A window at a load of a server that answers in time up to `redline` requests per second and is always late beyond.
    pub(crate) fn window(per_second: f64, window_s: f64, redline: f64) -> Measurement {
        let mut window = testing::record(&[("a", &[1000.0])]).rounds.remove(0).runs.remove(0).cells.remove(0);
        let mut histogram = Histogram::new();
        histogram.record_n(
            if per_second <= redline { 1_000_000 } else { 50_000_000 },
            (per_second * window_s) as u64,
        );
        window.load.arrival = Arrival::Poisson { per_second };
        window.load.latency.response_hdr = Some(histogram.to_hdr_base64().expect("histogram"));
        window
    }

    fn decoded(window: &Measurement) -> Window<'_> {
        Window::of("a", 0, window).expect("readable")
    }

    fn all(windows: &[Measurement]) -> Vec<Window<'_>> {
        windows.iter().map(decoded).collect()
    }

    /// Windows until the search is over, and the answer.
    fn search(redline: f64, spoil: impl Fn(usize, &mut Measurement)) -> (Vec<Measurement>, Redline) {
        let mut course = Course::new(slo(), 10_000.0).expect("course");
        let mut windows = Vec::new();
        loop {
            match course.next() {
                Next::Done(found) => return (windows, found),
                Next::Window { per_second, window_s, .. } => {
                    let mut made = window(per_second, window_s, redline);
                    spoil(windows.len(), &mut made);
                    course.take(&decoded(&made));
                    windows.push(made);
                    assert!(windows.len() < 2000, "no end");
                }
            }
        }
    }

    #[test]
    fn the_redline_is_found_and_the_record_replays_to_the_same_answer() {
        let (windows, found) = search(7_300.0, |_, _| {});
        assert_eq!(found.end, End::Confirmed);
        let (lower, upper) = (found.lower.expect("kept"), found.upper.expect("missed"));
        assert!(lower <= 7_301.0 && 7_299.0 <= upper && upper / lower <= 1.021, "{found:?}");
        assert_eq!(found.descending, found.lower);
        let again = Course::new(slo(), 10_000.0).expect("course").replay(all(&windows).iter());
        assert_eq!(again.next(), Next::Done(found));
        let half =
            Course::new(slo(), 10_000.0).expect("course").replay(all(&windows[..windows.len() / 2]).iter());
        let rest = half.replay(all(&windows[windows.len() / 2..]).iter());
        assert_eq!(rest.next(), Next::Done(found));
        let elsewhere = Course::new(slo(), 10_000.0).expect("course").replay(all(&windows[1..]).iter());
        assert_eq!(elsewhere.so_far().trials, 0, "windows that it would not have asked for");
    }

    /// Ten answers per second: the loads that are told are those that were offered, and no share of one.
    #[test]
    fn a_redline_of_few_requests_is_told_as_it_was_offered() {
        for redline in [10.1, 10.9, 1.5] {
            let mut course = Course::new(slo(), 15.0).expect("course");
            let mut offered = Vec::new();
            let found = loop {
                match course.next() {
                    Next::Done(found) => break found,
                    Next::Window { per_second, window_s, .. } => {
                        assert_eq!(per_second.fract(), 0.0, "the generator takes whole numbers");
                        offered.push(per_second);
                        course.take(&decoded(&window(per_second, window_s * 1000.0, redline)));
                    }
                }
                assert!(offered.len() < 2000, "no end");
            };
            let (lower, upper) = (found.lower.expect("kept"), found.upper.expect("missed"));
            assert_eq!((found.end, lower, upper), (End::Confirmed, redline.floor(), redline.ceil()));
            assert!(offered.contains(&lower) && offered.contains(&upper), "{found:?}");
        }
    }

    /// A search by fractions of requests offers one more or less than follows from what was offered before.
    #[test]
    fn what_an_earlier_version_offered_is_what_its_trials_were_of() {
        let (mut windows, found) = search(7_300.0, |_, _| {});
        let first_kept = windows.iter().filter_map(offered_rate).find(|rate| *rate == 6_400.0);
        assert!(first_kept.is_some() && found.lower != first_kept, "{found:?}");
        for window in windows.iter_mut().filter(|window| offered_rate(window) == first_kept) {
            window.load.arrival = Arrival::Poisson { per_second: 6_401.0 };
        }
        let again = Course::new(slo(), 10_000.0).expect("course").replay(all(&windows).iter());
        assert_eq!(again.next(), Next::Done(found));
    }

    #[test]
    fn an_objective_out_of_reach_takes_two_trials() {
        let (windows, found) = search(0.0, |_, _| {});
        assert_eq!((found.end, found.lower, found.trials), (End::BelowLowest, None, 2));
        assert!(windows.len() < 10, "{} windows", windows.len());
    }

    /// A server that serves 32 connections in 200 ms each, and 160 requests per second.
    #[test]
    fn the_floor_of_a_slow_server_takes_seconds_and_one_window() {
        let slow = "p99<100ms".parse().expect("slo");
        let mut course = Course::new(slow, 160.0).expect("course");
        let mut told = Vec::new();
        while let Next::Window { per_second, settle_s, window_s, .. } = course.next() {
            told.push((per_second, settle_s + window_s));
            let mut made = window(per_second, window_s, 0.0);
            let mut histogram = Histogram::new();
            histogram.record_n(203_000_000, (per_second * window_s) as u64);
            made.load.latency.response_hdr = Some(histogram.to_hdr_base64().expect("histogram"));
            course.take(&decoded(&made));
        }
        let [(_, start_s), (floor, takes_s)] = told.as_slice() else { panic!("{told:?}") };
        assert!(*start_s <= 12.0, "{start_s} s for a hundred deadlines");
        assert_eq!(*floor, 8.0);
        assert!((2.5..4.0).contains(takes_s), "{takes_s} s for twenty requests");
        assert_eq!(course.so_far().end, End::BelowLowest);
    }

    #[test]
    fn a_floor_at_which_some_are_in_time_is_left_after_one_window() {
        let mut course = Course::new(slo(), 10_000.0).expect("course");
        course.take(&decoded(&window(8_000.0, 1.0, 0.0)));
        let Next::Window { per_second: 500.0, window_s, .. } = course.next() else { panic!("no floor") };
        course.take(&decoded(&window(500.0, window_s, 600.0)));
        let Next::Window { per_second, .. } = course.next() else { panic!("over") };
        assert!(per_second < 8_000.0 && per_second > 500.0, "{per_second}");
    }

    #[test]
    fn a_void_window_is_no_fail_and_a_load_that_cannot_be_carried_is_one() {
        let (_, found) = search(7_300.0, |index, window| {
            if index % 40 == 3 {
                window.machine.steal_share = 1.0;
            }
        });
        assert!(found.lower.is_some_and(|lower| lower > 7_100.0), "{found:?}");
        let mut slow = window(9_000.0, 1.0, 7_300.0);
        let mut rule = testing::little(assay_model::check::CheckOutcome::Void);
        rule.rule = CARRIED;
        slow.load.checks = vec![rule];
        assert_eq!(slice(&decoded(&slow), slo()), Some(Slice { late: 9_000, due: 9_000 }));
    }

    #[test]
    fn failures_count_as_late_and_those_without_an_answer_once() {
        let mut spoilt = window(1_000.0, 1.0, 7_300.0);
        spoilt.load.window.errors = [(ErrorClass::WrongBody, 5), (ErrorClass::HeadTimeout, 7)].into();
        let mut cut_off = Histogram::new();
        cut_off.record_n(5_000_000_000, 7);
        spoilt.load.latency.censored_hdr = Some(cut_off.to_hdr_base64().expect("histogram"));
        assert_eq!(slice(&decoded(&spoilt), slo()), Some(Slice { late: 12, due: 1_012 }));
        let mut unconnected = spoilt.clone();
        unconnected.load.window.errors.insert(ErrorClass::ConnectTimeout, 3);
        let all = Some(Slice { late: 15, due: 1_015 });
        assert_eq!(slice(&decoded(&unconnected), slo()), all, "nobody knows how long those were waited for");
        assert_eq!(
            slice(&decoded(&spoilt), "errors<0.1%".parse().expect("slo")),
            Some(Slice { late: 12, due: 1_012 })
        );
    }

    #[test]
    fn an_overload_ends_its_trial_early() {
        let (windows, _) = search(7_300.0, |_, _| {});
        let rate = |window: &Measurement| match window.load.arrival {
            Arrival::Poisson { per_second } => per_second,
            _ => 0.0,
        };
        let beyond = windows.iter().filter(|window| rate(window) == 8_000.0).count();
        assert!((1..SLICES as usize).contains(&beyond), "{beyond} windows of a hopeless trial");
    }
}
