//! Runs that spend their budget by what they see, as real ones do: how long rounds are, and how many, follows from how much restarts
//! and windows vary; who is told apart from everybody has every second window only, and who is restless has several processes.

use rand::Rng;

use super::trials::{Counts, by_contender, with_restless};
use super::{SimulationOutcome, Trials, Truth as _, World};
use crate::StatsError;
use crate::moderation::Prior;
use crate::planning::{ComparisonPlan, Components, Costs, Course, MOST_REPLICAS, replicas, rest};
use crate::simultaneous::{Looks, each_of};
use crate::table::{Table, Windows};
use crate::tiers::LEAST_MARGIN;

/// What a run holds with, over all its tables.
const CONFIDENCE: f64 = 0.95;
/// What is expected of the noise before anything was seen: what is usual of turns of 0.15 s (docs/results/design.md#usual-noise).
const EXPECTED: Components =
    Components { restart_sd: 0.05, window_sd: 0.065, windows: 1.0, degrees_of_freedom: 0.0 };

/// Simulated runs of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Adaptive {
    /// The contenders, and the machine; how many rounds and rotations there are, the run decides.
    pub world: World,
    /// Tables of a run.
    pub tables: usize,
    /// What rounds and rotations take, over all tables.
    pub costs: Costs,
    /// Time in all, in seconds.
    pub budget_s: f64,
}

/// A run as it goes on.
#[derive(Default)]
struct Ongoing {
    /// By table, [`MOST_REPLICAS`] rows for each contender.
    measured: Vec<Vec<Windows>>,
    /// How many of them each contender has in the next round.
    replicas: Vec<usize>,
    /// Whether a contender is told apart from everybody, likewise.
    settled: Vec<Vec<bool>>,
    done: Vec<f64>,
}

impl Adaptive {
    /// Judges so many runs.
    ///
    /// # Errors
    /// When the world has no contenders, or a cost is none.
    pub fn outcome(&self, runs: u32, rng: &mut impl Rng) -> Result<SimulationOutcome, StatsError> {
        let mut counts = Counts::default();
        for _ in 0..runs {
            let ongoing = self.run(rng)?;
            let trials = Trials::once(self.world.clone(), self.tables);
            let judged = trials.judge(ongoing.fitted()?)?;
            counts.add(&judged, ongoing.done.len());
        }
        Ok(counts.outcome(f64::from(runs)))
    }

    fn run(&self, rng: &mut impl Rng) -> Result<Ongoing, StatsError> {
        let n = self.world.contenders.len();
        let mut ongoing = Ongoing {
            measured: vec![vec![Windows::new(); n * MOST_REPLICAS]; self.tables],
            replicas: vec![1; n],
            settled: vec![vec![false; n]; self.tables],
            done: Vec::new(),
        };
        let (mut left_s, mut noise) = (self.budget_s, EXPECTED);
        let plan = ComparisonPlan {
            contenders: n,
            tables: self.tables,
            confidence: CONFIDENCE,
            margin: LEAST_MARGIN,
            looks: false,
            least_rotations: 1,
        };
        loop {
            let costs = Costs { rotation_s: self.costs.rotation_s * ongoing.share(), ..self.costs };
            let course = Course { done: ongoing.done.clone(), left_s, rounds: [2, 40], rotations: [3, 2000] };
            let Some(rest) = rest(&plan, &noise, &costs, &course)? else { return Ok(ongoing) };
            ongoing.measure(&self.world, rest.rotations, rng);
            left_s = (left_s - costs.round_s - costs.rotation_s * rest.rotations as f64).max(0.0);
            noise = ongoing.look()?;
        }
    }
}

impl Ongoing {
    /// One more round of each table.
    fn measure(&mut self, world: &World, rotations: usize, rng: &mut impl Rng) {
        let several = self.replicas.iter().enumerate();
        let living: Vec<(usize, usize)> =
            several.flat_map(|(i, &number)| (0..number).map(move |replica| (i, replica))).collect();
        let contenders = living.iter().map(|(i, _)| world.contenders[*i]).collect();
        let round = World { contenders, rounds: 1, rotations, ..world.clone() };
        for (rows, settled) in self.measured.iter_mut().zip(&self.settled) {
            rows.iter_mut().for_each(|windows| windows.push(Vec::new()));
            for (&(i, replica), own) in living.iter().zip(round.measure(rng)) {
                let every = if settled[i] { 2 } else { self.replicas[i] };
                let has_turn = |rotation: usize| rotation % every == replica && !(settled[i] && replica > 0);
                let turns = own.into_iter().flatten().enumerate();
                let turns = turns.map(|(rotation, window)| window.filter(|_| has_turn(rotation))).collect();
                rows[i * MOST_REPLICAS + replica].pop();
                rows[i * MOST_REPLICAS + replica].push(turns);
            }
        }
        self.done.push(rotations as f64);
    }

    /// What was seen of the noise; and who is told apart, and who is restless, from now on.
    fn look(&mut self) -> Result<Components, StatsError> {
        let tables = self.fitted()?;
        let groups: Vec<_> = tables.iter().map(Table::spreads).collect();
        let prior = Prior::fit(&groups).unwrap_or(Prior::none());
        let each = each_of(self.measured.len(), CONFIDENCE);
        for (table, settled) in tables.iter().zip(&mut self.settled) {
            let everybody: Vec<usize> = (0..table.contenders()).collect();
            let compared = table.compare(&everybody, &prior, Looks::Once, each, LEAST_MARGIN)?;
            let open = compared.open();
            settled.iter_mut().enumerate().for_each(|(i, settled)| *settled = !open.contains(&i));
        }
        self.replicas = replicas(&by_contender(&tables));
        let own = Components::of_run(&tables).or_else(|| Components::of_windows(&tables));
        Ok(own.map_or(EXPECTED, |own| own.with_expected(&EXPECTED, tables.len())))
    }

    fn fitted(&self) -> Result<Vec<Table>, StatsError> {
        let contender_of: Vec<usize> =
            (0..self.replicas.len() * MOST_REPLICAS).map(|row| row / MOST_REPLICAS).collect();
        let rounds: Vec<usize> = (0..self.done.len()).collect();
        with_restless(self.measured.iter().map(|rows| Table::fit_replicas(rows, &contender_of, &rounds)))
    }

    /// Turns of a typical contender, 1 where nobody is told apart.
    fn share(&self) -> f64 {
        let all: Vec<f64> =
            self.settled.iter().flatten().map(|settled| if *settled { 0.5 } else { 1.0 }).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng as _;

    use super::*;
    use crate::simulation::{alike, ladder};

    fn outcome(world: World, runs: u32) -> SimulationOutcome {
        let costs = Costs { round_s: 9.0, rotation_s: 3.0 };
        let runs_of = Adaptive { world, tables: 2, costs, budget_s: 235.0 };
        runs_of.outcome(runs, &mut ChaCha8Rng::seed_from_u64(5)).unwrap()
    }

    #[test]
    fn a_run_that_spends_its_budget_by_what_it_sees_calls_no_more_equals_different() {
        let equals = outcome(World::noisy(alike(5, 0.015, 0.2), 2, 1), 150);
        assert!(equals.false_runs <= 0.05 && equals.covered >= 0.93, "{equals:?}");
        assert!((2.0..=8.0).contains(&equals.rounds), "{equals:?}");
    }

    /// Restarts of two vary by a tenth, those of the others by a fiftieth.
    #[test]
    fn nor_where_some_are_restless_and_get_several_processes() {
        let mut contenders = alike(6, 0.02, 0.1);
        contenders[..2].iter_mut().for_each(|restless| restless.restart_sd = 0.11);
        let equals = outcome(World::noisy(contenders, 2, 1), 150);
        assert!(equals.false_runs <= 0.05 && equals.covered >= 0.93, "{equals:?}");
    }

    #[test]
    fn it_shows_what_there_is_and_rounds_follow_restarts() {
        let [calm, restless] =
            [0.005, 0.06].map(|sd| outcome(World::noisy(ladder(5, 1.3, sd, 0.2), 2, 1), 40));
        assert!(calm.shown >= 0.95 && calm.false_runs <= 0.05, "{calm:?}");
        assert!(restless.rounds > calm.rounds, "{restless:?} {calm:?}");
    }
}
