//! The redline: the highest offered load that keeps a goal, found as an interval by trials.
//!
//! A search that decides nothing but which load to try next; who measures, and how, is the caller's business. The steps and
//! terms are those of Multiple Loss Ratio Search (RFC 9971), with "late" for "lost": from a first load step up (or
//! down), each step as long as all before it but never beyond a doubling, until one load passes and one fails, halve the distance
//! between them in the logarithm of the load until it is at most the goal width, then *confirm* both bounds on fresh servers. A
//! bound that one restart refutes is moved outwards, by twice as much each time, and confirmed anew: so the interval widens to what
//! restarts differ by, and its bounds are loads at which all restarts agreed.
//!
//! **Up and down.** A server that was overloaded need not come back at the load it could carry before. On the way up every
//! server that failed is therefore replaced by a fresh one. At the end one is overloaded on purpose and the load is lowered
//! until it passes; the distance to the lower bound is the gap.
//!
//! **A goal out of reach.** A trial in which not one request is in time says little of the load: the queue may be at fault, or
//! the server itself, whatever the load. So the next load is the *floor*, at which nothing queues. When again not one is in time, no
//! load keeps the goal, and the search need not walk all the way down to say so.
//!
//! A void trial is repeated and is never a fail.
//!
//! All loads are whole numbers, which is what a generator can be told. Bounds that are next to each other cannot be halved any more,
//! and are near enough whatever share lies between them.

mod trial;

pub use trial::{Decision, Judge, Slice};

use crate::StatsError;

/// How far above the upper bound a server is overloaded before the way down.
const OVERLOAD: f64 = 1.25;
/// The least load that there is, and the distance between two.
const LEAST: f64 = 1.0;
/// Void trials in a row after which the search is given up.
const MOST_VOID: u32 = 5;

/// What to search, and how long at most. Loads are in requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchPlan {
    /// The first load to try; a guess near the truth saves trials.
    pub start: f64,
    /// Factor of the first step away from it, above 1 and at most 2: small where the guess is a good one.
    pub step: f64,
    /// Below this load it is not searched.
    pub lowest: f64,
    /// A load at which nothing waits for anything else, between the lowest and the first.
    pub floor: f64,
    /// Above this load it is not searched: what the generator can offer.
    pub highest: f64,
    /// Relative distance of the bounds at which they are near enough; 0.02 for 2 %.
    pub width: f64,
    /// Servers that must agree on each bound.
    pub restarts: u32,
    /// Most trials, void ones included.
    pub most_trials: u32,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialOutcome {
    /// The load kept the goal.
    Pass,
    /// The load missed the goal.
    Fail,
    /// The load missed the goal with every single request.
    NoneInTime,
    /// The load was too close to the goal to tell.
    Undecided,
    /// The measurement cannot be used.
    Void,
}

impl TrialOutcome {
    /// Whether the goal was missed.
    fn is_fail(self) -> bool {
        matches!(self, Self::Fail | Self::NoneInTime)
    }
}

/// What a trial is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Looking for a load that passes and one that fails.
    Bracket,
    /// Asking whether any load can pass.
    Floor,
    /// Halving the distance between them.
    Narrow,
    /// Checking that another server passes at the lower bound too.
    ConfirmLower,
    /// Checking that another server fails at the upper bound too.
    ConfirmUpper,
    /// Overloading a server on purpose; its outcome does not matter.
    Overload,
    /// Looking for the load at which an overloaded server recovers.
    Descend,
}

/// A trial to make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Offered load in requests per second.
    pub per_second: f64,
    /// Whether the server has to be started afresh before.
    pub fresh_server: bool,
    /// What it is for.
    pub purpose: Purpose,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Make this trial and tell its outcome.
    Try(Trial),
    /// The search is over.
    Done(Redline),
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Both bounds are confirmed.
    Confirmed,
    /// Even the highest load passes: the redline lies above it.
    AboveHighest,
    /// Even the lowest load fails, or the floor with every request: no load that was searched keeps the goal.
    BelowLowest,
    /// The trials are used up; the bounds are the best known.
    TrialsSpent,
    /// Too many trials in a row were void.
    TooManyVoid,
}

/// The answer: the redline lies between `lower` and `upper`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Redline {
    /// Highest load known to keep the goal (relevant lower bound); `None` when none is.
    pub lower: Option<f64>,
    /// Lowest load known to miss it (relevant upper bound); `None` when none is.
    pub upper: Option<f64>,
    /// Highest load at which an overloaded server kept the goal again: the lower bound itself for one that recovers at once,
    /// 0 for one that did so at no load; `None` when that was not found out.
    pub descending: Option<f64>,
    /// Why the search ended.
    pub end: End,
    /// Trials made.
    pub trials: u32,
}

/// A bound, and how many servers it was seen with.
#[derive(Debug, Clone, Copy)]
struct Bound {
    per_second: f64,
    servers: u32,
    /// How often it was moved outwards.
    moved: u32,
}

impl Bound {
    fn seen(per_second: f64) -> Self {
        Self { per_second, servers: 1, moved: 0 }
    }

    fn supposed(per_second: f64) -> Self {
        Self { servers: 0, ..Self::seen(per_second) }
    }

    /// Moves it by `factor` to the first, second, fourth, … power.
    fn refuted(&mut self, factor: f64) {
        self.per_second = away(self.per_second, factor.powi(1 << self.moved.min(10)));
        self.servers = 0;
        self.moved += 1;
    }
}

/// A load `times` as large, as a whole number, and another than this.
fn away(per_second: f64, times: f64) -> f64 {
    let to = (per_second * times).round();
    if times > 1.0 { to.max(per_second + LEAST) } else { to.min(per_second - LEAST) }
}

/// The load in the middle of two, by their logarithms.
fn between(lower: f64, upper: f64) -> f64 {
    (lower * upper).sqrt().round()
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Bracketing and narrowing.
    Search,
    /// Confirming the bounds.
    Confirm,
    Overload,
    /// With the lowest load that failed on the way down and the highest that passed.
    Descend {
        failed: f64,
        passed: Option<f64>,
        steps: u32,
    },
    Over(End),
}

/// Whether the floor is to be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Floor {
    NotNeeded,
    Next,
    Tried,
}

/// A search in progress.
#[derive(Debug, Clone)]
pub struct Search {
    plan: SearchPlan,
    phase: Phase,
    lower: Option<Bound>,
    upper: Option<Bound>,
    floor: Floor,
    descending: Option<f64>,
    last: Option<(Purpose, TrialOutcome)>,
    trials: u32,
    void_in_a_row: u32,
}

impl Search {
    /// Begins a search.
    ///
    /// # Errors
    /// When the loads are not 0 < lowest ≤ floor ≤ start ≤ highest, the step is not above 1 and at most 2, the width is not above 0, or no
    /// server or trial is allowed.
    pub fn new(plan: SearchPlan) -> Result<Self, StatsError> {
        let check = |holds: bool, name: &'static str, range: &'static str, value: f64| {
            if holds { Ok(()) } else { Err(StatsError::OutOfRange { name, range, value }) }
        };
        check(plan.lowest > 0.0, "lowest load", "above 0", plan.lowest)?;
        let inside = (plan.lowest..=plan.highest).contains(&plan.start) && plan.highest.is_finite();
        check(inside, "first load", "between the lowest and the highest", plan.start)?;
        let below = (plan.lowest..=plan.start).contains(&plan.floor);
        check(below, "floor", "between the lowest load and the first", plan.floor)?;
        check(plan.step > 1.0 && plan.step <= 2.0, "first step", "above 1, at most 2", plan.step)?;
        check(plan.width > 0.0 && plan.width.is_finite(), "width", "above 0", plan.width)?;
        check(plan.restarts > 0, "number of servers", "at least 1", f64::from(plan.restarts))?;
        check(plan.most_trials > 0, "number of trials", "at least 1", f64::from(plan.most_trials))?;
        let whole = |load: f64| load.round().max(LEAST);
        let [lowest, floor, start, highest] = [plan.lowest, plan.floor, plan.start, plan.highest].map(whole);
        let plan = SearchPlan { lowest, floor, start, highest, ..plan };
        let (lower, upper, descending, last) = (None, None, None, None);
        let (phase, floor) = (Phase::Search, Floor::NotNeeded);
        Ok(Self { plan, phase, lower, upper, floor, descending, last, trials: 0, void_in_a_row: 0 })
    }

    /// What to do next; the same until an outcome is told.
    pub fn step(&self) -> Step {
        match self.phase {
            Phase::Over(end) => Step::Done(self.redline(end)),
            Phase::Search => Step::Try(self.searching()),
            Phase::Confirm => Step::Try(self.confirming()),
            Phase::Overload => Step::Try(self.overloading()),
            Phase::Descend { failed, passed, steps } => Step::Try(self.descend_to(failed, passed, steps)),
        }
    }

    /// Takes the outcome of the trial that [`Self::step`] asked for; ignored when the search is over.
    pub fn tell(&mut self, outcome: TrialOutcome) {
        if let Step::Try(trial) = self.step() {
            self.take(trial, outcome);
        }
    }

    /// Takes its outcome at the load that was offered in its stead.
    pub fn tell_at(&mut self, per_second: f64, outcome: TrialOutcome) {
        if let Step::Try(trial) = self.step() {
            self.take(Trial { per_second, ..trial }, outcome);
        }
    }

    fn take(&mut self, trial: Trial, outcome: TrialOutcome) {
        self.trials += 1;
        self.void_in_a_row = if outcome == TrialOutcome::Void { self.void_in_a_row + 1 } else { 0 };
        if outcome != TrialOutcome::Void {
            match self.phase {
                Phase::Search if trial.purpose == Purpose::Floor => {
                    self.tried_the_floor(trial.per_second, outcome);
                }
                Phase::Search => self.searched(trial.per_second, outcome),
                Phase::Confirm => self.confirmed(trial, outcome),
                Phase::Overload => self.overloaded(),
                Phase::Descend { failed, passed, steps } => {
                    self.descended(trial.per_second, outcome, failed, passed, steps);
                }
                Phase::Over(_) => {}
            }
            self.last = Some((trial.purpose, outcome));
        }
        self.give_up();
    }

    /// What is known now, as if no further trial could be made.
    pub fn so_far(&self) -> Redline {
        self.redline(self.end_without(End::TrialsSpent))
    }

    fn give_up(&mut self) {
        if self.void_in_a_row >= MOST_VOID {
            self.phase = Phase::Over(self.end_without(End::TooManyVoid));
        } else if self.trials >= self.plan.most_trials {
            self.phase = Phase::Over(self.end_without(End::TrialsSpent));
        }
    }

    /// The end of a search that goes no further, `because` its question was not answered before: on the way down both bounds are
    /// confirmed.
    fn end_without(&self, because: End) -> End {
        match self.phase {
            Phase::Over(end) => end,
            Phase::Overload | Phase::Descend { .. } => End::Confirmed,
            Phase::Search | Phase::Confirm => because,
        }
    }

    fn redline(&self, end: End) -> Redline {
        let load = |bound: Option<Bound>| bound.map(|bound| bound.per_second);
        let (lower, upper) = (load(self.lower), load(self.upper));
        Redline { lower, upper, descending: self.descending, end, trials: self.trials }
    }
}

/// The way up: bracket and narrow.
impl Search {
    fn searching(&self) -> Trial {
        let (per_second, purpose) = match (self.lower, self.upper) {
            (None, _) if self.floor == Floor::Next => (self.plan.floor, Purpose::Floor),
            (None, None) => (self.plan.start, Purpose::Bracket),
            (Some(lower), None) => {
                (away(lower.per_second, self.step_from(lower)).min(self.plan.highest), Purpose::Bracket)
            }
            (None, Some(upper)) => {
                (away(upper.per_second, 1.0 / self.step_from(upper)).max(self.plan.lowest), Purpose::Bracket)
            }
            (Some(lower), Some(upper)) => (between(lower.per_second, upper.per_second), Purpose::Narrow),
        };
        let overloaded = self.last.is_none_or(|(_, outcome)| outcome != TrialOutcome::Pass);
        Trial { per_second, fresh_server: overloaded, purpose }
    }

    /// The factor by which the search has moved so far: steps grow, because a guess that was wrong once may be wrong by much.
    fn step_from(&self, reached: Bound) -> f64 {
        let so_far = (reached.per_second / self.plan.start).ln().abs().exp();
        so_far.clamp(self.plan.step, 2.0)
    }

    fn searched(&mut self, per_second: f64, outcome: TrialOutcome) {
        match outcome {
            TrialOutcome::Pass => self.lower = Some(Bound::seen(per_second)),
            TrialOutcome::Fail => self.upper = Some(Bound::seen(per_second)),
            TrialOutcome::NoneInTime => {
                self.upper = Some(Bound::seen(per_second));
                if self.floor == Floor::NotNeeded {
                    self.floor = Floor::Next;
                }
            }
            TrialOutcome::Undecided | TrialOutcome::Void => return self.suppose_around(per_second),
        }
        match (self.lower, self.upper) {
            (Some(lower), None) if lower.per_second >= self.plan.highest => {
                self.phase = Phase::Over(End::AboveHighest);
            }
            (None, Some(upper)) if upper.per_second <= self.plan.lowest => {
                self.phase = Phase::Over(End::BelowLowest);
            }
            (Some(lower), Some(upper)) if self.are_near(lower.per_second, upper.per_second) => {
                self.phase = Phase::Confirm;
                self.confirm_or_descend();
            }
            _ => {}
        }
    }

    /// A floor that passes, or fails in part, says only that the search is worth its time.
    fn tried_the_floor(&mut self, per_second: f64, outcome: TrialOutcome) {
        self.floor = Floor::Tried;
        if outcome == TrialOutcome::NoneInTime {
            self.upper = Some(Bound::seen(per_second));
            self.phase = Phase::Over(End::BelowLowest);
        }
    }

    /// A load that more requests do not decide *is* the redline, as far as one server can tell: bounds are put to either
    /// side of it, unless nearer ones are known, and left to be confirmed.
    fn suppose_around(&mut self, per_second: f64) {
        let (below, above) = (away(per_second, 1.0 / self.factor()), away(per_second, self.factor()));
        self.lower = self.lower.filter(|known| known.per_second >= below).or(Some(Bound::supposed(below)));
        self.upper = self.upper.filter(|known| known.per_second <= above).or(Some(Bound::supposed(above)));
        self.phase = Phase::Confirm;
        self.keep_within();
    }

    fn factor(&self) -> f64 {
        1.0 + self.plan.width
    }

    /// Whether two loads are as near to each other as is wanted, or as can be.
    fn are_near(&self, lower: f64, upper: f64) -> bool {
        upper / lower <= self.factor() || upper - lower <= LEAST
    }
}

/// Confirming both bounds on fresh servers.
impl Search {
    fn confirming(&self) -> Trial {
        let load = |bound: Option<Bound>| bound.map_or(self.plan.start, |bound| bound.per_second);
        let servers = |bound: Option<Bound>| bound.map_or(0, |bound| bound.servers);
        let (below, above) = (servers(self.lower), servers(self.upper));
        if below < self.plan.restarts && below <= above {
            return Trial {
                per_second: load(self.lower),
                fresh_server: true,
                purpose: Purpose::ConfirmLower,
            };
        }
        if above < self.plan.restarts {
            // The server that has just passed at the lower bound may go on to the upper one.
            let fresh_server = self.last != Some((Purpose::ConfirmLower, TrialOutcome::Pass));
            return Trial { per_second: load(self.upper), fresh_server, purpose: Purpose::ConfirmUpper };
        }
        Trial { per_second: load(self.lower), fresh_server: true, purpose: Purpose::ConfirmLower }
    }

    /// Of servers that agree at loads that differ by what was rounded, the outermost load is the bound.
    fn confirmed(&mut self, trial: Trial, outcome: TrialOutcome) {
        let is_lower = trial.purpose == Purpose::ConfirmLower;
        let (bound, agrees, outwards) = if is_lower {
            (&mut self.lower, outcome == TrialOutcome::Pass, 1.0 / (1.0 + self.plan.width))
        } else {
            (&mut self.upper, outcome.is_fail(), 1.0 + self.plan.width)
        };
        match bound {
            Some(bound) if agrees => {
                bound.servers += 1;
                let outermost = if is_lower { f64::min } else { f64::max };
                bound.per_second = outermost(bound.per_second, trial.per_second);
            }
            Some(bound) => bound.refuted(outwards),
            None => {}
        }
        self.keep_within();
        self.confirm_or_descend();
    }

    /// Ends the search when a bound has been moved out of what may be searched.
    fn keep_within(&mut self) {
        if self.lower.is_some_and(|lower| lower.per_second < self.plan.lowest) {
            self.lower = None;
            self.phase = Phase::Over(End::BelowLowest);
        } else if self.upper.is_some_and(|upper| upper.per_second > self.plan.highest) {
            self.upper = None;
            self.phase = Phase::Over(End::AboveHighest);
        }
    }

    fn confirm_or_descend(&mut self) {
        let enough = |bound: Option<Bound>| bound.is_some_and(|bound| bound.servers >= self.plan.restarts);
        if matches!(self.phase, Phase::Confirm) && enough(self.lower) && enough(self.upper) {
            self.phase = Phase::Overload;
        }
    }
}

/// The way down.
impl Search {
    fn overloading(&self) -> Trial {
        let upper = self.upper.map_or(self.plan.highest, |upper| upper.per_second);
        let per_second = away(upper, OVERLOAD).min(self.plan.highest);
        Trial { per_second, fresh_server: true, purpose: Purpose::Overload }
    }

    fn overloaded(&mut self) {
        let failed = self.upper.map_or(self.plan.highest, |upper| upper.per_second);
        self.phase = Phase::Descend { failed, passed: None, steps: 0 };
    }

    /// First the lower bound, then lower by 1, 2, 4, … widths; once it has passed, halving as on the way up.
    fn descend_to(&self, failed: f64, passed: Option<f64>, steps: u32) -> Trial {
        let per_second = match (passed, steps) {
            (Some(passed), _) => between(passed, failed),
            (None, 0) => self.lower.map_or(failed, |lower| lower.per_second),
            (None, steps) => away(failed, self.factor().powi(-(1 << (steps - 1).min(10)))).max(LEAST),
        };
        Trial { per_second, fresh_server: false, purpose: Purpose::Descend }
    }

    fn descended(
        &mut self,
        per_second: f64,
        outcome: TrialOutcome,
        failed: f64,
        passed: Option<f64>,
        steps: u32,
    ) {
        let passes = outcome == TrialOutcome::Pass;
        let (failed, passed) = if passes { (failed, Some(per_second)) } else { (per_second, passed) };
        let recovered_at_once = passes && steps == 0;
        let near_enough = |passed: &f64| recovered_at_once || self.are_near(*passed, failed);
        let is_least = failed < self.plan.lowest || failed <= LEAST;
        let never = (passed.is_none() && is_least).then_some(0.0);
        self.descending = passed.filter(near_enough).or(never);
        self.phase = match self.descending {
            Some(_) => Phase::Over(End::Confirmed),
            None => Phase::Descend { failed, passed, steps: steps + 1 },
        };
    }
}
