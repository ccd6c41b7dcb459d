//! Contenders of a cell against each other, paired by round.

use assay_model::verdict::{Call, Pair};
use assay_stats::pairwise::{self, compare_all};
use assay_stats::tiers::{self, standings_of_pairs};

use super::{CONFIDENCE, interval};

/// Who takes part in a comparison: names with the throughput in each round.
pub(crate) type Field<'a> = Vec<(&'a str, Vec<Option<f64>>)>;

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

/// Compares the field over the rounds in which everybody has a result. Whoever has fewest results is left out until two such
/// rounds remain; with less than two rounds nothing can be said.
pub(crate) fn rank(mut field: Field<'_>, margin: f64) -> Ranking {
    let mut left_out = Vec::new();
    while field.len() > 1 && common_rounds(&field).len() < 2 {
        let Some(fewest) = (0..field.len()).min_by_key(|&index| results(&field[index].1)) else { break };
        // When everybody has the same few rounds, leaving somebody out helps nobody.
        if results(&field[fewest].1) >= 2 || field.iter().all(|(_, rates)| results(rates) < 2) {
            break;
        }
        left_out.push(field.remove(fewest).0.to_owned());
    }
    let common = common_rounds(&field);
    let series: Vec<Vec<f64>> =
        field.iter().map(|(_, rates)| common.iter().filter_map(|&round| rates[round]).collect()).collect();
    let Ok(compared) = compare_all(&series, CONFIDENCE) else {
        return Ranking { left_out, ..Ranking::default() };
    };
    let names: Vec<&str> = field.iter().map(|(name, _)| *name).collect();
    let pairs = compared.iter().map(|pair| pair_of(pair, &names, margin, compared.len())).collect();
    Ranking { places: places(&series, &compared, &names, margin), pairs, left_out }
}

fn results(rates: &[Option<f64>]) -> usize {
    rates.iter().flatten().count()
}

fn common_rounds(field: &Field<'_>) -> Vec<usize> {
    let rounds = field.iter().map(|(_, rates)| rates.len()).min().unwrap_or(0);
    (0..rounds).filter(|&round| field.iter().all(|(_, rates)| rates[round].is_some())).collect()
}

fn places(
    series: &[Vec<f64>],
    compared: &[pairwise::Pair],
    names: &[&str],
    margin: f64,
) -> Vec<(String, u32, String)> {
    let Ok(standings) = standings_of_pairs(series, compared, margin) else { return Vec::new() };
    let numbered = (1..).zip(&standings.tiers);
    numbered
        .flat_map(|(tier, members)| members.iter().map(move |&index| (tier, index)))
        .map(|(tier, index)| (names[index].to_owned(), tier, standings.letters[index].clone()))
        .collect()
}

fn pair_of(pair: &pairwise::Pair, names: &[&str], margin: f64, pairs: usize) -> Pair {
    let distinct = tiers::call(&pair.simultaneous, margin) != tiers::Call::Tie;
    // As many pairs, as many chances to be wrong: each test gets its share (Bonferroni).
    let alpha = (1.0 - CONFIDENCE) / pairs as f64;
    let equivalent = pair.ratio.equivalence_p(margin).is_ok_and(|p| p <= alpha);
    let call = if distinct {
        Call::Distinct
    } else if equivalent {
        Call::Equivalent
    } else {
        Call::Tie
    };
    let ratio = interval(pair.simultaneous);
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
