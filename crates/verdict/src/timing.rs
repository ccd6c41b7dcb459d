//! What the time of a run whose servers took turns went into.

use assay_model::units::Nanos;
use assay_model::verdict::Timing;

use crate::capacity::duet;
use crate::evidence::turns::counting_length;
use crate::evidence::window::{DecodedRecord, Window};

/// `None` where nobody took turns.
pub(crate) fn timing(evidence: &DecodedRecord<'_>) -> Option<Timing> {
    let took_turns = |window: &Window<'_>| !window.turns.is_empty() || !window.duet.is_empty();
    let elapsed = evidence.record.elapsed_ns - evidence.record.paused_ns;
    if elapsed == Nanos::ZERO || !evidence.windows().any(took_turns) {
        return None;
    }
    let counting = evidence.windows().filter(|window| window.rate_counts());
    let alone: Nanos = counting.map(measured).sum();
    let length = alone + duet::counting_length(evidence);
    Some(Timing { measured_share: length.0 as f64 / elapsed.0 as f64 })
}

/// What counts of a window in turns or in one piece.
fn measured(window: &Window<'_>) -> Nanos {
    match window.turns.as_slice() {
        [] => window.load.window_ns,
        _ => counting_length(window, &window.counting),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use assay_model::check::CheckOutcome;
    use assay_model::design::Side;
    use assay_model::load::LoadTurn;
    use assay_model::record::{DuetTurn, TimeTaken, Turn};

    #[test]
    fn the_share_of_the_time_is_that_of_what_counts() {
        let mut record = testing::record(&[("a", &[1000.0; 2]), ("b", &[1000.0; 2])]);
        assert!(timing(&DecodedRecord::of(&record).expect("readable")).is_none(), "nobody took turns");
        record.elapsed_ns = Nanos::from_millis(4000);
        let load = LoadTurn { window_ns: Nanos::from_millis(150), ok: 150, ..LoadTurn::default() };
        let turn = |ms| Turn { loaded_ns: Nanos::from_millis(ms), load: load.clone(), ..Turn::default() };
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            run.cells[0].turns = vec![turn(500), turn(700)];
        }
        let told = timing(&DecodedRecord::of(&record).expect("readable")).expect("turns");
        assert!((told.measured_share - 8.0 * 0.15 / 4.0).abs() < 1e-9, "{told:?}");
        // What others spoil is not among it: one turn, and a window as a whole.
        let taken = |steal_share| Some(TimeTaken { steal_share, ..TimeTaken::default() });
        let a = &mut record.rounds[0].runs[0].cells[0].turns;
        (a[0].taken, a[1].taken) = (taken(0.5), taken(0.0));
        let b = &mut record.rounds[0].runs[1].cells[0];
        b.load.checks = vec![testing::little(CheckOutcome::Void)];
        let told = timing(&DecodedRecord::of(&record).expect("readable")).expect("turns");
        assert!((told.measured_share - 5.0 * 0.15 / 4.0).abs() < 1e-9, "{told:?}");
    }

    #[test]
    fn two_at_once_are_measured_once() {
        let mut record = testing::record(&[("a", &[1000.0; 2]), ("b", &[1000.0; 2])]);
        record.elapsed_ns = Nanos::from_millis(8000);
        let turn = |beside: &str, side, delay| {
            let window_ns = Nanos::from_millis(100);
            let load = LoadTurn { window_ns, ok: 100, generator_delay_share: delay, ..LoadTurn::default() };
            DuetTurn { beside: beside.to_owned(), side, load, ..DuetTurn::default() }
        };
        for (round, delay) in record.rounds.iter_mut().zip([0.0, 0.5]) {
            let (first, second) = (Side::First, Side::Second);
            round.runs[0].cells[0].duet = vec![turn("b", first, 0.0), turn("b", second, 0.0)];
            round.runs[1].cells[0].duet = vec![turn("a", second, delay), turn("a", first, 0.0)];
        }
        let told = timing(&DecodedRecord::of(&record).expect("readable")).expect("a duet");
        // Four windows of a second, and three of four pairs.
        assert!((told.measured_share - 4.3 / 8.0).abs() < 1e-9, "{told:?}");
    }
}
