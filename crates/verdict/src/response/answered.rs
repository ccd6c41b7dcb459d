//! What share of all requests was answered in time, in closed loops whose experiment asks for it. A loop that ends with a number of
//! requests yields nothing else, so it is judged without times too: how many went unanswered, and how long the slowest took.
//!
//! One that failed or was given up counts as never answered. In a loop that ends with a number of requests they are all; in
//! one that ends with the time they are those that were answered in the window, and all that never were: a client that waits
//! for its first answer through the whole window is not left out because it gives up behind it.

use assay_model::check::Check;
use assay_model::evidence::Withheld;
use assay_model::experiment::Cell;
use assay_model::load::LoadReport;
use assay_model::offered::Offered;
use assay_model::record::Measurement;
use assay_model::units::total;
use assay_model::verdict::{AnsweredStanding, AnsweredVerdict, Interval};
use assay_stats::order::median_interval;

use crate::doubts::objections::{answered_by_itself, errors};
use crate::evidence::sample::{Sample, samples};
use crate::evidence::window::{DecodedRecord, Window};
use crate::response::latency::too_few;
use crate::{CONFIDENCE, interval, point};

const NS_PER_MS: f64 = 1e6;

/// Judges every closed loop where the experiment names times, and every one that ends with a number of requests.
pub(crate) fn judge(evidence: &DecodedRecord<'_>) -> Vec<AnsweredVerdict> {
    let record = evidence.record;
    let within_ms = &record.experiment.answered_within_ms;
    let is_told = |cell: &Cell| is_counted(cell) || (cell.offered.is_closed() && !within_ms.is_empty());
    let cells = record.experiment.cells().into_iter().filter(is_told);
    let judged = cells.map(|cell| AnsweredVerdict {
        standings: standings(evidence, &cell, within_ms),
        cell,
        within_ms: within_ms.clone(),
    });
    judged.filter(|verdict| !verdict.standings.is_empty()).collect()
}

/// Whether a loop ends with a number of requests.
fn is_counted(cell: &Cell) -> bool {
    matches!(cell.offered, Offered::Requests(_))
}

fn standings(evidence: &DecodedRecord<'_>, cell: &Cell, within_ms: &[f64]) -> Vec<AnsweredStanding> {
    let mut standings: Vec<AnsweredStanding> =
        samples(evidence, cell).iter().map(|sample| standing(sample, cell, within_ms)).collect();
    let soon = |standing: &AnsweredStanding| standing.shares.iter().map(|share| share.estimate).sum::<f64>();
    standings.sort_by(|a, b| soon(b).total_cmp(&soon(a)).then_with(|| a.contender.cmp(&b.contender)));
    standings
}

fn standing(sample: &Sample<'_>, cell: &Cell, within_ms: &[f64]) -> AnsweredStanding {
    let checks = if is_counted(cell) { objections(sample) } else { Vec::new() };
    // A failure is part of the shares, as never answered; of the slowest answer it is not.
    let void = checks.iter().find(|check| check.is_void() && within_ms.is_empty()).map(Withheld::void);
    let (counting, measured) = (sample.counting().count(), sample.measured().count());
    let withheld = void.or_else(|| (counting * 2 < measured).then(|| too_few(sample, counting, measured)));
    let told = || within_ms.iter().filter(|_| withheld.is_none());
    let slowest = sample.timed().filter_map(|window| window.times.service.max()).max();
    AnsweredStanding {
        contender: sample.entry.identity.name.clone(),
        rounds: u32::try_from(counting).unwrap_or(u32::MAX),
        shares: told().filter_map(|&ms| over_rounds(&shares(sample, ms))).collect(),
        slowest_ns: slowest.map(|ns| ns as f64).filter(|_| withheld.is_none()),
        requests: total(sample.timed().map(requests)),
        unanswered: total(sample.counting().map(unanswered)),
        checks,
        withheld,
    }
}

/// What speaks against a contender, as at any other load.
fn objections(sample: &Sample<'_>) -> Vec<Check> {
    errors(sample).into_iter().chain(answered_by_itself(sample)).collect()
}

/// Share of all requests answered rightly within `ms` milliseconds in each round; none where the window was void.
pub(crate) fn shares(sample: &Sample<'_>, ms: f64) -> Vec<Option<f64>> {
    let share = |window: &Window<'_>| {
        let all = requests(window);
        let in_time = window.times.service.count_at_or_below((ms * NS_PER_MS) as u64);
        (all > 0).then(|| in_time as f64 / all as f64)
    };
    sample.blocks().map(|window| share(window?)).collect()
}

/// The median of what the rounds gave, with its order-statistic interval.
pub(crate) fn over_rounds(values: &[Option<f64>]) -> Option<Interval> {
    match values.iter().copied().flatten().collect::<Vec<f64>>().as_slice() {
        [] => None,
        [only] => Some(point(*only)),
        values => median_interval(values, CONFIDENCE).ok().map(interval),
    }
}

fn requests(window: &Window<'_>) -> u64 {
    window.times.service.count().saturating_add(unanswered(window))
}

/// Requests of a window that were never answered rightly. At a given rate those that were due in it are known, each once: one that was
/// waited for in vain has failed too.
pub fn never_answered(window: &Window<'_>) -> u64 {
    match window.times.response {
        Some(_) => window.times.censored.count().saturating_add(window.failed_otherwise()),
        None => unanswered(window),
    }
}

/// Requests that failed in the window or later, whenever they were sent, and requests that were still unanswered when nobody waited any more. Without
/// the former's number it is of all that failed, also before the window.
fn unanswered(window: &Measurement) -> u64 {
    let LoadReport { books, window: inside, .. } = &window.load;
    let failed = match inside.failed_later {
        Some(later) => total(inside.errors.values().copied()).saturating_add(later),
        None => books.failed(),
    };
    failed.saturating_add(books.censored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use assay_model::evidence::Proportion;
    use assay_model::load::ErrorClass;
    use assay_model::record::Record;
    use assay_model::rule::Rule;
    use assay_stats::Histogram;

    /// Two contenders, each with a window of 1,000 requests in every round of which a share of `slow` takes 500 ms.
    fn record(rounds: usize) -> (Record, Cell) {
        let rates = vec![1000.0; rounds];
        let mut record = testing::record(&[("a", &rates), ("b", &rates)]);
        record.experiment.answered_within_ms = vec![10.0, 1000.0];
        record.experiment.measures[0].rates = vec![Offered::Requests(1000)];
        let cell = Cell { offered: Offered::Requests(1000), ..Cell::closed("hello", 64) };
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            let slow = if run.contender == "a" { 200 } else { 100 };
            let mut histogram = Histogram::new();
            histogram.record_n(1_000_000, 1000 - slow);
            histogram.record_n(500_000_000, slow);
            run.cells[0].cell = cell.clone();
            run.cells[0].load.latency.service_hdr = histogram.to_hdr_base64().expect("histogram");
        }
        (record, cell)
    }

    fn judged(record: &Record) -> Vec<AnsweredVerdict> {
        judge(&DecodedRecord::of(record).expect("readable"))
    }

    #[test]
    fn the_share_counts_all_requests_and_those_without_an_answer_as_never_answered() {
        let (mut record, cell) = record(3);
        for run in
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|run| run.contender == "b")
        {
            run.cells[0].load.books.errors.insert(ErrorClass::HeadTimeout, 900);
            run.cells[0].load.books.censored = 100;
        }
        let verdicts = judged(&record);
        let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
        assert_eq!(verdict.cell, cell);
        let told: Vec<(&str, Vec<f64>, u64, u64)> = (verdict.standings.iter())
            .map(|of| {
                let shares = of.shares.iter().map(|share| share.estimate).collect();
                (of.contender.as_str(), shares, of.requests, of.unanswered)
            })
            .collect();
        assert_eq!(told, [("a", vec![0.8, 1.0], 3000, 0), ("b", vec![0.45, 0.5], 6000, 3000)]);
        assert!((verdict.standings[0].slowest_ns.expect("slowest") / 5e8 - 1.0).abs() < 0.005);
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            let window = &mut run.cells[0].load.window;
            window.failed_later = Some(150);
            window.errors.insert(ErrorClass::HeadTimeout, 100);
        }
        let verdict = judged(&record).remove(0);
        let b = verdict.standings.iter().find(|of| of.contender == "b").expect("b");
        assert_eq!(
            (b.requests, b.unanswered),
            (4050, 1050),
            "what failed before the window is not among them"
        );
    }

    /// One timed out and one was cut off behind the window of a closed loop; at a rate, where one that timed out has failed as well.
    #[test]
    fn whoever_is_never_answered_is_counted_once() {
        let (mut record, _) = record(1);
        let closed = &mut record.rounds[0].runs[0].cells[0];
        closed.load.window.failed_later = Some(1);
        closed.load.books.censored = 1;
        let mut open = closed.clone();
        let mut censored = Histogram::new();
        censored.record_n(5_000_000_000, 8);
        open.load.window.errors = [(ErrorClass::HeadTimeout, 7), (ErrorClass::WrongBody, 3)].into();
        open.load.latency.response_hdr = Some(open.load.latency.service_hdr.clone());
        open.load.latency.censored_hdr = Some(censored.to_hdr_base64().expect("histogram"));
        let never = |measured: &Measurement| never_answered(&Window::of("a", 0, measured).expect("readable"));
        assert_eq!((never(&record.rounds[0].runs[0].cells[0]), never(&open)), (2, 11));
    }

    #[test]
    fn void_windows_do_not_count_and_of_a_loop_without_times_nothing_is_told() {
        let (mut record, _) = record(3);
        for round in record.rounds.iter_mut().take(2) {
            round.runs.iter_mut().for_each(|run| run.cells[0].machine.steal_share = 0.5);
        }
        let verdict = judged(&record).remove(0);
        let few = Withheld::FewWindows { windows: Proportion::new(1, 3), rules: vec![Rule::Steal] };
        assert_eq!(verdict.standings[0].withheld, Some(few));
        assert!(verdict.standings[0].shares.is_empty());
        record.experiment.answered_within_ms.clear();
        record.experiment.measures[0].rates = vec![Offered::Capacity];
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            run.cells[0].cell = Cell::closed("hello", 64);
        }
        assert!(judged(&record).is_empty());
    }

    #[test]
    fn without_times_a_number_of_requests_tells_of_the_slowest_and_of_wrong_answers() {
        let (mut record, cell) = record(3);
        record.experiment.answered_within_ms.clear();
        let verdicts = judged(&record);
        let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
        assert_eq!((&verdict.cell, verdict.within_ms.len()), (&cell, 0));
        let is_told = |of: &AnsweredStanding| {
            of.withheld.is_none() && of.checks.is_empty() && of.shares.is_empty() && of.slowest_ns.is_some()
        };
        assert!(verdict.standings.iter().all(is_told), "{verdict:?}");
        for run in
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|run| run.contender == "b")
        {
            run.cells[0].load.books.errors.insert(ErrorClass::WrongBody, 500);
        }
        let verdict = judged(&record).remove(0);
        let [a, b] = verdict.standings.as_slice() else { panic!("{verdict:?}") };
        assert!(is_told(a), "{a:?}");
        let [check] = b.checks.as_slice() else { panic!("{b:?}") };
        assert!(check.rule == Rule::Errors && check.is_void(), "{check:?}");
        assert_eq!((b.unanswered, b.slowest_ns, &b.withheld), (1500, None, &Some(Withheld::void(check))));
        // Where times are asked for, it is part of the shares and still wrong.
        record.experiment.answered_within_ms = vec![1000.0];
        let verdict = judged(&record).remove(0);
        let b = verdict.standings.iter().find(|of| of.contender == "b").expect("b");
        assert!(b.withheld.is_none() && b.checks.iter().any(Check::is_void), "{b:?}");
    }
}
