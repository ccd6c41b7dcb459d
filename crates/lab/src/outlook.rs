//! What a plan would show, before anything starts: its times and its noise, from the latest run like it in the store.

use std::time::Duration;

use assay_host::isolation::Isolation;
use assay_model::experiment::Experiment;
use assay_model::host::HostFacts;
use assay_model::outlook::{DuetOutlook, Outlook};
use assay_model::record::Record;
use assay_verdict::outlook::{DuetIntent, Intent, Past, duet_outlook, outlook, past, past_of_duets};

use crate::plan::RunPlan;
use crate::rounds::{CONTROL_EVERY, SHARE_OF_TURNS};
use crate::schedule::{Lives, MAX_ROTATIONS, MIN_ROTATIONS, predicted_round, turns_of};
use crate::store::Store;
use crate::subject::Subject;

/// Runs that are looked at, the latest first.
const MOST_RUNS: usize = 5;
/// From the end of a window of two at once to the beginning of the next, before any was timed.
const CHANGE: Duration = Duration::from_millis(20);
/// Rounds from which noise can be told.
const LEAST_ROUNDS: usize = 3;

impl RunPlan {
    /// What the run would show, if it is as noisy as the latest of this machine on these CPUs, or as is usual; and how long it
    /// would take to show `difference` (0.02 for 2 %), where that is asked. `None` where nobody is compared at capacity.
    pub fn outlook(&self, store: &Store, difference: Option<f64>) -> Option<Outlook> {
        let past = self.past(store);
        let prediction = self.prediction(past.as_ref());
        let costs = self.costs(past.as_ref());
        let (round, turns) = match self.takes_turns() {
            false => (prediction.round, None),
            true => {
                let besides = costs.besides(prediction.rounds);
                (besides, Some(self.turns(prediction.round, besides, costs.rotation)))
            }
        };
        let contenders = self.subjects.iter().filter(|subject| !subject.is_limit()).count();
        let intent = Intent {
            experiment: &self.experiment,
            contenders,
            rounds: prediction.rounds,
            turns,
            least_turns: MIN_ROTATIONS,
            round: round.into(),
            rotation: costs.rotation.into(),
            difference,
        };
        let told = outlook(&intent, past.as_ref())?;
        Some(Outlook { duet: self.duet_outlook(store, difference), ..told })
    }

    /// What it would show by duets; `None` where there are none.
    fn duet_outlook(&self, store: &Store, difference: Option<f64>) -> Option<DuetOutlook> {
        let comparing = self.experiment.comparing.as_ref()?;
        let cells = self.experiment.cells().iter().filter(|cell| self.experiment.is_duet(cell)).count();
        let compared = |subject: &&Subject| !subject.is_limit() && subject.identity.name != comparing.base;
        let others = self.subjects.iter().filter(compared).count();
        if cells == 0 || others == 0 {
            return None;
        }
        let past = self.alike(store).find_map(|record| past_of_duets(&record).ok().flatten());
        let own = Duration::from_secs_f64(self.experiment.settle_s + self.experiment.turn_s) + CHANGE;
        let window =
            past.as_ref().and_then(|past| past.turn).map_or(own, |turn| Duration::from_nanos(turn.0));
        // Both sides with everybody in each rotation, and with the control in some.
        let controls = if self.experiment.aa { 2.0 / f64::from(CONTROL_EVERY) } else { 0.0 };
        let rotation =
            window.mul_f64((2.0 * others as f64 + controls) * cells as f64 / (1.0 - SHARE_OF_TURNS));
        let prediction = self.prediction(None);
        let besides = self.costs(None).besides(prediction.rounds);
        let intent = DuetIntent {
            rows: others * cells,
            rounds: prediction.rounds,
            pairs: 2 * self.turns(prediction.round, besides, rotation),
            round: besides.into(),
            pair: (rotation / 2).into(),
            difference,
        };
        Some(duet_outlook(&intent, past.as_ref()))
    }

    /// The latest usable run of this machine on these CPUs whose windows were like those of this plan.
    pub fn past(&self, store: &Store) -> Option<Past> {
        self.alike(store).find_map(|record| {
            let known = past(&record).ok().flatten()?;
            let of = &record.experiment;
            let alike = match known.turn {
                Some(_) => self.takes_turns() && of.turn_s.total_cmp(&self.experiment.turn_s).is_eq(),
                None => !self.takes_turns() && of.window_s.total_cmp(&self.experiment.window_s).is_eq(),
            };
            alike.then_some(known)
        })
    }

    /// The latest runs of this machine on these CPUs that have rounds enough, the latest first.
    fn alike<'s>(&'s self, store: &'s Store) -> impl Iterator<Item = Record> + 's {
        let host = assay_host::facts::facts();
        let latest = store.ids().into_iter().rev().take(MOST_RUNS);
        let records = latest.filter_map(|id| store.open(&id).ok());
        records
            .filter(move |record| is_alike(record, &host, &self.isolation) && self.is_on_the_hosts_of(record))
    }

    /// Whether a record is of a run with servers and generators on the hosts that this one is to have.
    fn is_on_the_hosts_of(&self, record: &Record) -> bool {
        let servers = record.server_hosts.iter().map(|host| &host.name);
        let generators = record.generator_hosts.iter().map(|host| &host.name);
        servers.eq(self.server_hosts.iter().map(|host| &host.name))
            && generators.eq(self.generator_hosts.iter().map(|host| &host.name))
    }

    /// Turns in each cell of a round that takes so long.
    fn turns(&self, round: Duration, besides: Duration, rotation: Duration) -> u32 {
        if !self.allots() && !self.fills_the_budget() {
            return turns_of(&self.experiment);
        }
        let fitting = round.saturating_sub(besides).as_secs_f64() / rotation.as_secs_f64().max(1e-9);
        // `as` saturates, and the value is a whole number in range.
        (fitting.floor() as u32).clamp(MIN_ROTATIONS, MAX_ROTATIONS)
    }

    /// What rounds are predicted to take, or took in a run of the `past`.
    pub(crate) fn costs(&self, past: Option<&Past>) -> RoundCosts {
        let parts = self.parts();
        let of_turns = |turns: u32, lives: Lives| {
            let window_s = f64::from(turns) * self.experiment.turn_s;
            predicted_round(&Experiment { window_s, ..self.experiment.clone() }, &parts, lives)
        };
        let predicted = of_turns(2, Lives::First).saturating_sub(of_turns(1, Lives::First));
        let besides = |lives| of_turns(1, lives).saturating_sub(predicted);
        let turns = parts.iter().flatten().filter(|cell| self.experiment.is_turned(cell)).count();
        let timed = past.and_then(|past| past.turn).map(|turn| Duration::from(turn).mul_f64(turns as f64));
        let rotation = timed.unwrap_or(predicted);
        RoundCosts {
            first: besides(Lives::First),
            later: besides(Lives::Later),
            rotation,
            turn: rotation.div_f64(turns.max(1) as f64),
        }
    }
}

/// What rounds take whose servers take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoundCosts {
    /// The first one, besides its turns.
    pub(crate) first: Duration,
    /// Each of the other rounds, besides its turns.
    pub(crate) later: Duration,
    /// One turn of everybody in each cell.
    pub(crate) rotation: Duration,
    /// One turn, on average.
    pub(crate) turn: Duration,
}

impl RoundCosts {
    /// The time of so many rounds with so many turns in each cell.
    pub(crate) fn of(&self, rounds: u32, turns: u32) -> Duration {
        self.first + self.later * rounds.saturating_sub(1) + self.rotation * turns * rounds
    }

    /// A typical one of so many rounds, besides its turns.
    fn besides(&self, rounds: u32) -> Duration {
        self.of(rounds, 0) / rounds.max(1)
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
