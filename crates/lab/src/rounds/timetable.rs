//! The time of a run: how long it has been at work, what its budget leaves, and how many rounds that allows.
//!
//! Pure: who asks says what time it is, by the clock that stands still in pauses ([`Stop::unpaused_now`](crate::stop::Stop::unpaused_now)).

use std::time::{Duration, Instant};

use assay_model::experiment::Experiment;

use crate::schedule::{affordable_rounds, allows_another, planned_rounds, within};

/// When the rounds of a run began, and how long they take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timetable {
    budget: Option<Duration>,
    /// How long asking contenders took before the first round; it counts as part of the budget.
    asking: Duration,
    /// When the first round began.
    began: Instant,
    /// Length of the next round, going by the longest so far, or the predicted one.
    round: Duration,
}

impl Timetable {
    /// The timetable of a run of which no round has begun, when each is predicted to take `round`.
    pub(super) fn new(budget_s: Option<f64>, round: Duration, now: Instant) -> Self {
        let budget = budget_s.map(Duration::from_secs_f64);
        Self { budget, asking: Duration::ZERO, began: now, round }
    }

    /// Asking contenders took so long.
    pub(super) fn asked_for(&mut self, asking: Duration) {
        self.asking = asking;
    }

    /// The first round begins.
    pub(super) fn begin(&mut self, now: Instant) {
        self.began = now;
    }

    /// When the first round began.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// How long rounds have been measured.
    pub(super) fn worked(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    /// When the budget is spent.
    pub(super) fn budget_ends(&self) -> Option<Instant> {
        Some(self.began + self.budget?.saturating_sub(self.asking))
    }

    /// What is left of the budget.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        self.budget_ends().map(|end| end.saturating_duration_since(now))
    }

    /// Whether nothing is left of the budget.
    pub(super) fn is_spent(&self, now: Instant) -> bool {
        self.left(now).is_some_and(|left| left.is_zero())
    }

    /// The next round will take so long by what round `index` took: the first one that was timed replaces the prediction, and from then on
    /// the longest counts.
    pub(super) fn expect(&mut self, index: u32, next: Duration) {
        self.round = if index == 0 { next } else { self.round.max(next) };
    }

    /// The next round will take this share of the time, because some no longer take part.
    pub(super) fn shorten(&mut self, share: f64) {
        self.round = self.round.mul_f64(share);
    }

    /// Most rounds of a run that looks after each at what so many contenders have shown.
    pub(super) fn planned_rounds(&self, experiment: &Experiment, compared: usize) -> u32 {
        planned_rounds(experiment, self.asking, self.round, compared)
    }

    /// Rounds that the budget allows.
    pub(super) fn affordable_rounds(&self, experiment: &Experiment) -> u32 {
        affordable_rounds(experiment, self.asking, self.round)
    }

    /// Whether another round may begin now that so many are done.
    pub(super) fn allows_another(&self, experiment: &Experiment, done: u32, now: Instant) -> bool {
        allows_another(experiment, done, self.asking + self.worked(now), self.round)
    }

    /// How long so many further rounds take, whatever is left of the budget: those that are measured in any case.
    pub(super) fn time_of(&self, rounds: u32) -> Duration {
        self.round * rounds
    }

    /// How long so many further rounds take and a look after them; never longer than the rest of the budget, because no round is begun that
    /// would end behind it.
    pub(super) fn time_for(&self, rounds: u32, look: Duration, now: Instant) -> Duration {
        within(self.round * rounds + look, self.left(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A run of a minute that has asked for ten seconds and whose rounds are predicted to take five; and when its rounds began.
    fn minute() -> (Timetable, Instant) {
        let now = Instant::now();
        let mut times = Timetable::new(Some(60.0), SECOND * 5, now);
        times.asked_for(SECOND * 10);
        times.begin(now + SECOND * 10);
        (times, now + SECOND * 10)
    }

    #[test]
    fn asking_contenders_is_part_of_the_budget() {
        let (times, began) = minute();
        assert_eq!(times.budget_ends(), Some(began + SECOND * 50));
        assert_eq!(times.left(began + SECOND * 20), Some(SECOND * 30));
        assert_eq!(times.worked(began + SECOND * 20), SECOND * 20);
        assert!(!times.is_spent(began + SECOND * 49) && times.is_spent(began + SECOND * 50));
        let longer = Timetable { asking: SECOND * 90, ..times };
        assert!(longer.is_spent(began), "all of it went into asking");
        let unbounded = Timetable { budget: None, ..times };
        assert_eq!((unbounded.left(began), unbounded.is_spent(began + SECOND * 3600)), (None, false));
        assert_eq!(times.worked(began - SECOND), Duration::ZERO);
    }

    #[test]
    fn the_first_round_replaces_the_prediction_and_later_ones_only_make_it_longer() {
        let (mut times, began) = minute();
        let next = |times: &Timetable| times.time_for(1, Duration::ZERO, began);
        assert_eq!(next(&times), SECOND * 5);
        times.expect(0, SECOND * 3);
        assert_eq!(next(&times), SECOND * 3);
        times.expect(1, SECOND * 2);
        assert_eq!(next(&times), SECOND * 3);
        times.expect(2, SECOND * 4);
        assert_eq!(next(&times), SECOND * 4);
        times.shorten(0.5);
        assert_eq!(next(&times), SECOND * 2);
    }

    #[test]
    fn what_is_told_to_be_left_is_no_longer_than_the_budget_leaves() {
        let (times, began) = minute();
        assert_eq!(times.time_for(4, SECOND * 6, began), SECOND * 26);
        assert_eq!(times.time_for(4, SECOND * 6, began + SECOND * 30), SECOND * 20);
        assert_eq!(times.time_for(4, SECOND * 6, began + SECOND * 60), Duration::ZERO);
        assert_eq!(times.time_of(2), SECOND * 10, "which are begun all the same");
        let unbounded = Timetable { budget: None, ..times };
        assert_eq!(unbounded.time_for(4, SECOND * 6, began + SECOND * 30), SECOND * 26);
    }

    #[test]
    fn rounds_fit_into_what_asking_left() {
        let (times, began) = minute();
        let experiment: Experiment = toml::from_str(
            "name = \"e\"\ncontenders = []\nrounds = 40\nbudget_s = 60.0\n[[measure]]\nworkload = \"w\"\nconnections = [1]\n",
        )
        .expect("experiment");
        assert_eq!(times.affordable_rounds(&experiment), 10);
        assert_eq!(times.planned_rounds(&experiment, 2), 10);
        assert_eq!(times.planned_rounds(&experiment, 3), 13, "some to spare where contenders may leave");
        assert!(times.allows_another(&experiment, 9, began + SECOND * 45));
        assert!(!times.allows_another(&experiment, 9, began + SECOND * 46));
    }
}
