//! Percentiles are told of all rounds that count or of none: a window that is as long for all has answers enough when the
//! machine was fast, so the rounds that could tell one alone would tell a better one.

use std::borrow::Cow;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, Proportion};
use assay_model::experiment::Cell;
use assay_model::rule::Rule;
use assay_stats::lag::{Bounds, median};

use crate::evidence::sample::{Sample, sample_of};
use crate::evidence::window::{DecodedRecord, Times};

/// How long the requests of one contender in one cell took, in each round that counts.
#[derive(Clone, Debug)]
pub struct RoundTimes<'r>(Vec<Cow<'r, Times>>);

/// A percentile over rounds, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile {
    /// Median of the rounds.
    pub median: u64,
    /// What the fastest round took at least.
    pub least: u64,
    /// What the slowest took at most.
    pub greatest: u64,
}

impl<'r> RoundTimes<'r> {
    /// The times of a contender; `None` for one that is not in the record.
    pub fn of(evidence: &'r DecodedRecord<'_>, contender: &str, cell: &Cell) -> Option<Self> {
        let entry = evidence.record.entry_of(contender)?;
        Some(Self(sample_of(evidence, entry, cell).times()))
    }

    /// A percentile of the response time, or of a closed loop's service time: of all rounds, where all have answers enough, it hardly matters
    /// that requests left late, and it reaches none that was given up.
    pub fn percentile(&self, q: f64) -> Option<Percentile> {
        let of = |times: &Cow<'_, Times>| times.quantile_among(q, self.0.len());
        let rounds: Vec<Bounds> = self.0.iter().map(of).collect::<Option<_>>()?;
        Some(Percentile {
            median: median(&rounds)?.exact()?,
            least: rounds.iter().map(Bounds::least).min()?,
            greatest: rounds.iter().map(|bounds| bounds.from_due.value).max()?,
        })
    }
}

/// Objects when some of a contender's rounds have answers enough for a percentile and others have not. Where none has, it is
/// out of reach, as everybody can see.
pub(crate) fn check(
    sample: &Sample<'_>,
    quantiles: &[f64],
    is_told: impl Fn(&Times, f64, usize) -> bool,
) -> Option<Check> {
    let times = sample.times();
    let rounds = times.len();
    let telling = |q: f64| times.iter().filter(|times| is_told(times, q, rounds)).count();
    let (untold, short): (Vec<f64>, Vec<usize>) = quantiles
        .iter()
        .map(|&q| (q, rounds - telling(q)))
        .filter(|(_, short)| *short > 0 && *short < rounds)
        .unzip();
    let most = short.into_iter().max()?;
    let evidence = Evidence::FewAnswers { untold, rounds: Proportion::new(most, rounds) };
    Some(Check::objection(Rule::Percentiles, CheckOutcome::Warn, evidence))
}

#[cfg(test)]
mod tests {
    use assay_model::record::Run;
    use assay_stats::Histogram;

    use super::*;
    use crate::testing::{self, judged};

    /// Six rounds with so many answers each, which took as long as the round was slow.
    fn record(answers: [u64; 6]) -> assay_model::record::Record {
        let mut record = testing::record(&[("a", &[1000.0; 6]), ("b", &[1000.0; 6])]);
        for (round, count) in record.rounds.iter_mut().zip(answers) {
            let mut histogram = Histogram::new();
            histogram.record_n(10_000_000_000 / count, count);
            round.runs[0].cells[0].load.latency.service_hdr = histogram.to_hdr_base64().expect("histogram");
        }
        record
    }

    /// A replica of three has a third of the turns, and too few answers by itself.
    #[test]
    fn those_of_replicas_are_told_together() {
        let mut record = record([12_000; 6]);
        let thirds = self::record([4_000; 6]);
        for (round, thirds) in record.rounds.iter_mut().zip(thirds.rounds).skip(2) {
            let process = |replica| Run { replica, ..thirds.runs[0].clone() };
            round.runs.splice(..1, [0, 1, 2].map(process));
        }
        let verdict = judged(&record);
        let of_a = verdict.cells[0].standings.iter().find(|standing| standing.contender == "a").expect("a");
        assert!(of_a.p99_ns.is_some(), "{of_a:?}");
        assert!(of_a.checks.iter().all(|check| check.rule != Rule::Percentiles));
    }

    /// A hundred answers beyond it in one round, fifty where there are several.
    #[test]
    fn a_percentile_is_told_of_all_rounds_or_of_none() {
        let told = judged(&record([12_000, 9_000, 6_000, 11_000, 5_000, 11_000]));
        let of_a = |verdict: &assay_model::verdict::Verdict| {
            verdict.cells[0].standings.iter().find(|standing| standing.contender == "a").expect("a").clone()
        };
        assert!(of_a(&told).p99_ns.is_some());
        assert!(of_a(&told).checks.iter().all(|check| check.rule != Rule::Percentiles));
        let mixed = of_a(&judged(&record([12_000, 4_900, 12_000, 4_900, 12_000, 4_900])));
        assert!(
            mixed.p50_ns.is_some() && mixed.p99_ns.is_none(),
            "the fast rounds alone: {:?}",
            mixed.p99_ns
        );
        let check = mixed.checks.iter().find(|check| check.rule == Rule::Percentiles).expect("told");
        assert_eq!(
            check.evidence,
            Evidence::FewAnswers { untold: vec![0.99], rounds: Proportion::new(3, 6) }
        );
        let none = of_a(&judged(&record([900; 6])));
        assert!(none.p99_ns.is_none() && none.checks.iter().all(|check| check.rule != Rule::Percentiles));
    }
}
