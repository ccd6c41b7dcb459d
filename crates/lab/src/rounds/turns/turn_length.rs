//! How long a server's turns are: long enough for some answers on each of its connections (docs/method/carousel.md#slow-answers).

use std::iter::once;

use assay_model::experiment::Cell;
use assay_model::record::Run;
use assay_model::units::Nanos;

use crate::rounds::life::server_run::OngoingRun;
use crate::rounds::warmup::rule::rate_at_the_end;
use crate::schedule::MIN_ROTATIONS;

/// Answers that each connection is to have in a turn. In fewer, it matters more where in a wave of answers the turn began than how fast
/// the server is; the generator warns of windows that are shorter (rule `window-length`).
const ANSWERS: f64 = 10.0;

/// The load of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TurnLength {
    /// Load at the beginning of the turn that does not count.
    pub(crate) settle: Nanos,
    /// The part of the turn that is measured.
    pub(crate) window: Nanos,
}

/// What the windows of turns may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(crate) least: Nanos,
    pub(crate) most: Nanos,
}

impl TurnLength {
    /// A turn that is long enough for two servers.
    pub(super) fn or_longer(self, other: Self) -> Self {
        Self { settle: self.settle.max(other.settle), window: self.window.max(other.window) }
    }
}

impl Bounds {
    /// A turn of a server whose answers take `response` with all connections at work: its window has [`ANSWERS`] of each, and what does
    /// not count is one answer at least, because all are asked at the same moment.
    pub(crate) fn turn(self, settle: Nanos, response: Option<Nanos>) -> TurnLength {
        let Some(response) = response else { return TurnLength { settle, window: self.least } };
        let wanted = Nanos::from_secs_f64(response.as_secs_f64() * ANSWERS);
        let window = wanted.min(self.most).max(self.least);
        TurnLength { settle: settle.max(response.min(window)), window }
    }

    /// Turns of a `length` in the time of so many of the least one, but enough of them.
    pub(super) fn turns_in_the_time_of(self, turns: u32, length: TurnLength) -> u32 {
        let fitting = f64::from(turns) * self.least.as_secs_f64() / length.window.as_secs_f64().max(1e-9);
        // `as` saturates, and the value is a whole number.
        (fitting.round() as u32).clamp(MIN_ROTATIONS.min(turns), turns)
    }
}

impl OngoingRun<'_> {
    /// How long an answer takes with all connections of a closed loop at work, as its rate tells (Little's law).
    pub(super) fn response_time(&self, cell: &Cell) -> Option<Nanos> {
        let lives: Vec<&Run> = once(&self.run).chain(self.server_run.earlier_runs()).collect();
        let per_second = rate_of(&lives, cell)?;
        Some(Nanos::from_secs_f64(f64::from(cell.in_flight()) / per_second))
    }
}

/// Answers per second of a contender in a cell, as its lives show: in the cell itself, else on its workload.
fn rate_of(lives: &[&Run], cell: &Cell) -> Option<f64> {
    let lead_ins = lives.iter().flat_map(|run| &run.lead_ins).filter(|lead_in| lead_in.cell == *cell);
    let windows = lives.iter().flat_map(|run| &run.cells).filter(|window| window.cell == *cell);
    let warmups = lives.iter().flat_map(|run| &run.warmups).filter(|warmup| warmup.workload == cell.workload);
    let mut rates = lead_ins
        .map(|lead_in| rate_at_the_end(&lead_in.per_second))
        .chain(windows.map(|window| window.load.window_ns.rate_of(window.load.window.ok)))
        .chain(warmups.map(|warmup| rate_at_the_end(&warmup.per_second)));
    rates.find(|rate| *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { least: Nanos::from_millis(150), most: Nanos::from_millis(1000) };
    const SETTLE: Nanos = Nanos::from_millis(30);

    fn turn(response_ms: u64) -> (u64, u64) {
        let length = BOUNDS.turn(SETTLE, Some(Nanos::from_millis(response_ms)));
        (length.settle.0 / 1_000_000, length.window.0 / 1_000_000)
    }

    #[test]
    fn slow_answers_make_turns_longer_within_bounds() {
        assert_eq!(BOUNDS.turn(SETTLE, None), TurnLength { settle: SETTLE, window: BOUNDS.least });
        assert_eq!(turn(2), (30, 150), "quick answers come often enough");
        assert_eq!(turn(20), (30, 200));
        assert_eq!(turn(75), (75, 750), "the first answers come all at once");
        assert_eq!(turn(900), (900, 1000));
        assert_eq!(turn(5000), (1000, 1000), "what does not count is no longer than what does");
    }

    #[test]
    fn long_turns_are_fewer_where_no_clock_ends_them() {
        let turns = |window_ms| {
            let length = TurnLength { settle: SETTLE, window: Nanos::from_millis(window_ms) };
            BOUNDS.turns_in_the_time_of(20, length)
        };
        assert_eq!([turns(150), turns(300), turns(1000)], [20, 10, 3]);
        let length = TurnLength { settle: SETTLE, window: BOUNDS.most };
        assert_eq!(BOUNDS.turns_in_the_time_of(2, length), 2);
    }
}
