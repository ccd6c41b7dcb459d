//! What the time of a run whose servers took turns went into.

use assay_model::units::Nanos;
use assay_model::verdict::Timing;

use super::window::{Evidence, Window};

/// `None` where nobody took turns.
pub(crate) fn timing(evidence: &Evidence<'_>) -> Option<Timing> {
    let turned = |window: &Window<'_>| {
        window.measured.turns.iter().map(|turn| window.counting.length(turn).0).sum::<u64>()
    };
    let in_turns: u64 = evidence.windows().map(turned).sum();
    let whole = evidence.windows().filter(|window| window.measured.turns.is_empty());
    let in_one_piece: u64 = whole.map(|window| window.measured.load.window_ns.0).sum();
    let elapsed = evidence.record.elapsed_ns - evidence.record.paused_ns;
    let is_told = in_turns > 0 && elapsed > Nanos::ZERO;
    is_told.then(|| Timing { measured_share: (in_turns + in_one_piece) as f64 / elapsed.0 as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use assay_model::load::LoadTurn;
    use assay_model::record::Turn;

    #[test]
    fn the_share_of_the_time_is_that_of_what_counts() {
        let mut record = testing::record(&[("a", &[1000.0; 2]), ("b", &[1000.0; 2])]);
        assert!(timing(&Evidence::of(&record).expect("readable")).is_none(), "nobody took turns");
        record.elapsed_ns = Nanos::from_millis(4000);
        let load = LoadTurn { window_ns: Nanos::from_millis(150), ok: 150, ..LoadTurn::default() };
        let turn = |ms| Turn { loaded_ns: Nanos::from_millis(ms), load: load.clone(), ..Turn::default() };
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            run.cells[0].turns = vec![turn(500), turn(700)];
        }
        let told = timing(&Evidence::of(&record).expect("readable")).expect("turns");
        assert!((told.measured_share - 8.0 * 0.15 / 4.0).abs() < 1e-9, "{told:?}");
    }
}
