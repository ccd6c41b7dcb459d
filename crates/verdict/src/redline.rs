//! Redlines: the highest rate that keeps an objective, as the interval that the search in the record arrived at.

use assay_model::experiment::Cell;
use assay_model::offered::Offered;
use assay_model::record::{Entry, Measurement, Origin, Record, Run};
use assay_model::verdict::{RedlineEnd, RedlineStanding, RedlineVerdict};
use assay_stats::redline::End;
use assay_stats::robust::geometric_mean;

use super::sample::sample_of;
use crate::course::Next;
use crate::rates::course_in;
use crate::window::Evidence;

/// Judges every cell in which a redline was searched.
pub(crate) fn judge(evidence: &Evidence<'_>) -> Vec<RedlineVerdict> {
    let cells = evidence.record.experiment.cells().into_iter();
    let searched = cells.filter(|cell| matches!(cell.offered, Offered::Redline(_)));
    searched.map(|cell| judge_cell(evidence, cell)).filter(|judged| !judged.standings.is_empty()).collect()
}

fn judge_cell(evidence: &Evidence<'_>, cell: Cell) -> RedlineVerdict {
    let proper = evidence.record.contenders.iter().filter(|entry| entry.twin_of.is_none());
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
        .filter(|run| run.contender == entry.name)
        .collect();
    let of_cell = |run: &&Run| run.cells.iter().any(|window| window.cell == *cell);
    let windows: Vec<&Measurement> =
        runs.iter().flat_map(|run| &run.cells).filter(|window| window.cell == *cell).collect();
    let course = course_in(evidence, &entry.name, cell).filter(|_| !windows.is_empty())?;
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
    let servers =
        if matches!(entry.origin, Origin::Url(_)) { 0 } else { runs.iter().copied().filter(of_cell).count() };
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Some(RedlineStanding {
        contender: entry.name.clone(),
        kept_per_second: found.lower,
        missed_per_second: found.upper,
        recovered_per_second: found.descending,
        share_of_capacity: found.lower.zip(capacity).map(|(kept, capacity)| kept / capacity),
        trials: found.trials,
        servers: count(servers),
        windows: count(windows.len()),
        void_windows: count(void),
        end,
    })
}

/// A sentence for each contender whose redline was searched.
pub(crate) fn sentences(record: &Record, verdicts: &[RedlineVerdict]) -> Vec<String> {
    let why = |end| match end {
        RedlineEnd::TooManyVoid => "too many windows in a row were void".to_owned(),
        _ => too_early(record),
    };
    let of = |verdict: &RedlineVerdict| {
        let told =
            verdict.standings.iter().map(|standing| sentence(&verdict.cell, standing, &why(standing.end)));
        told.collect::<Vec<_>>()
    };
    verdicts.iter().flat_map(of).collect()
}

/// What a search lacked that did not come to its end: servers, of which each round starts one, or time.
fn too_early(record: &Record) -> String {
    let experiment = &record.experiment;
    let spent = !experiment.until_settled && record.rounds.len() >= experiment.rounds as usize;
    match spent {
        true => format!(
            "each round starts one server, and {} were too few for the search; leave --rounds out",
            experiment.rounds
        ),
        false => "the search was over too early; give it more time with --budget".to_owned(),
    }
}

fn sentence(cell: &Cell, standing: &RedlineStanding, why: &str) -> String {
    let Offered::Redline(slo) = cell.offered else { return String::new() };
    let (name, at) = (&standing.contender, format!("{} at {}", cell.workload, cell.width()));
    let servers = match standing.servers {
        0 => "on one server that was never restarted".to_owned(),
        1 => "on 1 server".to_owned(),
        n => format!("on {n} servers"),
    };
    match (standing.end, standing.kept_per_second, standing.missed_per_second) {
        (RedlineEnd::Confirmed, Some(kept), Some(missed)) => {
            format!(
                "{name} keeps {slo} up to {kept:.0} requests per second and misses it from {missed:.0} on ({at}, {servers}){}.",
                recovery(standing)
            )
        }
        (RedlineEnd::AboveHighest, Some(kept), _) => {
            format!(
                "{name} keeps {slo} at {kept:.0} requests per second and all below; more was not offered ({at})."
            )
        }
        (RedlineEnd::BelowLowest, _, Some(missed)) => {
            format!("{name} misses {slo} even at {missed:.0} requests per second ({at}).")
        }
        (_, Some(kept), Some(missed)) => format!(
            "The redline of {name} for {slo} lies between {kept:.0} and {missed:.0} requests per second so far, not \
             confirmed: {why} ({at})."
        ),
        _ => format!("The redline of {name} for {slo} was not found: {why} ({at})."),
    }
}

/// What an overload leaves behind.
fn recovery(standing: &RedlineStanding) -> String {
    match (standing.recovered_per_second, standing.kept_per_second) {
        (Some(recovered), Some(kept)) if recovered < kept => {
            format!("; once overloaded it recovers at {recovered:.0}")
        }
        (Some(_), _) => "; an overload leaves nothing behind".to_owned(),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_search_without_an_end_says_what_it_lacked() {
        let mut record = testing::record(&[("a", &[1000.0, 1000.0, 1000.0])]);
        (record.experiment.rounds, record.experiment.until_settled) = (3, false);
        assert!(too_early(&record).contains("3 were too few for the search; leave --rounds out"));
        record.experiment.rounds = 4;
        assert!(too_early(&record).contains("--budget"));
        (record.experiment.rounds, record.experiment.until_settled) = (3, true);
        assert!(too_early(&record).contains("--budget"));
    }
}
