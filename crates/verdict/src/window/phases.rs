//! The turns that fell into slow phases of the machine, as the turns of other servers show them
//! (docs/method/carousel.md#slow-phases).

use std::collections::BTreeMap;

use assay_model::experiment::Cell;
use assay_model::record::{Record, Turn};
use assay_model::units::Nanos;
use assay_stats::phases::{self, in_slow_phases, left_out};

use super::ServerRun;
use crate::turns::{log_rate, rate_after};

/// The turns of all rounds before the present one, by which it is told while that goes on whether the machine is slow.
pub struct PhaseWatch {
    earlier: Turns<()>,
    rounds: usize,
}

/// Turns as the statistics want them, each with what it is found by afterwards.
#[derive(Clone)]
struct Turns<P> {
    contenders: BTreeMap<String, usize>,
    series: BTreeMap<(usize, Cell), usize>,
    places: Vec<P>,
    turns: Vec<phases::Turn>,
}

/// Where a turn is in a record.
struct Place {
    round: usize,
    server_run: usize,
    window: usize,
    turn: usize,
}

impl PhaseWatch {
    /// Learns from the rounds of a record.
    pub fn of(record: &Record) -> Self {
        let mut earlier = Turns::default();
        for (life, round) in record.rounds.iter().enumerate() {
            for run in &round.runs {
                for window in &run.cells {
                    let series = earlier.series(&run.contender, &window.cell);
                    window
                        .turns
                        .iter()
                        .for_each(|turn| earlier.add((), series, life, (turn, while_it_goes_on(turn))));
                }
            }
        }
        Self { earlier, rounds: record.rounds.len() }
    }

    /// Whether each of the rotations of a cell so far fell into a slow phase with most of its turns; `riders` are the names of who takes
    /// part, with the turns that each has had.
    pub fn slow_rotations(&self, cell: &Cell, riders: &[(&str, &[Turn])], rotations: usize) -> Vec<bool> {
        let Turns { contenders, series, turns, .. } = &self.earlier;
        let mut all = Turns {
            contenders: contenders.clone(),
            series: series.clone(),
            places: vec![None; turns.len()],
            turns: turns.clone(),
        };
        for (name, turns) in riders {
            let series = all.series(name, cell);
            turns.iter().for_each(|turn| {
                all.add(Some(turn.rotation as usize), series, self.rounds, (turn, while_it_goes_on(turn)));
            });
        }
        let mut balance = vec![0_i64; rotations];
        for (rotation, is_slow) in all.places.into_iter().zip(in_slow_phases(&all.turns)) {
            if let Some(balance) = rotation.and_then(|rotation: usize| balance.get_mut(rotation)) {
                *balance += if is_slow { 1 } else { -1 };
            }
        }
        balance.into_iter().map(|balance| balance > 0).collect()
    }
}

/// Tells each window of a record which of its turns fell into slow phases; what counts of them otherwise must be known.
pub(crate) fn mark(rounds: &mut [Vec<ServerRun<'_>>]) {
    let Turns { places, turns, .. } = turns_of(rounds);
    let slow = places.into_iter().zip(left_out(&turns)).filter(|(_, is_slow)| *is_slow);
    for (place, _) in slow {
        rounds[place.round][place.server_run].windows[place.window].slow_turns.push(place.turn);
    }
}

/// All turns that count by every other rule.
fn turns_of(rounds: &[Vec<ServerRun<'_>>]) -> Turns<Place> {
    let mut all = Turns::default();
    for (round, server_runs) in rounds.iter().enumerate() {
        for (server_run, its) in server_runs.iter().enumerate() {
            for (number, window) in its.windows.iter().enumerate().filter(|(_, window)| window.rate_counts())
            {
                let series = all.series(&its.run.contender, &window.measured.cell);
                for (turn, measured) in window.measured.turns.iter().enumerate() {
                    let place = Place { round, server_run, window: number, turn };
                    all.add(
                        place,
                        series,
                        round,
                        (measured, log_rate(window.measured, measured, &window.counting)),
                    );
                }
            }
        }
    }
    all
}

/// The logarithm of the rate of a turn before it is known from where on it counts.
fn while_it_goes_on(turn: &Turn) -> Option<f64> {
    rate_after(turn, None).filter(|_| !turn.is_void()).map(f64::ln)
}

impl<P> Turns<P> {
    /// The numbers of a contender and of what its turns in a cell may be compared with.
    fn series(&mut self, contender: &str, cell: &Cell) -> [usize; 2] {
        let next = self.contenders.len();
        let contender = *self.contenders.entry(contender.to_owned()).or_insert(next);
        let next = self.series.len();
        [contender, *self.series.entry((contender, cell.clone())).or_insert(next)]
    }

    /// Adds a turn with its rate, if it has one.
    fn add(
        &mut self,
        place: P,
        [contender, series]: [usize; 2],
        life: usize,
        (turn, log_rate): (&Turn, Option<f64>),
    ) {
        let Some(log_rate) = log_rate else { return };
        let at_s = middle_of(turn).as_secs_f64();
        self.places.push(place);
        self.turns.push(phases::Turn { contender, series, life, at_s, log_rate });
    }
}

impl<P> Default for Turns<P> {
    fn default() -> Self {
        Self { contenders: BTreeMap::new(), series: BTreeMap::new(), places: Vec::new(), turns: Vec::new() }
    }
}

fn middle_of(turn: &Turn) -> Nanos {
    let half = (turn.load.settle_ns.0 / 2).saturating_add(turn.load.window_ns.0 / 2);
    Nanos(turn.offset_ns.0.saturating_add(half))
}
