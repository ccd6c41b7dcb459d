//! At which rate a cell is measured. A rate once offered stays the same in all later rounds, so that rounds are comparable;
//! before that it follows from the first capacity that was measured. Pure: it is all in the record.

use assay_model::evidence::Withheld;
use assay_model::experiment::Cell;
use assay_model::offered::Offered;
use assay_model::record::{Entry, Measurement, Record, Run, State};

use crate::evidence::window::{DecodedRecord, Unreadable, Window};
use crate::response::course::Course;
use crate::{offered_rate, throughput};

/// Share of the slowest contender's capacity that all are offered at a common rate.
const COMMON_SHARE: f64 = 0.5;

/// Requests per second to offer to the contender of `own`, the run that is going on, in `cell`: `None` while it cannot be
/// told, and for a closed loop.
pub fn rate_for(record: &Record, own: &Run, cell: &Cell) -> Option<f64> {
    let rate = match cell.offered {
        Offered::Capacity | Offered::Requests(_) | Offered::Redline(_) => return None,
        Offered::Rate(per_second) => f64::from(per_second),
        Offered::Share(thousandths) => {
            offered_before(runs_of(record, &own.contender), cell).or_else(|| {
                let capacity = first_capacity(runs_of(record, &own.contender).chain([own]), cell)?;
                Some(capacity * f64::from(thousandths) / 1000.0)
            })?
        }
        Offered::Common => offered_before(all_runs(record), cell).or_else(|| common_rate(record, cell))?,
    };
    // The generator takes whole numbers.
    Some(rate.round().max(1.0))
}

/// The search for the redline of the contender of `own` as far as it got; `None` while its capacity is not known.
///
/// # Errors
/// [`Unreadable`] when a histogram of its windows cannot be read.
pub fn course_of(record: &Record, own: &Run, cell: &Cell) -> Result<Option<Course>, Unreadable> {
    let going_on = u32::try_from(record.rounds.len()).unwrap_or(u32::MAX);
    let before = record.rounds.iter().flat_map(|round| round.runs.iter().map(|run| (round.index, run)));
    let runs = before.filter(|(_, run)| run.contender == own.contender).chain([(going_on, own)]);
    let windows = runs.flat_map(|(round, run)| run.cells.iter().map(move |window| (round, window)));
    let of_cell = windows.filter(|(_, window)| window.cell == *cell);
    let windows = of_cell.map(|(round, window)| Window::of(&own.contender, round, window));
    let windows: Vec<Window<'_>> = windows.collect::<Result<_, _>>()?;
    let capacities = capacities(runs_of(record, &own.contender).chain([own]), cell);
    Ok(course(capacities, cell, &windows.iter().collect::<Vec<_>>()))
}

/// The course of a contender whose run is over.
pub(crate) fn course_in(evidence: &DecodedRecord<'_>, contender: &str, cell: &Cell) -> Option<Course> {
    let server_runs =
        evidence.rounds.iter().flatten().filter(|server_run| server_run.run.contender == contender);
    let windows =
        server_runs.flat_map(|server_run| &server_run.windows).filter(|window| window.cell == *cell);
    course(capacities(runs_of(evidence.record, contender), cell), cell, &windows.collect::<Vec<_>>())
}

/// The search as far as `windows` show it. It begins below the first capacity, or below a later one where that is where its first window
/// was: an earlier assay passed over windows that are void as a whole, whether or not their throughput counts.
fn course<'w>(
    capacities: impl Iterator<Item = f64>,
    cell: &Cell,
    windows: &[&'w Window<'w>],
) -> Option<Course> {
    let Offered::Redline(slo) = cell.offered else { return None };
    let begun: Vec<Course> = capacities.filter_map(|capacity| Course::new(slo, capacity)).collect();
    let is_this = |course: &&Course| windows.first().is_none_or(|window| course.asks_for(window));
    let begun = begun.iter().find(is_this).or(begun.first())?;
    Some(begun.clone().replay(windows.iter().copied()))
}

/// What the slowest of those who still take part can serve, of a whole round at least.
fn common_rate(record: &Record, cell: &Cell) -> Option<f64> {
    // The last round is the one that is going on: whoever comes late in it must not be missing.
    let (_, finished) = record.rounds.split_last()?;
    let capacity = |entry: &Entry| {
        let runs = finished.iter().flat_map(|round| &round.runs);
        first_capacity(runs.filter(|run| run.contender == entry.identity.name), cell)
    };
    let slowest = record
        .contenders
        .iter()
        .filter(|entry| is_ranked(entry))
        .filter_map(capacity)
        .min_by(f64::total_cmp)?;
    Some(slowest * COMMON_SHARE)
}

/// The rate at which the cell was measured in one of `runs`.
fn offered_before<'r>(runs: impl Iterator<Item = &'r Run>, cell: &Cell) -> Option<f64> {
    let windows = runs.flat_map(|run| &run.cells).filter(|window| window.cell == *cell);
    windows.filter_map(offered_rate).next()
}

/// Why no rate could be offered to the contender of `entry` in `cell`, if that is so: it was measured at capacity, and of what the rate
/// follows from no throughput counts, or nobody could know it in the only round.
pub(crate) fn unknown(record: &Record, entry: &Entry, cell: &Cell) -> Option<Withheld> {
    let name = entry.identity.name.as_str();
    let closed = cell.capacity();
    runs_of(record, name).flat_map(|run| &run.cells).find(|window| window.cell == closed)?;
    let is_known = match cell.offered {
        Offered::Share(_) => first_capacity(runs_of(record, name), cell).is_some(),
        Offered::Common => {
            let ranked = record.contenders.iter().filter(|entry| is_ranked(entry));
            ranked.flat_map(|of| first_capacity(runs_of(record, &of.identity.name), cell)).next().is_some()
        }
        Offered::Capacity | Offered::Rate(_) | Offered::Requests(_) | Offered::Redline(_) => true,
    };
    let is_over = record.state != State::Running;
    let is_too_late = cell.offered == Offered::Common && is_over && record.rounds.len() == 1;
    match (is_known, is_too_late) {
        (false, _) => Some(Withheld::NoCapacity),
        (true, true) => Some(Withheld::NoLaterRound),
        (true, false) => None,
    }
}

/// Whether a contender's capacity has a say in the common rate.
fn is_ranked(entry: &Entry) -> bool {
    !entry.identity.is_limit() && entry.not_run.is_none() && entry.control_of.is_none()
}

/// The throughput of the first closed loop in the same cell whose throughput counts.
pub fn first_capacity<'r>(runs: impl Iterator<Item = &'r Run>, cell: &Cell) -> Option<f64> {
    capacities(runs, cell).next()
}

/// The throughput of each closed loop in the same cell, of those whose throughput counts.
fn capacities<'r>(runs: impl Iterator<Item = &'r Run>, cell: &Cell) -> impl Iterator<Item = f64> {
    let closed = cell.capacity();
    let counts = move |window: &&Measurement| window.cell == closed && window.rate_void_rules().is_empty();
    runs.flat_map(|run| &run.cells).filter(counts).filter_map(throughput)
}

fn all_runs(record: &Record) -> impl Iterator<Item = &Run> {
    record.rounds.iter().flat_map(|round| &round.runs)
}

fn runs_of<'r>(record: &'r Record, contender: &'r str) -> impl Iterator<Item = &'r Run> {
    all_runs(record).filter(move |run| run.contender == contender)
}

#[cfg(test)]
mod tests {
    use assay_model::load::Arrival;

    use super::*;
    use crate::testing;

    fn cell(offered: &str) -> Cell {
        Cell { offered: offered.parse().expect("load"), ..Cell::closed("hello", 64) }
    }

    /// Two rounds of `a` and `b` with `limit`, the second going on with nobody measured in it yet but `own`.
    fn record() -> (Record, Run) {
        let record =
            testing::record(&[("limit", &[100.0, 1.0]), ("a", &[900.0, 1100.0]), ("b", &[400.0, 500.0])]);
        let own = record.rounds[1].runs[1].clone();
        (record, own)
    }

    #[test]
    fn a_share_is_that_of_the_first_capacity_and_stays() {
        let (mut record, mut own) = record();
        assert_eq!(rate_for(&record, &own, &cell("50%")), Some(450.0));
        record.rounds.clear();
        // In the first round the run's own closed loop, just measured, is all there is.
        assert_eq!(rate_for(&record, &own, &cell("50%")), Some(550.0));
        own.cells[0].machine.steal_share = 1.0;
        assert_eq!(rate_for(&record, &own, &cell("50%")), None);
        assert_eq!(rate_for(&record, &own, &cell("5k/s")), Some(5000.0));
        assert_eq!(rate_for(&record, &own, &cell("max")), None);
    }

    #[test]
    fn the_common_rate_is_half_of_the_slowest_ranked_contenders() {
        let (mut record, own) = record();
        assert_eq!(rate_for(&record, &own, &cell("common")), Some(200.0));
        // Once offered it does not change, whatever becomes of the slowest.
        let window = &mut record.rounds[0].runs[1].cells;
        let mut at_rate = window[0].clone();
        at_rate.cell = cell("common");
        at_rate.load.arrival = Arrival::Poisson { per_second: 123.0 };
        window.push(at_rate);
        assert_eq!(rate_for(&record, &own, &cell("common")), Some(123.0));
        record.rounds.truncate(1);
        record.rounds[0].runs[1].cells.truncate(1);
        assert_eq!(rate_for(&record, &own, &cell("common")), None, "before the first round is whole");
    }
}
