//! What a run would show, before it begins: from the noise of an earlier one, or from what is usual (docs/method/statistics.md,
//! "Planning").

mod duet;

use assay_model::experiment::Experiment;
use assay_model::outlook::{Foresight, OUTLOOK_SCHEMA, Outlook};
use assay_model::record::{Measurement, Record, Turn};
use assay_model::units::Nanos;
use assay_model::verdict::Noise;
use assay_stats::planning::{self, Components, Costs, Design};
use assay_stats::tiers::LEAST_MARGIN;

use crate::capacity::tables::Tables;
use crate::evidence::window::{DecodedRecord, Unreadable};
use crate::{CONFIDENCE, median, with_compared_tails};

pub use duet::{DuetIntent, duet_outlook, past_of_duets};

/// How much restarts usually vary, as a standard deviation of logarithms (docs/results/design.md#usual-noise).
const USUAL_RESTARTS: f64 = 0.05;
/// How much windows of [`USUAL_WINDOW_S`] usually vary; longer ones less, as means of several do.
const USUAL_WINDOWS: f64 = 0.23;
/// How much turns as long usually vary, whose speed is [corrected](docs/method/gauge.md).
const USUAL_TURNS: f64 = 0.08;
const USUAL_WINDOW_S: f64 = 0.1;

/// What an earlier run teaches about the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// Its name.
    pub run: String,
    /// How noisy it was.
    pub noise: Noise,
    /// What one turn, or window of two at once, took, its settling and its change included; absent where there were none.
    pub turn: Option<Nanos>,
}

/// A run that is intended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intent<'e> {
    /// What is to be measured.
    pub experiment: &'e Experiment,
    /// How many are compared with each other, the limit aside.
    pub contenders: usize,
    /// Restarts of everybody.
    pub rounds: u32,
    /// Windows of each restart; `None` where they are in one piece.
    pub turns: Option<u32>,
    /// Fewest of them that a run has.
    pub least_turns: u32,
    /// What a round takes besides its turns; all of it, where there are none.
    pub round: Nanos,
    /// What one turn of everybody in every table takes.
    pub rotation: Nanos,
    /// For which difference a time is wanted, 0.02 for 2 %, if any.
    pub difference: Option<f64>,
}

/// What a run teaches about the next; `None` where no two were measured in two rounds.
///
/// # Errors
/// [`Unreadable`] when a histogram of the record cannot be read.
pub fn past(record: &Record) -> Result<Option<Past>, Unreadable> {
    let evidence = DecodedRecord::of(record)?;
    let noise = Tables::of(&evidence).noise();
    Ok(noise.map(|noise| Past { run: record.id.clone(), noise, turn: turn_of(record) }))
}

/// What the intended run would show; `None` where nobody is compared with anybody at capacity.
pub fn outlook(intent: &Intent<'_>, past: Option<&Past>) -> Option<Outlook> {
    let experiment = intent.experiment;
    let at_capacity = experiment.cells().iter().filter(|cell| cell.offered.is_capacity()).count();
    if intent.contenders < 2 || at_capacity == 0 {
        return None;
    }
    let tables = at_capacity + with_compared_tails(experiment).len();
    let plan = planning::ComparisonPlan {
        contenders: intent.contenders,
        tables,
        confidence: CONFIDENCE,
        margin: LEAST_MARGIN,
        looks: experiment.until_settled,
        least_rotations: intent.turns.map_or(1, |_| intent.least_turns as usize),
    };
    let noise = past.map_or_else(|| usual(experiment, intent.turns), |past| past.noise);
    let expected = Expected { plan, noise: components(&noise, intent.turns), costs: costs(intent) };
    let run = expected.of(Design { rounds: intent.rounds as usize, rotations: turns(intent) });
    Some(Outlook {
        schema: OUTLOOK_SCHEMA.to_owned(),
        experiment: experiment.name.clone(),
        contenders: u32::try_from(intent.contenders).unwrap_or(u32::MAX),
        tables: u32::try_from(tables).unwrap_or(u32::MAX),
        confidence: CONFIDENCE,
        margin: LEAST_MARGIN,
        noise,
        noise_of: past.map(|past| past.run.clone()),
        best: intent.difference.and(intent.turns).and_then(|_| expected.best(run.takes_ns)),
        run,
        difference: intent.difference,
        duet: None,
        enough: intent.difference.and_then(|difference| expected.enough(difference)),
    })
}

/// What a design is judged by.
struct Expected {
    plan: planning::ComparisonPlan,
    noise: Components,
    costs: Costs,
}

impl Expected {
    /// A single round shows nothing.
    fn of(&self, design: Design) -> Foresight {
        let shows = planning::shows(&self.plan, &self.noise, design).ok().flatten();
        let takes_s = self.costs.of(design);
        foresight(&planning::Expectation { design, takes_s, shows: 0.0 }, shows)
    }

    /// What is advised names its rounds, and a run that is asked for so many is looked at once, when it is over.
    fn advised(&self) -> planning::ComparisonPlan {
        planning::ComparisonPlan { looks: false, ..self.plan }
    }

    fn best(&self, time: Nanos) -> Option<Foresight> {
        let plan = self.advised();
        let best = planning::best(&plan, &self.noise, &self.costs, time.as_secs_f64()).ok().flatten()?;
        Some(foresight(&best, Some(best.shows)))
    }

    fn enough(&self, difference: f64) -> Option<Foresight> {
        let plan = self.advised();
        let found = planning::budget_for(&plan, &self.noise, &self.costs, difference).ok().flatten()?;
        Some(foresight(&found, Some(found.shows)))
    }
}

fn foresight(of: &planning::Expectation, shows: Option<f64>) -> Foresight {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Foresight {
        rounds: number(of.design.rounds),
        windows: number(of.design.rotations),
        takes_ns: Nanos::from_secs_f64(of.takes_s),
        shows,
    }
}

fn turns(intent: &Intent<'_>) -> usize {
    intent.turns.map_or(1, |turns| turns as usize)
}

/// A window in one piece costs as much as the round; more of them are longer ones, of which nothing is asked.
fn costs(intent: &Intent<'_>) -> Costs {
    match intent.turns {
        Some(_) => Costs { round_s: intent.round.as_secs_f64(), rotation_s: intent.rotation.as_secs_f64() },
        None => Costs { round_s: 0.0, rotation_s: intent.round.as_secs_f64() },
    }
}

/// Where there is one window for each restart, what it adds cannot be had apart.
pub(crate) fn components(noise: &Noise, turns: Option<u32>) -> Components {
    let known = Components {
        restart_sd: noise.restart_cv,
        window_sd: noise.window_cv,
        windows: noise.windows_per_life,
        degrees_of_freedom: 0.0,
    };
    match turns {
        Some(_) => known,
        None => Components { restart_sd: known.life_sd(1.0), window_sd: 0.0, ..known },
    }
}

/// What runs of windows as long, so many in each life, usually vary by.
pub(crate) fn usual(experiment: &Experiment, turns: Option<u32>) -> Noise {
    let (window_s, varies) = match turns {
        Some(_) => (experiment.turn_s, USUAL_TURNS),
        None => (experiment.window_s, USUAL_WINDOWS),
    };
    Noise {
        restart_cv: USUAL_RESTARTS,
        window_cv: varies * (USUAL_WINDOW_S / window_s.max(USUAL_WINDOW_S)).sqrt(),
        windows_per_life: turns.map_or(1.0, f64::from),
    }
}

/// The middle of what passed from the beginning of one turn to that of the next, whosever it was.
fn turn_of(record: &Record) -> Option<Nanos> {
    let mut between = Vec::new();
    for round in &record.rounds {
        let windows: Vec<&Measurement> = round.runs.iter().flat_map(|run| &run.cells).collect();
        let mut cells = Vec::new();
        for window in &windows {
            if !cells.contains(&&window.cell) {
                cells.push(&window.cell);
            }
        }
        for cell in cells {
            let turns = windows.iter().filter(|window| window.cell == *cell).flat_map(|window| &window.turns);
            let mut began: Vec<u64> = turns.map(|turn: &Turn| turn.offset_ns.0).collect();
            began.sort_unstable();
            between.extend(began.windows(2).map(|pair| (pair[1] - pair[0]) as f64));
        }
    }
    median(&between).map(|ns| Nanos(ns as u64))
}

#[cfg(test)]
mod tests {
    use assay_model::experiment::Measure;

    use super::*;
    use crate::testing;

    const SECOND: Nanos = Nanos::from_millis(1000);

    fn intent(experiment: &Experiment) -> Intent<'_> {
        Intent {
            experiment,
            contenders: 6,
            rounds: 4,
            turns: Some(20),
            least_turns: 3,
            round: Nanos(SECOND.0 * 6),
            rotation: Nanos(SECOND.0 * 3),
            difference: Some(0.05),
        }
    }

    fn experiment() -> Experiment {
        Experiment::new("six", vec![Measure::capacity("hello", vec![16, 64])])
    }

    #[test]
    fn a_run_says_beforehand_what_it_would_show_and_what_more_takes() {
        let experiment = experiment();
        let told = outlook(&intent(&experiment), None).expect("six are compared");
        assert_eq!((told.contenders, told.tables, told.noise_of.as_deref()), (6, 2, None));
        assert_eq!((told.run.rounds, told.run.windows, told.run.takes_ns), (4, 20, Nanos(SECOND.0 * 4 * 66)));
        let shows = told.run.shows.expect("four rounds show something");
        assert!((0.08..0.3).contains(&shows), "{shows}");
        let enough = told.enough.expect("a day is enough for 5 %");
        assert!(enough.takes_ns > told.run.takes_ns && enough.shows.is_some_and(|shows| shows <= 0.05));
        let best = told.best.expect("two rounds fit");
        assert!(best.takes_ns <= told.run.takes_ns && best.shows.is_some_and(|best| best <= shows));
    }

    #[test]
    fn a_plan_that_is_asked_with_its_own_advice_confirms_it() {
        let looked_at = Experiment { until_settled: true, ..experiment() };
        let told = outlook(&intent(&looked_at), None).expect("six are compared");
        // Whoever names a number of rounds has no look before they are over.
        let of_so_many = experiment();
        for advised in [told.best, told.enough].map(|advised| advised.expect("there is one")) {
            let asked =
                Intent { rounds: advised.rounds, turns: Some(advised.windows), ..intent(&of_so_many) };
            assert_eq!(outlook(&asked, None).expect("six are compared").run, advised);
        }
    }

    #[test]
    fn a_quieter_past_promises_more() {
        let experiment = experiment();
        let past = |restart_cv, window_cv| Past {
            run: "before".to_owned(),
            noise: Noise { restart_cv, window_cv, windows_per_life: 20.0 },
            turn: None,
        };
        let shows = |past: Past| {
            let told = outlook(&intent(&experiment), Some(&past)).expect("told");
            assert_eq!(told.noise_of.as_deref(), Some("before"));
            told.run.shows.expect("something")
        };
        assert!(shows(past(0.005, 0.05)) < shows(past(0.02, 0.25)));
    }

    #[test]
    fn one_round_or_one_contender_shows_nothing() {
        let experiment = experiment();
        let told = outlook(&Intent { rounds: 1, ..intent(&experiment) }, None).expect("told");
        assert_eq!(told.run.shows, None);
        assert_eq!(outlook(&Intent { contenders: 1, ..intent(&experiment) }, None), None);
    }

    #[test]
    fn windows_in_one_piece_are_planned_by_the_round() {
        let experiment = experiment();
        let intent = Intent { turns: None, difference: Some(0.1), ..intent(&experiment) };
        let told = outlook(&intent, None).expect("told");
        assert_eq!((told.run.windows, told.best), (1, None));
        let enough = told.enough.expect("some rounds are enough");
        assert!(enough.rounds > 4 && enough.windows == 1, "{enough:?}");
    }

    #[test]
    fn what_a_run_teaches_is_its_noise() {
        let a = [1000.0, 1010.0, 995.0, 1004.0, 998.0, 1007.0];
        let known = past(&testing::record(&[("a", &a), ("b", &a.map(|rate| 2000.0 - rate))]));
        let known = known.expect("readable").expect("two were measured together");
        assert!((0.001..0.02).contains(&known.noise.restart_cv) && known.turn.is_none(), "{known:?}");
        assert_eq!(past(&testing::record(&[("a", &a)])).expect("readable"), None);
    }
}
