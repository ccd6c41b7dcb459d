//! Redlines: the highest rate that keeps an objective, as the interval that the search in the record arrived at.

use assay_model::experiment::Cell;
use assay_model::record::{Entry, Measurement, Origin, Run};
use assay_model::verdict::{RedlineEnd, RedlineStanding, RedlineVerdict};
use assay_stats::redline::End;
use assay_stats::robust::{geometric_mean, median};

use super::sample::sample_of;
use crate::course::Next;
use crate::rates::course_in;
use crate::sample::offered_rate;
use crate::window::{Evidence, Window};

/// Judges every cell in which a redline was searched.
pub(crate) fn judge(evidence: &Evidence<'_>) -> Vec<RedlineVerdict> {
    let cells = evidence.record.experiment.cells().into_iter();
    let searched = cells.filter(|cell| cell.offered.is_search());
    searched.map(|cell| judge_cell(evidence, cell)).filter(|judged| !judged.standings.is_empty()).collect()
}

fn judge_cell(evidence: &Evidence<'_>, cell: Cell) -> RedlineVerdict {
    let proper = evidence.record.contenders.iter().filter(|entry| entry.control_of.is_none());
    let mut standings: Vec<RedlineStanding> =
        proper.filter_map(|entry| standing(evidence, entry, &cell)).collect();
    let kept = |standing: &RedlineStanding| standing.kept_per_second.unwrap_or(0.0);
    standings.sort_by(|a, b| kept(b).total_cmp(&kept(a)).then_with(|| a.contender.cmp(&b.contender)));
    RedlineVerdict { cell, standings }
}

fn standing(evidence: &Evidence<'_>, entry: &Entry, cell: &Cell) -> Option<RedlineStanding> {
    let runs: Vec<&Run> = evidence
        .record
        .rounds
        .iter()
        .flat_map(|round| &round.runs)
        .filter(|run| run.contender == entry.identity.name)
        .collect();
    let of_cell = |run: &&Run| run.cells.iter().any(|window| window.cell == *cell);
    let windows: Vec<&Measurement> =
        runs.iter().flat_map(|run| &run.cells).filter(|window| window.cell == *cell).collect();
    let Some(course) = course_in(evidence, &entry.identity.name, cell).filter(|_| !windows.is_empty()) else {
        return not_begun(entry, cell, &runs);
    };
    let found = course.so_far();
    let end = match (course.next(), found.end) {
        (Next::Window { .. }, _) | (_, End::TrialsSpent) => RedlineEnd::Unfinished,
        (_, End::Confirmed) => RedlineEnd::Confirmed,
        (_, End::AboveHighest) => RedlineEnd::AboveHighest,
        (_, End::BelowLowest) => RedlineEnd::BelowLowest,
        (_, End::TooManyVoid) => RedlineEnd::TooManyVoid,
    };
    let rates: Vec<f64> =
        sample_of(evidence, entry, &cell.capacity()).rates().into_iter().flatten().collect();
    let capacity = geometric_mean(&rates).ok();
    let void = windows.iter().filter(|window| !window.void_rules().is_empty()).count();
    let servers = if matches!(entry.identity.origin, Origin::Url(_)) {
        0
    } else {
        runs.iter().copied().filter(of_cell).count()
    };
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let out_of_reach = found.upper.filter(|_| end == RedlineEnd::BelowLowest);
    let at_missed = out_of_reach
        .map(|missed| windows_at(evidence, &entry.identity.name, cell, missed))
        .unwrap_or_default();
    Some(RedlineStanding {
        contender: entry.identity.name.clone(),
        kept_per_second: found.lower,
        missed_per_second: found.upper,
        median_at_missed_ns: median_of(&at_missed),
        fastest_at_missed_ns: fastest_of(&at_missed),
        recovered_per_second: found.descending,
        share_of_capacity: found.lower.zip(capacity).map(|(kept, capacity)| kept / capacity),
        trials: found.trials,
        servers: count(servers),
        windows: count(windows.len()),
        void_windows: count(void),
        end,
    })
}

/// A search without a single trial, of somebody who was under load: no window showed a capacity to begin below, or none was left time
/// for. Who was not under load at all is missing everywhere.
fn not_begun(entry: &Entry, cell: &Cell, runs: &[&Run]) -> Option<RedlineStanding> {
    let closed = cell.capacity();
    let windows: Vec<&Measurement> =
        runs.iter().flat_map(|run| &run.cells).filter(|window| window.cell == closed).collect();
    if windows.is_empty() || entry.identity.is_limit() {
        return None;
    }
    let all_are_void = windows.iter().all(|window| !window.rate_void_rules().is_empty());
    Some(RedlineStanding {
        contender: entry.identity.name.clone(),
        kept_per_second: None,
        missed_per_second: None,
        median_at_missed_ns: None,
        fastest_at_missed_ns: None,
        recovered_per_second: None,
        share_of_capacity: None,
        trials: 0,
        servers: 0,
        windows: 0,
        void_windows: 0,
        end: if all_are_void { RedlineEnd::TooManyVoid } else { RedlineEnd::Unfinished },
    })
}

/// The windows at one rate.
fn windows_at<'e, 'r>(
    evidence: &'e Evidence<'r>,
    contender: &str,
    cell: &Cell,
    per_second: f64,
) -> Vec<&'e Window<'r>> {
    let server_runs =
        evidence.rounds.iter().flatten().filter(|server_run| server_run.run.contender == contender);
    let at = |window: &&Window<'_>| {
        window.measured.cell == *cell
            && offered_rate(window.measured).is_some_and(|offered| (offered - per_second).abs() < 1.0)
    };
    server_runs.flat_map(|server_run| &server_run.windows).filter(at).collect()
}

/// Their median response time, where there are answers enough.
fn median_of(windows: &[&Window<'_>]) -> Option<f64> {
    let medians = windows.iter().filter_map(|window| window.times.response_bounds(0.5));
    median(&medians.map(|bounds| bounds.from_due.value as f64).collect::<Vec<_>>()).ok()
}

/// The shortest one.
fn fastest_of(windows: &[&Window<'_>]) -> Option<f64> {
    let fastest = windows.iter().filter_map(|window| window.times.response.as_ref()?.min()).min();
    fastest.map(|ns| ns as f64)
}
