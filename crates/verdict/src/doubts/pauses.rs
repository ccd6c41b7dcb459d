//! Pauses: times at which no answer comes for a while, as when a server collects its garbage.
//!
//! A machine stands still, too: a neighbour has its CPUs, or a hypervisor. That befalls all contenders alike, so one is told
//! whose silences are more than its share of all (docs/method/ageing.md#pauses).

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Evidence;
use assay_model::record::{MAX_GENERATOR_DELAY_SHARE, Measurement};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::verdict::CellVerdict;
use assay_stats::rare::more_often_p;

use crate::CONFIDENCE;
use crate::evidence::window::{DecodedRecord, Window};

/// Shortest silence that counts.
const LEAST: Nanos = Nanos::from_millis(50);
/// How many times as long as a response it must be.
const RESPONSES: f64 = 10.0;
/// How many answers must be missing in it: with few, chance makes gaps.
const ANSWERS: f64 = 30.0;
/// Part of the usual number of answers below which a slice is silent.
const SILENT_SHARE: f64 = 0.1;
/// Fewer pauses than this are told of nobody.
const LEAST_PAUSES: u64 = 3;

/// What was seen of one contender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Watched {
    pauses: u64,
    time: Nanos,
    /// Shortest silence that counted.
    least: Nanos,
    longest: Nanos,
}

impl Watched {
    fn and(self, other: Self) -> Self {
        Self {
            pauses: self.pauses + other.pauses,
            time: self.time + other.time,
            least: self.least.max(other.least),
            longest: self.longest.max(other.longest),
        }
    }
}

/// Adds to each standing of a contender that stands still more often than the others do that it does.
pub(crate) fn object(evidence: &DecodedRecord<'_>, cells: &mut [CellVerdict]) {
    let proper = evidence.record.contenders.iter().filter(|entry| entry.control_of.is_none());
    let watched: Vec<(&str, Watched)> = proper
        .map(|entry| (entry.identity.name.as_str(), watched(evidence, &entry.identity.name)))
        .filter(|(_, watched)| watched.time > Nanos::ZERO)
        .collect();
    for (place, (name, own)) in watched.iter().enumerate() {
        let beside = watched.iter().enumerate().filter(|(other, _)| *other != place);
        let others = beside.map(|(_, (_, other))| *other).fold(Watched::default(), Watched::and);
        let Some(check) = objection(*own, others, watched.len()) else { continue };
        let its = cells.iter_mut().flat_map(|cell| &mut cell.standings).filter(|one| one.contender == *name);
        its.for_each(|standing| standing.checks.push(check.clone()));
    }
}

fn objection(own: Watched, others: Watched, tests: usize) -> Option<Check> {
    let p =
        more_often_p(own.pauses, own.time.as_secs_f64(), others.pauses, others.time.as_secs_f64()).ok()?;
    let is_told = own.pauses >= LEAST_PAUSES && p <= (1.0 - CONFIDENCE) / tests as f64;
    let evidence = Evidence::Pauses {
        pauses: own.pauses,
        watched_ns: own.time,
        least_ns: own.least,
        longest_ns: own.longest,
        others: others.pauses,
        others_watched_ns: others.time,
    };
    is_told.then(|| Check::objection(Rule::Pauses, CheckOutcome::Warn, evidence))
}

/// In all closed loops of a contender, the long look among them.
fn watched(evidence: &DecodedRecord<'_>, contender: &str) -> Watched {
    let server_runs = evidence.rounds.iter().flatten().chain(&evidence.long_look);
    let windows = server_runs
        .filter(|server_run| server_run.run.contender == contender)
        .flat_map(|server_run| &server_run.windows);
    let closed = windows.filter(|window| window.measured.cell.offered.is_capacity() && window.counts());
    closed.filter_map(of_window).fold(Watched::default(), Watched::and)
}

/// `None` where answers are too few for gaps to mean anything.
fn of_window(window: &Window<'_>) -> Option<Watched> {
    let series = slices(window);
    let (interval, _) = series.first()?;
    let all: Vec<f64> = series.iter().flat_map(|(_, ok)| ok.iter().map(|ok| *ok as f64)).collect();
    let usual = crate::median(&all)?;
    let per_second = usual / interval.as_secs_f64();
    if per_second.is_nan() || per_second <= 0.0 {
        return None;
    }
    let response_s = f64::from(window.measured.cell.in_flight()) / per_second;
    let least_s = LEAST.as_secs_f64().max(RESPONSES * response_s).max(ANSWERS / per_second);
    // `as` saturates, and the value is a whole number.
    let least = (least_s / interval.as_secs_f64()).ceil() as usize;
    let mut seen = Watched { least: Nanos(interval.0.saturating_mul(least as u64)), ..Watched::default() };
    for (interval, ok) in &series {
        seen.time += Nanos(interval.0.saturating_mul(ok.len() as u64));
        for silence in silences(ok, usual * SILENT_SHARE).filter(|silence| *silence >= least) {
            seen.pauses += 1;
            seen.longest = seen.longest.max(Nanos(interval.0.saturating_mul(silence as u64)));
        }
    }
    Some(seen)
}

/// The slices that count of each turn in which the generator did not stand still itself, or those of a window in one piece.
fn slices<'w>(window: &'w Window<'_>) -> Vec<(Nanos, &'w [u64])> {
    let measured: &'w Measurement = window.measured;
    if measured.turns.is_empty() {
        let series = &measured.load.series;
        let told = (series.interval_ns > Nanos::ZERO).then(|| (series.interval_ns, series.whole()));
        return told.into_iter().collect();
    }
    let undisturbed =
        measured.turns.iter().filter(|turn| turn.load.generator_delay_share <= MAX_GENERATOR_DELAY_SHARE);
    let counted = undisturbed.filter_map(|turn| {
        let (interval, ok) = (turn.load.slices.interval_ns, turn.load.slices.ok.as_slice());
        let counts = usize::try_from(window.counting.length(turn).0.checked_div(interval.0)?).ok()?;
        (counts > 0).then(|| (interval, &ok[ok.len().saturating_sub(counts)..]))
    });
    counted.collect()
}

/// Lengths of the stretches of slices with no more than `silent` answers each.
fn silences(ok: &[u64], silent: f64) -> impl Iterator<Item = usize> {
    ok.chunk_by(move |a, b| (*a as f64 <= silent) == (*b as f64 <= silent))
        .filter(move |stretch| stretch.first().is_some_and(|ok| *ok as f64 <= silent))
        .map(<[u64]>::len)
}

#[cfg(test)]
mod tests {
    use assay_model::load::{LoadTurn, Series};
    use assay_model::record::{Record, Turn};

    use super::*;
    use crate::testing::{self, judged};

    const SLICE: Nanos = Nanos::from_millis(10);

    /// Three rounds of three servers of 100 answers in each slice; in some turns of the first one some slices have none.
    fn record(silent: impl Fn(u32, u32) -> usize) -> Record {
        let mut record = testing::record(&[("a", &[1e4; 3]), ("b", &[1e4; 3]), ("c", &[1e4; 3])]);
        for round in &mut record.rounds {
            for (place, run) in round.runs.iter_mut().enumerate() {
                let turn = |rotation: u32| {
                    let from = if place == 0 { 15 - silent(round.index, rotation) } else { 15 };
                    let ok: Vec<u64> = (0..15).map(|slice| if slice < from { 100 } else { 0 }).collect();
                    let load = LoadTurn {
                        window_ns: Nanos(SLICE.0 * 15),
                        ok: ok.iter().sum(),
                        slices: Series { interval_ns: SLICE, ok },
                        ..LoadTurn::default()
                    };
                    let loaded_ns = Nanos(SLICE.0 * 15 * u64::from(rotation));
                    Turn { rotation, loaded_ns, load, ..Turn::default() }
                };
                run.cells[0].turns = (0..20).map(turn).collect();
            }
        }
        record.experiment.settle_s = 0.0;
        record
    }

    fn told(record: &Record) -> Vec<(String, Check)> {
        let standings = judged(record).cells.remove(0).standings;
        let pauses = |standing: &assay_model::verdict::Standing| {
            let its = standing.checks.iter().filter(|check| check.rule == Rule::Pauses).cloned();
            its.map(|check| (standing.contender.clone(), check)).collect::<Vec<_>>()
        };
        standings.iter().flat_map(pauses).collect()
    }

    #[test]
    fn who_stands_still_more_often_than_the_others_is_told() {
        let told = told(&record(|_, rotation| if rotation % 7 == 3 { 8 } else { 0 }));
        let [(name, check)] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(name, "a");
        let Evidence::Pauses { pauses, watched_ns, longest_ns, others, .. } = check.evidence else {
            panic!("{check:?}")
        };
        assert_eq!((pauses, others, watched_ns), (9, 0, Nanos::from_millis(9000)));
        assert_eq!(longest_ns, Nanos::from_millis(80));
    }

    #[test]
    fn short_gaps_and_few_pauses_are_told_of_nobody() {
        assert_eq!(told(&record(|_, _| 0)), []);
        assert_eq!(told(&record(|_, rotation| if rotation % 7 == 3 { 4 } else { 0 })), []);
        assert_eq!(told(&record(|round, rotation| if round == 1 && rotation < 2 { 8 } else { 0 })), []);
    }

    /// A machine that stands still does so under everybody.
    #[test]
    fn pauses_in_proportion_are_the_machines() {
        let watched = |pauses| Watched { pauses, time: Nanos::from_millis(10_000), ..Watched::default() };
        let five = Watched { time: Nanos::from_millis(50_000), ..watched(20) };
        assert_eq!(objection(watched(5), five, 6), None);
        assert!(objection(watched(14), five, 6).is_some());
        assert_eq!(objection(watched(14), Watched::default(), 1), None, "nobody beside it");
    }

    #[test]
    fn a_slow_server_is_silent_between_its_answers() {
        let mut record = record(|_, _| 0);
        for turn in record.rounds.iter_mut().flat_map(|round| &mut round.runs[0].cells[0].turns) {
            turn.load.slices.ok = (0..15).map(|slice| if slice % 8 == 0 { 64 } else { 0 }).collect();
        }
        assert_eq!(told(&record), []);
    }
}
