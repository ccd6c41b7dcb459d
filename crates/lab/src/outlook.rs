//! What a plan would show, before anything starts: its times and its noise, from the latest run like it in the store.

use std::time::Duration;

use assay_host::isolation::Isolation;
use assay_model::experiment::{Cell, Experiment};
use assay_model::host::HostFacts;
use assay_model::outlook::Outlook;
use assay_model::record::Record;
use assay_verdict::outlook::{Intent, Past, outlook, past};

use crate::plan::Plan;
use crate::rounds::{MAX_ROTATIONS, MIN_ROTATIONS};
use crate::schedule::{predicted_round, turns_of};
use crate::store::Store;

/// Runs that are looked at, the latest first.
const MOST_RUNS: usize = 5;
/// Rounds from which noise can be told.
const LEAST_ROUNDS: usize = 3;

impl Plan {
    /// What the run would show, if it is as noisy as the latest of this machine on these CPUs, or as is usual; and how long it
    /// would take to show `difference` (0.02 for 2 %), where that is asked. `None` where nobody is compared at capacity.
    pub fn outlook(&self, store: &Store, difference: Option<f64>) -> Option<Outlook> {
        let past = self.past(store);
        let prediction = self.prediction();
        let rotation = self.rotation(past.as_ref());
        let (round, turns) = match self.takes_turns() {
            false => (prediction.round, None),
            true => {
                let besides = self.besides_turns();
                (besides, Some(self.turns(prediction.round, besides, rotation)))
            }
        };
        let contenders = self.subjects.iter().filter(|subject| !subject.is_limit()).count();
        let intent = Intent {
            experiment: &self.experiment,
            contenders,
            rounds: prediction.rounds,
            turns,
            round: round.into(),
            rotation: rotation.into(),
            difference,
        };
        outlook(&intent, past.as_ref())
    }

    /// The latest usable run of this machine on these CPUs whose windows were like those of this plan.
    fn past(&self, store: &Store) -> Option<Past> {
        let host = assay_host::facts::facts();
        let latest = store.ids().into_iter().rev().take(MOST_RUNS);
        let mut records = latest.filter_map(|id| store.open(&id).ok());
        records.find_map(|record| {
            let known = is_alike(&record, &host, &self.isolation).then(|| past(&record).ok().flatten())??;
            let of = &record.experiment;
            let alike = match known.turn {
                Some(_) => self.takes_turns() && of.turn_s.total_cmp(&self.experiment.turn_s).is_eq(),
                None => !self.takes_turns() && of.window_s.total_cmp(&self.experiment.window_s).is_eq(),
            };
            alike.then_some(known)
        })
    }

    /// Turns in each cell of a round that takes so long.
    fn turns(&self, round: Duration, besides: Duration, rotation: Duration) -> u32 {
        if !self.fills_the_budget() {
            return turns_of(&self.experiment);
        }
        let fitting = round.saturating_sub(besides).as_secs_f64() / rotation.as_secs_f64().max(1e-9);
        // `as` saturates, and the value is a whole number in range.
        (fitting.floor() as u32).clamp(MIN_ROTATIONS, MAX_ROTATIONS)
    }

    /// One turn of everybody in each cell: as long as it was, or as it is predicted.
    fn rotation(&self, past: Option<&Past>) -> Duration {
        let parts = self.parts();
        let turns = parts.iter().flatten().filter(|cell| self.experiment.is_turned(cell)).count();
        match past.and_then(|past| past.turn) {
            Some(turn) => Duration::from_nanos(turn.0).mul_f64(turns as f64),
            None => self.of_turns(2, &parts).saturating_sub(self.of_turns(1, &parts)),
        }
    }

    /// A round without its turns.
    fn besides_turns(&self) -> Duration {
        let parts = self.parts();
        let one = self.of_turns(1, &parts);
        one.saturating_sub(self.of_turns(2, &parts).saturating_sub(one))
    }

    /// A round with so many turns in each cell.
    fn of_turns(&self, turns: u32, parts: &[Vec<Cell>]) -> Duration {
        let window_s = f64::from(turns) * self.experiment.turn_s;
        predicted_round(&Experiment { window_s, ..self.experiment.clone() }, parts)
    }
}

fn is_alike(record: &Record, host: &HostFacts, isolation: &Isolation) -> bool {
    let machine =
        |host: &HostFacts| (host.cpu_model.clone(), host.cpus, host.hypervisor.clone(), host.kernel.clone());
    let cpus = isolation.record();
    record.rounds.len() >= LEAST_ROUNDS
        && machine(&record.host) == machine(host)
        && record.isolation.server_cpus == cpus.server_cpus
        && record.isolation.generator_cpus == cpus.generator_cpus
}
