//! How the budget is spent where turns are as many as it allows: after each round, from what was seen
//! (docs/method/carousel.md#restarts-or-turns).

use std::time::Duration;

use assay_model::record::Run;
use assay_model::units::Nanos;
use assay_verdict::allocation::{Further, Means, Replicas, Seen, Settled, time_in_turns};

use crate::error::LabError;
use crate::log;
use crate::rounds::Runner;
use crate::rounds::life::profiling;
use crate::rounds::turns::cell_turns::Pace;
use crate::rounds::warmup::{self, lead_in};
use crate::schedule::{MAX_ROTATIONS, MIN_ROTATIONS, SPARE_ROUNDS, turns_of};

/// Starting a generator for a warm-up and making its connections takes less.
const MOST_STARTING: Duration = Duration::from_secs(1);

/// What is decided so far.
pub(crate) struct Pacing {
    /// Rounds in all.
    rounds: u32,
    /// Most turns of a life in each cell of the next round, and when that must be over.
    pace: Pace,
    /// Who gets fewer turns.
    settled: Settled,
    /// Who gets several processes.
    replicas: Replicas,
    /// What later rounds take besides turns, as far as it is known.
    besides: Option<Duration>,
}

impl Pacing {
    /// Rounds in all, by what is known now.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Most turns of a life in each cell of the next round, and when that must be over.
    pub(crate) fn pace(&self) -> Pace {
        self.pace
    }

    /// Who gets fewer turns.
    pub(crate) fn settled(&self) -> &Settled {
        &self.settled
    }

    /// How many processes of a contender take turns for it.
    pub(crate) fn replicas(&self, contender: &str) -> u32 {
        self.replicas.number(contender)
    }
}

impl Runner<'_> {
    /// Before the first round: by what such rounds are predicted to take, and by how noisy this machine was.
    pub(crate) fn open_pacing(&mut self) {
        let Some(end) = self.timetable.budget_ends().filter(|_| self.bench.plan.allots()) else { return };
        let left = end.saturating_duration_since(self.bench.stop.unpaused_now());
        let opening = self.bench.plan.opening(left, self.bench.past.as_ref());
        log::opens(opening, left);
        let costs = self.bench.plan.costs(self.bench.past.as_ref());
        let others = (costs.later + costs.rotation * opening.turns) * (opening.rounds - 1);
        let (most, planned) = match opening.rounds {
            1 => (MAX_ROTATIONS, None),
            _ if self.looks() => (turns_of(&self.bench.plan.experiment), None),
            // No more than was planned for each: what the first round leaves is spent by what it has shown.
            _ => (opening.turns, Some(costs.turn)),
        };
        self.pacing = Some(Pacing {
            rounds: opening.rounds,
            pace: Pace { most, until: Some(end.checked_sub(others).unwrap_or(end)), planned },
            settled: Settled::default(),
            replicas: Replicas::default(),
            besides: None,
        });
    }

    /// After a round of some `length`: how many further ones there will be, and what the next one may take.
    pub(crate) fn pace_on(&mut self, length: Duration) -> Result<(), LabError> {
        let Some(pacing) = &self.pacing else { return Ok(()) };
        let seen = Seen::of(&self.record, self.bench.past.as_ref())?;
        let later = self.besides_later(length, pacing.besides);
        let now = self.bench.stop.unpaused_now();
        let Some(left) = self.timetable.left(now) else { return Ok(()) };
        let rest = seen.rest(&self.means(left, later));
        let further = rest.map_or(0, |rest| rest.rounds);
        let done = self.rounds_done();
        log::paces(done, rest, left);
        if done == 1 && self.looks() {
            // Fixed before the first look, because the sequential rule must know how many there can be.
            self.record.experiment.rounds = self.most_looks(1 + further);
        }
        let next = Pace {
            most: rest.map_or(0, |rest| self.most_turns(rest, later, seen.rotation.into())),
            until: Some(now + left / further.max(1)),
            planned: None,
        };
        if let Some(pacing) = &mut self.pacing {
            pacing.rounds = done + further;
            pacing.pace = next;
            pacing.settled = seen.settled;
            pacing.replicas = seen.replicas;
            pacing.besides = Some(later);
        }
        Ok(())
    }

    /// Whether the results of this run decide when it ends.
    fn looks(&self) -> bool {
        self.bench.plan.experiment.until_settled
    }

    fn means(&self, left: Duration, later: Duration) -> Means {
        Means {
            left: left.into(),
            round: later.into(),
            rotation: Duration::ZERO.into(),
            rounds: [self.bench.plan.guaranteed_rounds(), self.record.experiment.rounds],
            turns: [MIN_ROTATIONS, MAX_ROTATIONS],
        }
    }

    /// What a further round takes besides its turns: as long as the longest so far, or as the first without what only first lives
    /// get.
    fn besides_later(&self, length: Duration, before: Option<Duration>) -> Duration {
        let Some(round) = self.record.rounds.last() else { return length };
        let besides = length.saturating_sub(time_in_turns(round).into());
        match (self.rounds_done(), before) {
            (1, _) => besides
                .saturating_sub(spared(&round.runs))
                .saturating_sub(profiling::spared(&self.bench.plan.experiment, &round.runs)),
            (3.., Some(before)) => before.max(besides),
            _ => besides,
        }
    }

    /// Most rounds of a run that looks after each: as many as are planned, and some to spare, because contenders may leave.
    fn most_looks(&self, planned: u32) -> u32 {
        // `as` saturates, and the value is a whole number in range.
        let most = (f64::from(planned) * SPARE_ROUNDS).ceil() as u32;
        most.max(self.bench.plan.guaranteed_rounds()).min(self.bench.plan.experiment.rounds)
    }

    /// A run that may end at its next look takes no more time for that than it took so far; its last round takes what is left.
    fn most_turns(&self, rest: Further, later: Duration, rotation: Duration) -> u32 {
        if rest.turns < MIN_ROTATIONS {
            // A last round for which the usual fewest do not fit.
            return rest.turns;
        }
        if !self.looks() || rest.rounds == 1 {
            return MAX_ROTATIONS;
        }
        let worked = self.timetable.worked(self.bench.stop.unpaused_now());
        let fitting = worked.saturating_sub(later).as_secs_f64() / rotation.as_secs_f64().max(1e-9);
        // `as` saturates, and the value is a whole number.
        (fitting as u32).clamp(MIN_ROTATIONS, rest.turns.max(MIN_ROTATIONS))
    }
}

/// What first lives took that later ones do not: load, and where they were started one after the other, generators for warm-ups alone.
fn spared(runs: &[Run]) -> Duration {
    let begins = runs.iter().skip(1).map(|next| Some(next.offset_ns)).chain([None]);
    runs.iter().zip(begins).map(|(run, next)| starting(run, next) + lead_in::spared(run)).sum()
}

/// What starting generators took for the warm-ups that a life had before `next` began. The others were over the connections of turns.
fn starting(run: &Run, next: Option<Nanos>) -> Duration {
    let ready = run.offset_ns + run.startup_ns;
    let mut left = next.map_or(Duration::ZERO, |next| Duration::from_nanos((next - ready).0));
    let mut before = 0;
    for load in run.warmups.iter().map(warmup::given) {
        let Some(rest) = left.checked_sub(load) else { break };
        (left, before) = (rest, before + 1);
    }
    // The next one may belong to another group, which begins when this one has been measured.
    left.min(MOST_STARTING * before)
}

#[cfg(test)]
mod tests {
    use assay_model::record::Warmup;

    use super::*;

    /// A life that began so late, and was warm after a quarter of a second on both of its workloads.
    fn life(offset_s: f64) -> Run {
        let per_second = vec![80.0, 100.0, 100.0, 100.0, 100.0, 100.0];
        let warmup = Warmup { workload: "json".to_owned(), per_second, settled: true, counted: None };
        Run {
            offset_ns: Nanos::from_secs_f64(offset_s),
            startup_ns: Nanos::from_secs_f64(0.5),
            warmups: vec![warmup.clone(), Warmup { workload: "hello".to_owned(), ..warmup }],
            ..Run::default()
        }
    }

    #[test]
    fn later_rounds_have_neither_the_load_nor_the_generators_of_first_warm_ups() {
        let load = 2.0 * 6.0 * 0.25;
        let later = 2.0 * 0.25;
        let alone = spared(&[life(0.0)]).as_secs_f64();
        assert!((alone - (load - later)).abs() < 1e-6, "{alone}");
        let before = |next_s: f64| starting(&life(0.0), Some(Nanos::from_secs_f64(next_s))).as_secs_f64();
        assert!(
            (before(0.5 + load + 0.8) - 0.8).abs() < 1e-6,
            "both were warmed up before the next one began"
        );
        assert!((before(0.5 + load / 2.0 + 0.3) - 0.3).abs() < 1e-6, "one of them was");
        assert!((before(60.0) - 2.0 * MOST_STARTING.as_secs_f64()).abs() < 1e-6, "it is in another group");
    }
}
