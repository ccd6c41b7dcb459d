//! Windows of two servers at once: which belong together, and what their ratios say (docs/method/duet.md).

use assay_model::design::Side;
use assay_model::experiment::Cell;
use assay_model::record::{DuetTurn, Measurement};
use assay_stats::duet::{Duet, Restart, duet};
use assay_stats::moderation::Prior;

use crate::window::Evidence;

/// What the duet of `new` with `base` says of their rates, new over base, and by how many restarts; `None` where none was
/// measured, or too few restarts were.
pub(crate) fn ratio(
    evidence: &Evidence<'_>,
    cell: &Cell,
    base: &str,
    new: &str,
    confidence: f64,
) -> Option<(Duet, usize)> {
    let restarts = restarts(evidence, cell, base, new);
    let count = restarts.len();
    Some((duet(&[restarts], &Prior::none(), confidence).ok()?, count))
}

/// The windows of both in each round that has some.
///
/// A round is not left out because its turns are void: what a hypervisor or another program takes from one of the two it takes
/// from the other, which is what the design is for.
fn restarts(evidence: &Evidence<'_>, cell: &Cell, base: &str, new: &str) -> Vec<Restart> {
    let windows = |name| evidence.lives(name, cell.network).into_iter().map(|life| life?.window(cell));
    let both = windows(base).zip(windows(new)).filter_map(|(base, new)| Some((base?, new?)));
    let restart = both.map(|(of_base, of_new)| restart((base, &of_base.duet), (new, &of_new.duet)));
    restart.filter(|restart| !restart.straight.is_empty() || !restart.swapped.is_empty()).collect()
}

/// Pairs the windows of one restart: those of the same rotation, each beside the other and on the other side.
fn restart((base, of_base): (&str, &[DuetTurn]), (new, of_new): (&str, &[DuetTurn])) -> Restart {
    let mut restart = Restart::default();
    for turn in of_base.iter().filter(|turn| turn.beside == new) {
        let is_its = |other: &&DuetTurn| {
            other.beside == base && other.rotation == turn.rotation && other.side == turn.side.other()
        };
        let Some(ratio) = of_new.iter().find(is_its).and_then(|other| log_ratio(turn, other)) else {
            continue;
        };
        match turn.side {
            Side::First => restart.straight.push(ratio),
            Side::Second => restart.swapped.push(ratio),
        }
    }
    restart
}

/// The logarithm of new over base; `None` where one of them answered nothing.
fn log_ratio(base: &DuetTurn, new: &DuetTurn) -> Option<f64> {
    let rate = |turn: &DuetTurn| turn.load.window_ns.rate_of(turn.load.ok);
    Some((rate(new) / rate(base)).ln()).filter(|ratio| ratio.is_finite())
}

/// Share of the requests of all duets of a contender that failed, 0 to 1.
pub(crate) fn failed_share<'w>(windows: impl Iterator<Item = &'w Measurement>) -> f64 {
    let turns = windows.flat_map(|window| &window.duet);
    let (failed, all) = turns.fold((0, 0), |(failed, all), turn| {
        (failed + turn.load.failed, all + turn.load.failed + turn.load.ok)
    });
    if all == 0 { 0.0 } else { failed as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use assay_model::load::LoadTurn;
    use assay_model::units::Nanos;

    use super::*;

    fn turn(beside: &str, rotation: u32, side: Side, ok: u64) -> DuetTurn {
        let load = LoadTurn { window_ns: Nanos::from_millis(100), ok, ..LoadTurn::default() };
        DuetTurn { beside: beside.to_owned(), rotation, side, load, ..DuetTurn::default() }
    }

    #[test]
    fn windows_are_paired_by_rotation_partner_and_side() {
        let (first, second) = (Side::First, Side::Second);
        let base = [
            turn("new", 0, first, 100),
            turn("new", 0, second, 100),
            turn("base′", 0, first, 100),
            turn("new", 1, first, 100),
            turn("new", 2, second, 0),
        ];
        let new = [
            turn("base", 0, second, 200),
            turn("base", 0, first, 400),
            // Without a partner: the base's window of that rotation was on the other side.
            turn("base", 1, first, 900),
            turn("base", 2, first, 900),
            turn("other", 0, second, 900),
        ];
        let found = restart(("base", &base), ("new", &new));
        assert_eq!((found.straight.len(), found.swapped.len()), (1, 1));
        assert!((found.straight[0].exp() - 2.0).abs() < 1e-9 && (found.swapped[0].exp() - 4.0).abs() < 1e-9);
        assert_eq!(restart(("base", &base), ("nobody", &new)), Restart::default());
    }
}
