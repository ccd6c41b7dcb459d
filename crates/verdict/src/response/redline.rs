//! Redlines: the highest rate that keeps an objective, as the interval that the search in the record arrived at.

use assay_model::experiment::Cell;
use assay_model::record::{Entry, Measurement, Origin, Run};
use assay_model::verdict::{RedlineEnd, RedlineStanding, RedlineVerdict};
use assay_stats::lag::median;
use assay_stats::redline::End;
use assay_stats::robust::geometric_mean;

use crate::evidence::sample::{offered_rate, sample_of};
use crate::evidence::window::{DecodedRecord, Window};
use crate::response::course::is_void;
use crate::response::rates::course_in;

/// Judges every cell in which a redline was searched.
pub(crate) fn judge(evidence: &DecodedRecord<'_>) -> Vec<RedlineVerdict> {
    let cells = evidence.record.experiment.cells().into_iter();
    let searched = cells.filter(|cell| cell.offered.is_search());
    searched.map(|cell| judge_cell(evidence, cell)).filter(|judged| !judged.standings.is_empty()).collect()
}

fn judge_cell(evidence: &DecodedRecord<'_>, cell: Cell) -> RedlineVerdict {
    let proper = evidence.record.contenders.iter().filter(|entry| entry.control_of.is_none());
    let mut standings: Vec<RedlineStanding> =
        proper.filter_map(|entry| standing(evidence, entry, &cell)).collect();
    let kept = |standing: &RedlineStanding| standing.kept_per_second.unwrap_or(0.0);
    standings.sort_by(|a, b| kept(b).total_cmp(&kept(a)).then_with(|| a.contender.cmp(&b.contender)));
    RedlineVerdict { cell, standings }
}

fn standing(evidence: &DecodedRecord<'_>, entry: &Entry, cell: &Cell) -> Option<RedlineStanding> {
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
    let end = match found.end {
        End::TrialsSpent => RedlineEnd::Unfinished,
        End::Confirmed => RedlineEnd::Confirmed,
        End::AboveHighest => RedlineEnd::AboveHighest,
        End::BelowLowest => RedlineEnd::BelowLowest,
        End::TooManyVoid => RedlineEnd::TooManyVoid,
    };
    let rates: Vec<f64> =
        sample_of(evidence, entry, &cell.capacity()).rates().into_iter().flatten().collect();
    let capacity = geometric_mean(&rates).ok();
    let void = windows.iter().filter(|window| is_void(window)).count();
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
    evidence: &'e DecodedRecord<'r>,
    contender: &str,
    cell: &Cell,
    per_second: f64,
) -> Vec<&'e Window<'r>> {
    let server_runs =
        evidence.rounds.iter().flatten().filter(|server_run| server_run.run.contender == contender);
    let at = |window: &&Window<'_>| {
        window.measured.cell == *cell
            && offered_rate(window.measured).is_some_and(|offered| (offered - per_second).abs() < 0.5)
    };
    server_runs.flat_map(|server_run| &server_run.windows).filter(at).collect()
}

/// Median response time of some windows, where there are answers enough and it is known.
fn median_of(windows: &[&Window<'_>]) -> Option<f64> {
    let medians = windows.iter().filter_map(|window| window.times.response_bounds(0.5));
    median(&medians.collect::<Vec<_>>())?.exact().map(|ns| ns as f64)
}

/// The shortest one.
fn fastest_of(windows: &[&Window<'_>]) -> Option<f64> {
    let fastest = windows.iter().filter_map(|window| window.times.response.as_ref()?.min()).min();
    fastest.map(|ns| ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::course::tests::window;
    use crate::response::course::{Course, Next};
    use crate::testing;
    use assay_model::check::CheckOutcome;
    use assay_model::record::Record;
    use assay_model::rule::Rule;

    const REDLINE: f64 = 700.0;

    /// A run whose search was stopped after so many windows; a server that was overloaded on the way down serves nothing any more
    /// unless it `recovers`.
    fn searched(most_windows: usize, recovers: bool) -> (Record, RedlineStanding) {
        let mut record = testing::record(&[("a", &[1000.0])]);
        record.experiment.measures[0].rates = vec!["redline:p99<10ms".parse().expect("a load")];
        let cell = record.experiment.cells().into_iter().find(|cell| cell.offered.is_search());
        let cell = cell.expect("a search");
        let mut course = Course::new("p99<10ms".parse().expect("slo"), 1000.0).expect("course");
        for _ in 0..most_windows {
            let Next::Window { per_second, window_s, .. } = course.next() else { break };
            let is_lost = course.so_far().end == End::Confirmed && !recovers;
            let mut made = window(per_second, window_s, if is_lost { 0.0 } else { REDLINE });
            made.cell = cell.clone();
            course.take(&Window::of("a", 0, &made).expect("readable"));
            record.rounds[0].runs[0].cells.push(made);
        }
        let standing = standing_in(&record);
        (record, standing)
    }

    fn standing_in(record: &Record) -> RedlineStanding {
        testing::judged(record).redlines.remove(0).standings.remove(0)
    }

    /// The number of windows after which both bounds are confirmed.
    fn confirmed() -> usize {
        (1..500).find(|&most| searched(most, true).1.end == RedlineEnd::Confirmed).expect("an end")
    }

    #[test]
    fn bounds_are_confirmed_before_the_way_down_is_over() {
        let (all, (_, whole)) = (confirmed(), searched(500, true));
        let (_, cut_off) = searched(all, true);
        assert!(cut_off.windows < whole.windows, "the way down is left out");
        assert_eq!(
            (cut_off.kept_per_second, cut_off.missed_per_second),
            (whole.kept_per_second, whole.missed_per_second)
        );
        assert_eq!((cut_off.recovered_per_second, cut_off.is_settled()), (None, true));
        assert_eq!(whole.recovered_per_second, whole.kept_per_second);
        assert_eq!(searched(all - 1, true).1.end, RedlineEnd::Unfinished);
    }

    #[test]
    fn a_server_that_never_comes_back_recovers_at_nothing() {
        let (_, lost) = searched(500, false);
        assert_eq!((lost.end, lost.recovered_per_second), (RedlineEnd::Confirmed, Some(0.0)));
    }

    #[test]
    fn a_load_that_cannot_be_carried_is_late_and_not_void() {
        let (mut record, _) = searched(500, true);
        let window = record.rounds[0].runs[0].cells.last_mut().expect("a window");
        let mut rule = testing::little(CheckOutcome::Void);
        rule.rule = Rule::OfferedLoad;
        window.load.checks = vec![rule];
        assert_eq!(standing_in(&record).void_windows, 0);
        record.rounds[0].runs[0].cells.last_mut().expect("a window").machine.steal_share = 1.0;
        assert_eq!(standing_in(&record).void_windows, 1);
    }
}
