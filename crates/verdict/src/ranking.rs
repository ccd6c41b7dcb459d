//! Contenders of a cell against each other, paired by round.

use assay_model::contender::Kind;
use assay_model::record::Record;
use assay_model::verdict::{Call, Pair};
use assay_stats::letters::letters;
use assay_stats::pairwise::compare_all;
use assay_stats::robust::geometric_mean;
use assay_stats::sequential::{self, Settled, look};
use assay_stats::simultaneous::Boundary;
use assay_stats::{Interval, tiers};

use super::floor::equivalence_margin;
use super::{CONFIDENCE, interval};

/// Who takes part in a comparison: names with the throughput in each round.
pub(crate) type Field<'a> = Vec<(&'a str, Vec<Option<f64>>)>;

/// When the results of a run are looked at, which decides how wide their intervals must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    /// Once, after a number of rounds on which the results had no influence.
    Once,
    /// After each round, to decide whether to go on.
    EveryRound {
        /// Most contenders that can be compared.
        contenders: usize,
        /// Most rounds, fixed before the first look.
        most_rounds: usize,
    },
}

/// The comparison of all with all.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    /// Names with tier and letters, fastest first.
    pub places: Vec<(String, u32, String)>,
    /// Every pair, the faster first.
    pub pairs: Vec<Pair>,
    /// Names that had to be left out, because too few rounds remain in which all were measured.
    pub left_out: Vec<String>,
}

/// Two of the field by index, compared.
struct Compared {
    first: usize,
    second: usize,
    ratio: Interval,
    settled: Settled,
}

impl Looks {
    /// How `record` is looked at. Whoever was started once counts, whatever became of it: the number stands from the first
    /// round on.
    pub(crate) fn of(record: &Record) -> Self {
        if !record.experiment.until_settled {
            return Self::Once;
        }
        let started =
            |name: &str| record.rounds.iter().flat_map(|round| &round.runs).any(|run| run.contender == name);
        let compared = record
            .contenders
            .iter()
            .filter(|entry| entry.kind != Kind::Limit && entry.twin_of.is_none() && started(&entry.name));
        Self::EveryRound { contenders: compared.count(), most_rounds: record.experiment.rounds as usize }
    }

    /// The boundary that pays for the looks; `None` for a single look, and where none can be computed.
    pub(crate) fn boundary(self) -> Option<Boundary> {
        let Self::EveryRound { contenders, most_rounds } = self else { return None };
        Boundary::every_round(contenders, most_rounds, CONFIDENCE).ok()
    }
}

/// Compares the field; with less than two rounds nothing can be said.
pub(crate) fn rank(mut field: Field<'_>, margin: f64, looks: Looks) -> Ranking {
    let (compared, left_out) = match looks {
        Looks::Once => {
            let left_out = leave_out(&mut field);
            keep_common_rounds(&mut field);
            (compare_once(&field, margin), left_out)
        }
        Looks::EveryRound { .. } => (compare_so_far(&field, margin, looks), Vec::new()),
    };
    let names: Vec<&str> = field.iter().map(|(name, _)| *name).collect();
    let pairs = compared.iter().map(|pair| pair_of(pair, &names)).collect();
    let places = if compared.is_empty() && field.len() > 1 { Vec::new() } else { places(&field, &compared) };
    Ranking { places, pairs, left_out }
}

/// Leaves whoever has fewest results out until two rounds remain in which everybody has one.
fn leave_out(field: &mut Field<'_>) -> Vec<String> {
    let mut left_out = Vec::new();
    while field.len() > 1 && common_rounds(field).len() < 2 {
        let Some(fewest) = (0..field.len()).min_by_key(|&index| results(&field[index].1)) else { break };
        // When everybody has the same few rounds, leaving somebody out helps nobody.
        if results(&field[fewest].1) >= 2 || field.iter().all(|(_, rates)| results(rates) < 2) {
            break;
        }
        left_out.push(field.remove(fewest).0.to_owned());
    }
    left_out
}

fn keep_common_rounds(field: &mut Field<'_>) {
    let common = common_rounds(field);
    for (_, rates) in field {
        *rates = common.iter().map(|&round| rates[round]).collect();
    }
}

/// Over rounds in which everybody has a result.
fn compare_once(field: &Field<'_>, margin: f64) -> Vec<Compared> {
    let series: Vec<Vec<f64>> =
        field.iter().map(|(_, rates)| rates.iter().copied().flatten().collect()).collect();
    let pairs = compare_all(&series, CONFIDENCE).unwrap_or_default();
    // As many pairs, as many chances to be wrong: each test of equivalence gets its share (Bonferroni).
    let alpha = (1.0 - CONFIDENCE) / pairs.len().max(1) as f64;
    let compared = |pair: assay_stats::pairwise::Pair| {
        let equivalent = pair.ratio.equivalence_p(equivalence_margin(margin)).is_ok_and(|p| p <= alpha);
        let settled = match tiers::call(&pair.simultaneous, margin) {
            tiers::Call::Tie if equivalent => Settled::Equivalent,
            tiers::Call::Tie => Settled::Open,
            tiers::Call::Faster | tiers::Call::Slower => Settled::Distinct,
        };
        Compared { first: pair.first, second: pair.second, ratio: pair.simultaneous, settled }
    };
    pairs.into_iter().map(compared).collect()
}

/// Over each pair's own rounds: whoever was settled was left out of later ones.
fn compare_so_far(field: &Field<'_>, margin: f64, looks: Looks) -> Vec<Compared> {
    let series: Vec<Vec<Option<f64>>> = field.iter().map(|(_, rates)| rates.clone()).collect();
    let looked = looks.boundary().and_then(|boundary| look(&series, margin, &boundary).ok());
    let compared = |pair: sequential::Look| {
        let ratio = pair.ratio?;
        Some(Compared { first: pair.first, second: pair.second, ratio, settled: settled_at(&ratio, margin) })
    };
    looked.unwrap_or_default().into_iter().filter_map(compared).collect()
}

fn settled_at(ratio: &Interval, margin: f64) -> Settled {
    if tiers::call(ratio, margin) != tiers::Call::Tie {
        return Settled::Distinct;
    }
    match sequential::settled(ratio, equivalence_margin(margin)) {
        Settled::Equivalent => Settled::Equivalent,
        Settled::Distinct | Settled::Open => Settled::Open,
    }
}

fn results(rates: &[Option<f64>]) -> usize {
    rates.iter().flatten().count()
}

fn common_rounds(field: &Field<'_>) -> Vec<usize> {
    let rounds = field.iter().map(|(_, rates)| rates.len()).min().unwrap_or(0);
    (0..rounds).filter(|&round| field.iter().all(|(_, rates)| rates[round].is_some())).collect()
}

/// Names with tier and letters. A pair that was not compared counts as a tie.
fn places(field: &Field<'_>, compared: &[Compared]) -> Vec<(String, u32, String)> {
    let mean = |index: usize| {
        let rates: Vec<f64> = field[index].1.iter().copied().flatten().collect();
        geometric_mean(&rates).unwrap_or(0.0)
    };
    let mut order: Vec<usize> = (0..field.len()).filter(|&index| results(&field[index].1) >= 2).collect();
    order.sort_by(|&a, &b| mean(b).total_cmp(&mean(a)));
    let distinct = |a: usize, b: usize| {
        let same = |pair: &&Compared| (pair.first, pair.second) == (a.min(b), a.max(b));
        compared.iter().find(same).is_some_and(|pair| pair.settled == Settled::Distinct)
    };
    let tiers = tiers::tiers(&order, distinct);
    // Letters are given by position in the order, and read by it again.
    let letters = letters(&(0..order.len()).collect::<Vec<_>>(), |a, b| distinct(order[a], order[b]));
    let numbered =
        (1..).zip(&tiers).flat_map(|(tier, members)| members.iter().map(move |&index| (tier, index)));
    numbered.zip(letters).map(|((tier, index), letters)| (field[index].0.to_owned(), tier, letters)).collect()
}

fn pair_of(pair: &Compared, names: &[&str]) -> Pair {
    let call = match pair.settled {
        Settled::Distinct => Call::Distinct,
        Settled::Equivalent => Call::Equivalent,
        Settled::Open => Call::Tie,
    };
    let ratio = interval(pair.ratio);
    let (first, second) = (names[pair.first].to_owned(), names[pair.second].to_owned());
    if ratio.estimate >= 1.0 {
        return Pair { faster: first, slower: second, ratio, call };
    }
    let inverted = assay_model::verdict::Interval {
        estimate: 1.0 / ratio.estimate,
        low: 1.0 / ratio.high,
        high: 1.0 / ratio.low,
        confidence: ratio.confidence,
    };
    Pair { faster: second, slower: first, ratio: inverted, call }
}
