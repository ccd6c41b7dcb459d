//! Response times at a given rate: percentiles over restarts, and whose tail is longer where all got the same load.
//!
//! A percentile is taken from each window's own histogram and the median over the rounds is told with its order-statistic
//! interval; percentiles are never averaged (docs/method/measures.md#percentiles).

use assay_model::check::CheckOutcome;
use assay_model::evidence::{Proportion, Withheld};
use assay_model::experiment::Cell;
use assay_model::offered::Offered;
use assay_model::record::{Entry, Record};
use assay_model::verdict::{Call, Interval, LatencyPair, LatencyStanding, LatencyVerdict, ResponseQuantile};
use assay_stats::lag::{Bounds, median};
use assay_stats::moderation::Prior;
use assay_stats::order::median_interval;
use assay_stats::robust::geometric_mean;
use assay_stats::sequential::Settled;
use assay_stats::simultaneous::{Looks, each_of};
use assay_stats::table::{Pair, Table, Windows};

use crate::doubts::looks::watched;
use crate::doubts::objections::{answered_by_itself, broken_rules, errors, generator_objections};
use crate::evidence::energy::energy_per_answer;
use crate::evidence::measured::Measured;
use crate::evidence::percentiles;
use crate::evidence::sample::{Sample, sample_of, samples};
use crate::evidence::window::{DecodedRecord, Window};
use crate::response::lag;
use crate::response::rates;
use crate::{CONFIDENCE, closed, interval, offered_rate, point, with_compared_tails};

/// The percentiles that are told.
pub(crate) const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// The one by which tails are compared.
const TAIL: f64 = 0.99;

/// Judges every cell in which a rate was offered to somebody, or would have been if one were known.
pub(crate) fn judge(evidence: &DecodedRecord<'_>, margin: f64) -> Vec<LatencyVerdict> {
    let record = evidence.record;
    let cells = record.experiment.cells().into_iter().filter(|cell| cell.offered.is_rate());
    let judged = cells.map(|cell| judge_cell(evidence, cell));
    let mut judged: Vec<_> = judged.filter(|(verdict, _)| !verdict.standings.is_empty()).collect();
    let tables = closed(record).len() + with_compared_tails(&record.experiment).len();
    compare(&mut judged, (tables.max(1), watched(record)), margin);
    judged.into_iter().map(|(verdict, _)| verdict).collect()
}

fn judge_cell<'r>(evidence: &'r DecodedRecord<'_>, cell: Cell) -> (LatencyVerdict, Tails<'r>) {
    let samples = samples(evidence, &cell);
    let mut standings: Vec<LatencyStanding> =
        samples.iter().filter_map(|sample| standing(evidence, sample, &cell)).collect();
    let tail = |standing: &LatencyStanding| {
        let tail = standing.quantiles.iter().find(|of| of.quantile == TAIL);
        tail.map_or(f64::INFINITY, |tail| tail.response_ns.estimate)
    };
    standings.extend(without_a_rate(evidence.record, &cell, &standings));
    standings.sort_by(|a, b| tail(a).total_cmp(&tail(b)).then_with(|| a.contender.cmp(&b.contender)));
    let tails = match cell.offered {
        Offered::Share(_) => Tails(Vec::new()),
        _ => Tails::of(&samples, &standings),
    };
    (LatencyVerdict { cell, standings, pairs: Vec::new() }, tails)
}

fn standing(evidence: &DecodedRecord<'_>, sample: &Sample<'_>, cell: &Cell) -> Option<LatencyStanding> {
    let offered = sample.measured().find_map(offered_rate)?;
    let late = Some(lag::check(sample, &QUANTILES)).filter(|check| check.outcome != CheckOutcome::Pass);
    let short = percentiles::check(sample, &QUANTILES, |times, q, rounds| {
        times.response_bounds_among(q, rounds).is_some()
    });
    let by_itself = answered_by_itself(sample);
    let own = errors(sample).into_iter().chain(by_itself).chain(late).chain(short);
    let checks: Vec<_> = own.chain(generator_objections(sample)).collect();
    let (counting, measured) = (sample.counting().count(), sample.measured().count());
    let void = checks.iter().find(|check| check.is_void()).map(Withheld::void);
    let withheld = void.or_else(|| (counting * 2 < measured).then(|| too_few(sample, counting, measured)));
    let rates: Vec<f64> =
        sample_of(evidence, sample.entry, &cell.capacity()).rates().into_iter().flatten().collect();
    let quantiles = QUANTILES.iter().filter(|_| withheld.is_none()).filter_map(|&q| quantile(sample, q));
    Some(LatencyStanding {
        contender: sample.entry.identity.name.clone(),
        offered_per_second: Some(offered),
        share_of_capacity: geometric_mean(&rates).ok().map(|capacity| offered / capacity),
        rounds: u32::try_from(counting).unwrap_or(u32::MAX),
        quantiles: quantiles.collect(),
        energy: energy_per_answer(evidence.record, sample),
        failed: sample.failed_of().0,
        checks,
        withheld,
    })
}

/// Contenders that were to be measured in a cell, and to which no rate could be offered.
fn without_a_rate(record: &Record, cell: &Cell, known: &[LatencyStanding]) -> Vec<LatencyStanding> {
    let is_left_out = |entry: &&Entry| {
        let name = &entry.identity.name;
        let is_known = known.iter().any(|standing| standing.contender == *name);
        entry.control_of.is_none() && !is_known && record.experiment.takes(name, cell)
    };
    let left_out = record.contenders.iter().filter(is_left_out);
    let unknown = |entry: &Entry| {
        Some(LatencyStanding {
            contender: entry.identity.name.clone(),
            offered_per_second: None,
            share_of_capacity: None,
            rounds: 0,
            quantiles: Vec::new(),
            energy: None,
            failed: 0,
            checks: Vec::new(),
            withheld: Some(rates::unknown(record, entry, cell)?),
        })
    };
    left_out.filter_map(unknown).collect()
}

/// Why nothing is told of windows of which so few count.
pub(crate) fn too_few(sample: &Sample<'_>, counting: usize, measured: usize) -> Withheld {
    Withheld::FewWindows { windows: Proportion::new(counting, measured), rules: broken_rules(sample) }
}

fn quantile(sample: &Sample<'_>, q: f64) -> Option<ResponseQuantile> {
    let all = sample.response_bounds(q);
    let is_lower_bound = median(&all)?.known()?.is_lower_bound;
    Some(ResponseQuantile { quantile: q, response_ns: over_rounds(&all)?, is_lower_bound })
}

/// The median of the times from due with its interval, which begins with what single rounds took at least.
fn over_rounds(all: &[Bounds]) -> Option<Interval> {
    let of = |value: fn(&Bounds) -> u64| all.iter().map(|bounds| value(bounds) as f64).collect::<Vec<f64>>();
    let (least, latest) = (of(Bounds::least), of(|bounds| bounds.from_due.value));
    match latest.as_slice() {
        [only] => Some(point(*only)),
        several => {
            let low = median_interval(&least, CONFIDENCE).ok()?.low;
            Some(Interval { low, ..interval(median_interval(several, CONFIDENCE).ok()?) })
        }
    }
}

/// Compares the tails of everybody who is told of, the limit aside; simultaneous over all pairs of all cells of the run.
fn compare(cells: &mut [(LatencyVerdict, Tails<'_>)], (tables, looks): (usize, Looks), margin: f64) {
    let fitted: Vec<Option<Table>> =
        cells.iter().map(|(_, tails)| Table::fit(&tails.windows()).ok()).collect();
    let spreads: Vec<_> = fitted.iter().flatten().map(Table::spreads).collect();
    let prior = Prior::fit(&spreads).unwrap_or(Prior::none());
    for ((verdict, tails), table) in cells.iter_mut().zip(fitted) {
        let Some(table) = table else { continue };
        let everybody: Vec<usize> = (0..tails.0.len()).collect();
        let confidence = each_of(tables, CONFIDENCE);
        let compared = table.compare(&everybody, &prior, looks, confidence, margin);
        let pairs = compared.into_iter().flat_map(|compared| compared.pairs);
        verdict.pairs = pairs.filter_map(|pair| pair_of(&pair, tails)).collect();
    }
}

/// What is compared: the tails of everybody in each cell.
pub(crate) fn measured(evidence: &DecodedRecord<'_>) -> Vec<Measured> {
    let of = |cell: Cell| {
        let (_, tails) = judge_cell(evidence, cell.clone());
        let names = tails.0.iter().map(|(name, _)| (*name).to_owned());
        Measured { contenders: names.zip(tails.windows()).collect(), is_tail: true, cell }
    };
    let all = with_compared_tails(&evidence.record.experiment).into_iter().map(of);
    all.filter(|table| !table.contenders.is_empty()).collect()
}

/// By contender, the logarithm of the tail in each round.
struct Tails<'r>(Vec<(&'r str, Vec<Option<f64>>)>);

impl<'r> Tails<'r> {
    /// Of those whose tail is told and known in each round, the limit aside.
    fn of(samples: &[Sample<'r>], standings: &[LatencyStanding]) -> Self {
        let told = |sample: &&Sample<'_>| {
            let of = |standing: &LatencyStanding| standing.contender == sample.entry.identity.name;
            let is_told =
                |standing: &LatencyStanding| standing.quantiles.iter().any(|of| of.quantile == TAIL);
            !sample.is_limit() && standings.iter().any(|standing| of(standing) && is_told(standing))
        };
        let of = |sample: &Sample<'r>| Some((sample.entry.identity.name.as_str(), tails(sample)?));
        Self(samples.iter().filter(told).filter_map(of).collect())
    }

    /// One window for each life.
    fn windows(&self) -> Vec<Windows> {
        self.0.iter().map(|(_, tails)| tails.iter().map(|tail| vec![*tail]).collect()).collect()
    }
}

/// The logarithm of the tail in each round that counts; `None` where one of them has but a bound or is not known. With such rounds left
/// out, a server that hangs in half of them would have the shortest tail.
fn tails(sample: &Sample<'_>) -> Option<Vec<Option<f64>>> {
    let rounds = sample.times().len();
    let of = |window: &Window<'_>| {
        let tail = window.times.response_bounds_among(TAIL, rounds)?.exact().filter(|tail| *tail > 0)?;
        Some((tail as f64).ln())
    };
    sample.blocks().map(|window| window.map_or(Some(None), |window| of(window).map(Some))).collect()
}

fn pair_of(pair: &Pair, tails: &Tails<'_>) -> Option<LatencyPair> {
    let ratio = interval(pair.ratio?);
    let call = if pair.settled == Settled::Distinct { Call::Distinct } else { Call::Tie };
    let (first, second) = (tails.0[pair.first].0, tails.0[pair.second].0);
    let (longer, shorter, ratio) =
        if ratio.estimate >= 1.0 { (first, second, ratio) } else { (second, first, inverse(ratio)) };
    Some(LatencyPair { longer: longer.to_owned(), shorter: shorter.to_owned(), ratio, call })
}

fn inverse(ratio: Interval) -> Interval {
    Interval { estimate: 1.0 / ratio.estimate, low: 1.0 / ratio.high, high: 1.0 / ratio.low, ..ratio }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use assay_model::check::Check;
    use assay_model::evidence::Evidence;
    use assay_model::load::Arrival;
    use assay_model::record::State;
    use assay_model::rule::Rule;
    use assay_stats::Histogram;

    fn judged(record: &Record) -> Vec<LatencyVerdict> {
        judge(&DecodedRecord::of(record).expect("readable"), 0.01)
    }

    /// Adds to each run of `name` a window at a rate, with 10,000 responses of which a fiftieth takes `tail_us(round)`.
    fn offer(record: &mut Record, name: &str, cell: &Cell, tail_us: impl Fn(u64) -> u64) {
        for round in &mut record.rounds {
            let index = u64::from(round.index);
            for run in round.runs.iter_mut().filter(|run| run.contender == name) {
                let mut histogram = Histogram::new();
                histogram.record_n(100_000, 9_800);
                histogram.record_n(tail_us(index) * 1000, 200);
                let mut window = run.cells[0].clone();
                window.cell = cell.clone();
                window.load.arrival = Arrival::Poisson { per_second: 10_000.0 };
                window.load.latency.response_hdr = Some(histogram.to_hdr_base64().expect("histogram"));
                window.load.latency.response_from_sent_hdr = window.load.latency.response_hdr.clone();
                run.cells.push(window);
            }
        }
    }

    fn record(load: &str) -> (Record, Cell) {
        let mut record =
            testing::record(&[("limit", &[90_000.0; 6]), ("a", &[20_000.0; 6]), ("b", &[20_000.0; 6])]);
        record.experiment.measures[0].rates = vec![load.parse().expect("load")];
        let cell = Cell { offered: load.parse().expect("load"), ..Cell::closed("hello", 64) };
        (record, cell)
    }

    #[test]
    fn tails_at_equal_load_are_compared_by_medians_of_rounds() {
        let (mut record, cell) = record("common");
        offer(&mut record, "limit", &cell, |_| 500);
        offer(&mut record, "a", &cell, |round| 1000 + round);
        offer(&mut record, "b", &cell, |round| 1400 + round);
        let verdicts = judged(&record);
        let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
        let names: Vec<&str> = verdict.standings.iter().map(|s| s.contender.as_str()).collect();
        assert_eq!(names, ["limit", "a", "b"]);
        let a = &verdict.standings[1];
        assert_eq!((a.offered_per_second, a.rounds), (Some(10_000.0), 6));
        assert!(a.share_of_capacity.is_some_and(|share| (share - 0.5).abs() < 1e-9), "{a:?}");
        let quantiles: Vec<f64> = a.quantiles.iter().map(|of| of.quantile).collect();
        assert_eq!(quantiles, [0.5, 0.9, 0.99], "only 10 of 10,000 lie beyond the 99.9th percentile");
        assert!((a.quantiles[2].response_ns.estimate / 1.0025e6 - 1.0).abs() < 0.005, "{a:?}");
        let [pair] = verdict.pairs.as_slice() else { panic!("the limit is compared") };
        assert_eq!((pair.longer.as_str(), pair.call), ("b", Call::Distinct));
        assert!((pair.ratio.estimate - 1.4).abs() < 0.01, "{pair:?}");
    }

    /// Each window once was void as a whole for that.
    #[test]
    fn requests_that_left_late_spoil_the_percentiles_that_this_changes() {
        let (mut record, cell) = record("common");
        offer(&mut record, "a", &cell, |_| 15_000);
        let windows =
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|run| run.contender == "a");
        for window in windows.map(|run| &mut run.cells[1]) {
            // All were 60 us late: of 100 us that is much, of 15 ms it is not.
            let mut sent = Histogram::new();
            sent.record_n(40_000, 9_800);
            sent.record_n(14_940_000, 200);
            window.load.latency.response_from_sent_hdr = Some(sent.to_hdr_base64().expect("histogram"));
            let evidence = Evidence::Told { sentence: "late".to_owned() };
            window.load.checks.push(Check::objection(Rule::SendLag, CheckOutcome::Void, evidence));
            assert!(window.void_rules().is_empty());
        }
        let verdict = judged(&record).remove(0);
        let a = &verdict.standings[0];
        assert_eq!((a.rounds, a.withheld.clone()), (6, None));
        assert_eq!(a.quantiles.iter().map(|of| of.quantile).collect::<Vec<_>>(), [0.99]);
        let [check] = a.checks.as_slice() else { panic!("{:?}", a.checks) };
        assert!(
            check.rule == Rule::SendLag
                && matches!(&check.evidence, Evidence::LateRequests { unknown, .. } if unknown == &[0.5, 0.9]),
            "{check:?}"
        );
    }

    /// All requests but a few of three rounds of `a` are never answered; `b` takes twice as long as `a` in the others.
    #[test]
    fn whoever_hangs_in_some_rounds_has_no_shorter_tail() {
        let (mut record, cell) = record("common");
        offer(&mut record, "a", &cell, |round| 5000 + round);
        offer(&mut record, "b", &cell, |round| 10_000 + round);
        assert_eq!(judged(&record)[0].pairs.len(), 1);
        let mut censored = Histogram::new();
        censored.record_n(3_000_000_000, 1_000);
        for run in record.rounds.iter_mut().take(3).flat_map(|round| &mut round.runs) {
            if run.contender == "a" {
                run.cells[1].load.latency.censored_hdr = Some(censored.to_hdr_base64().expect("histogram"));
            }
        }
        let verdict = judged(&record).remove(0);
        let a = verdict.standings.iter().find(|of| of.contender == "a").expect("a");
        assert!(a.quantiles[2].is_lower_bound && a.quantiles[2].response_ns.estimate > 1e9, "{a:?}");
        assert!(verdict.pairs.is_empty(), "{:?}", verdict.pairs);
    }

    /// Of six rounds requests left late in the two fastest: the median has all six, and nobody's tail is compared without these.
    #[test]
    fn a_percentile_that_is_told_is_the_median_of_all_rounds() {
        let (mut record, cell) = record("common");
        offer(&mut record, "a", &cell, |round| 2000 * (round + 1));
        offer(&mut record, "b", &cell, |round| 2000 * (round + 1));
        let late = |share: f64, tail_ns: u64| {
            let mut sent = Histogram::new();
            sent.record_n(100_000, 9_800);
            sent.record_n((tail_ns as f64 * share) as u64, 200);
            Some(sent.to_hdr_base64().expect("histogram"))
        };
        for round in record.rounds.iter_mut().take(2) {
            let tail_ns = 2_000_000 * (u64::from(round.index) + 1);
            let a = round.runs.iter_mut().find(|run| run.contender == "a").expect("a");
            a.cells[1].load.latency.response_from_sent_hdr = late(0.5, tail_ns);
        }
        let verdict = judged(&record).remove(0);
        let of = |name: &str| verdict.standings.iter().find(|of| of.contender == name).expect("both").clone();
        let [a, b] = ["a", "b"].map(|name| of(name).quantiles[2].response_ns);
        assert!(
            (a.estimate, a.high) == (b.estimate, b.high) && (a.estimate / 7e6 - 1.0).abs() < 0.01,
            "{a:?}"
        );
        assert!((a.low / 1e6 - 1.0).abs() < 0.01 && (b.low / 2e6 - 1.0).abs() < 0.01, "{a:?} {b:?}");
        assert!(of("a").checks.is_empty() && verdict.pairs.is_empty(), "{verdict:?}");
        for round in record.rounds.iter_mut().skip(2) {
            let tail_ns = 2_000_000 * (u64::from(round.index) + 1);
            let a = round.runs.iter_mut().find(|run| run.contender == "a").expect("a");
            a.cells[1].load.latency.response_from_sent_hdr = late(0.9, tail_ns);
        }
        let a = judged(&record)[0].standings.iter().find(|of| of.contender == "a").expect("a").clone();
        assert!(a.quantiles.len() == 2 && a.checks[0].rule == Rule::SendLag, "{a:?}");
    }

    #[test]
    fn few_rounds_call_nobody_different_and_shares_are_not_compared() {
        let (mut spoilt, cell) = record("common");
        spoilt.rounds.truncate(2);
        offer(&mut spoilt, "a", &cell, |round| 1000 + 400 * round);
        offer(&mut spoilt, "b", &cell, |round| 1700 - 100 * round);
        let verdicts = judged(&spoilt);
        assert_eq!(verdicts[0].pairs[0].call, Call::Tie);
        let (mut shares, cell) = record("50%");
        offer(&mut shares, "a", &cell, |_| 1000);
        offer(&mut shares, "b", &cell, |_| 1400);
        assert!(judged(&shares)[0].pairs.is_empty());
    }

    /// Makes every window of `name` at capacity void.
    fn void_capacity(record: &mut Record, name: &str) {
        let runs = record.rounds.iter_mut().flat_map(|round| &mut round.runs);
        for run in runs.filter(|run| run.contender == name) {
            run.cells[0].machine.steal_share = 0.5;
        }
    }

    #[test]
    fn loads_that_were_asked_for_do_not_vanish_where_no_capacity_counts() {
        let told = |record: &Record| {
            let verdict = judged(record);
            let told = verdict.into_iter().flat_map(|of| of.standings);
            told.map(|of| (of.contender, of.offered_per_second, of.withheld)).collect::<Vec<_>>()
        };
        let none = |name: &str| (name.to_owned(), None, Some(Withheld::NoCapacity));
        let (mut shares, cell) = record("50%");
        assert_eq!(told(&shares), [], "a rate was known, and not offered: the run was broken off");
        void_capacity(&mut shares, "a");
        assert_eq!(told(&shares), [none("a")]);
        offer(&mut shares, "b", &cell, |_| 1000);
        assert_eq!(told(&shares), [("b".to_owned(), Some(10_000.0), None), none("a")]);
        let (mut common, _) = record("common");
        void_capacity(&mut common, "a");
        assert_eq!(told(&common), [], "the rate follows from that of `b`");
        void_capacity(&mut common, "b");
        assert_eq!(told(&common), ["a", "b", "limit"].map(none), "nothing follows from the limit's");
        let (mut alone, _) = record("common");
        alone.rounds.truncate(1);
        let late = |name: &str| (name.to_owned(), None, Some(Withheld::NoLaterRound));
        assert_eq!(
            told(&alone),
            ["a", "b", "limit"].map(late),
            "the rate is known when the only round is over"
        );
        alone.state = State::Running;
        assert_eq!(told(&alone), [], "another round may come");
        let (mut fixed, _) = record("5k/s");
        void_capacity(&mut fixed, "a");
        assert_eq!(told(&fixed), [], "this rate follows from nothing");
        common.experiment.measures[0].contenders = vec!["b".to_owned()];
        assert_eq!(told(&common), [none("b")], "the others were not to be measured");
    }

    #[test]
    fn cut_off_requests_make_a_bound_and_void_windows_do_not_count() {
        let (mut record, cell) = record("common");
        offer(&mut record, "a", &cell, |_| 1000);
        let mut censored = Histogram::new();
        censored.record_n(5_000_000_000, 300);
        for run in
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|run| run.contender == "a")
        {
            run.cells[1].load.latency.censored_hdr = Some(censored.to_hdr_base64().expect("histogram"));
        }
        let verdict = judged(&record).remove(0);
        let bounds: Vec<bool> = verdict.standings[0].quantiles.iter().map(|of| of.is_lower_bound).collect();
        assert_eq!(bounds, [false, false, true]);
        for run in record.rounds.iter_mut().take(4).flat_map(|round| &mut round.runs) {
            run.cells.iter_mut().for_each(|window| window.machine.steal_share = 0.5);
        }
        let verdict = judged(&record).remove(0);
        let few = Withheld::FewWindows { windows: Proportion::new(2, 6), rules: vec![Rule::Steal] };
        assert_eq!(verdict.standings[0].withheld, Some(few));
        assert!(verdict.standings[0].quantiles.is_empty());
    }
}
