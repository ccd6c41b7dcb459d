//! How long a run takes, before anything was timed: what it would take at least, and how its budget is divided at first.

use std::time::Duration;

use assay_model::experiment::Experiment;
use assay_model::offered::Offered;
use assay_verdict::allocation::{Further, Means, opening};
use assay_verdict::course::shortest_trial_s;
use assay_verdict::outlook::Past;

use crate::plan::RunPlan;
use crate::schedule::{
    Lives, MAX_ROTATIONS, MIN_ROTATIONS, affordable_rounds, guaranteed_rounds, predicted_asking,
    predicted_round, within,
};
use crate::subject::{Launch, Subject};

/// Share of a round that is left for turns at least, where the budget bounds them: with fewer rounds each has more of them.
const LEAST_SHARE: f64 = 0.25;

/// How long a run will take, before anything was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Asking every contender for the rules, or for the length of its answers, before the first round.
    pub asking: Duration,
    /// Rounds that the budget allows.
    pub rounds: u32,
    /// Length of one.
    pub round: Duration,
}

impl Prediction {
    /// Length of the whole run behind the preparation.
    pub fn total(&self) -> Duration {
        self.asking + self.round * self.rounds
    }
}

impl RunPlan {
    /// How long it will take when all contenders take part, and is as noisy as a run of the `past`.
    pub fn prediction(&self, past: Option<&Past>) -> Prediction {
        let asking = self.asking();
        let Some(budget_s) = self.experiment.budget_s.filter(|_| self.takes_turns()) else {
            let round = predicted_round(&self.experiment, &self.parts(), Lives::First);
            let rounds = self.rounds_that_fit();
            let left = self.time_for_a_search().map(|time| time.saturating_sub(asking) / rounds.max(1));
            return Prediction { asking, rounds, round: within(round, left) };
        };
        let left = Duration::from_secs_f64(budget_s).saturating_sub(asking);
        let rounds = if self.allots() { self.opening(left, past).rounds } else { self.rounds_that_fit() };
        let least = self.costs(past).of(rounds, MIN_ROTATIONS);
        Prediction { asking, rounds, round: least.max(left) / rounds.max(1) }
    }

    /// What is asked before the first round.
    fn asking(&self) -> Duration {
        let (for_rules, others): (Vec<&Subject>, _) =
            self.subjects.iter().partition(|subject| self.is_asked(subject));
        let is_started = |subject: &&Subject| matches!(subject.launch, Launch::Process(_));
        let for_lengths = others.into_iter().filter(is_started).filter(|of| !self.sized(of).is_empty());
        predicted_asking(for_rules.len(), for_lengths.count())
    }

    /// The budget of a run that does nothing but search for redlines: it ends where its time does.
    fn time_for_a_search(&self) -> Option<Duration> {
        let budget_s = self.experiment.budget_s.filter(|_| self.experiment.searches_alone())?;
        Some(Duration::from_secs_f64(budget_s))
    }

    /// The time without which nothing can be measured: the fewest rounds, with the fewest turns.
    pub fn least_time(&self) -> Duration {
        let rounds = self.guaranteed_rounds();
        self.asking()
            + match self.takes_turns() {
                true => self.costs(None).of(rounds, MIN_ROTATIONS),
                false => self.least_round() * rounds,
            }
    }

    /// Shortest time of a round in one piece: of each search one trial.
    fn least_round(&self) -> Duration {
        let mut parts = self.parts();
        let trials = parts.iter().flatten().filter_map(|cell| match cell.offered {
            Offered::Redline(slo) => Some(shortest_trial_s(slo)),
            _ => None,
        });
        let trials = Duration::from_secs_f64(trials.sum());
        parts.iter_mut().for_each(|cells| cells.retain(|cell| !cell.offered.is_search()));
        predicted_round(&self.experiment, &parts, Lives::First) + trials
    }

    /// Fewest rounds of the run: one alone shows no difference.
    pub fn guaranteed_rounds(&self) -> u32 {
        guaranteed_rounds(&self.experiment)
    }

    /// The first rounds where the run spends `left` itself: by what rounds are predicted to take.
    pub(crate) fn opening(&self, left: Duration, past: Option<&Past>) -> Further {
        let costs = self.costs(past);
        let means = Means {
            left: left.saturating_sub(costs.first.saturating_sub(costs.later)).into(),
            round: costs.later.into(),
            rotation: costs.rotation.into(),
            rounds: [self.guaranteed_rounds(), self.experiment.rounds],
            turns: [MIN_ROTATIONS, MAX_ROTATIONS],
        };
        let contenders = self.subjects.iter().filter(|subject| !subject.is_limit()).count();
        opening(&self.experiment, contenders, &means, past)
            .unwrap_or(Further { rounds: self.guaranteed_rounds(), turns: MIN_ROTATIONS })
    }

    /// Rounds that the budget allows, each as long as the first, or with a part of it left for turns.
    pub(crate) fn rounds_that_fit(&self) -> u32 {
        let round = if self.fills_the_budget() {
            let short = Experiment { window_s: 0.0, ..self.experiment.clone() };
            predicted_round(&short, &self.parts(), Lives::First).div_f64(1.0 - LEAST_SHARE)
        } else {
            predicted_round(&self.experiment, &self.parts(), Lives::First)
        };
        affordable_rounds(&self.experiment, self.asking(), round)
    }
}
