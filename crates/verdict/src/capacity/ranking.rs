//! Contenders of a cell against each other, in the words of the model.

use assay_model::verdict::{Call, Interval, Pair};
use assay_stats::sequential::{Settled, settled};
use assay_stats::table::Comparison;

use crate::interval;

/// Largest margin of an equivalence: equals that seem to differ by more show a bias, and not that such a difference is nothing.
const MOST_EQUIVALENT: f64 = 0.05;

/// The comparison of all with all.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    /// Names with tier and letters, fastest first.
    pub places: Vec<RankPlace>,
    /// Every pair of which something can be said, the faster first.
    pub pairs: Vec<Pair>,
    /// Smallest difference that a typical pair would have shown with a chance of 80 %, as a share; absent where that is nothing
    /// useful.
    pub detectable: Option<f64>,
}

/// Where one stands.
#[derive(Debug)]
pub(crate) struct RankPlace {
    pub name: String,
    pub tier: u32,
    pub letters: String,
}

/// What a comparison of contenders, called `names` by their places, says.
pub(crate) fn ranking(compared: &Comparison, names: &[&str], margin: f64) -> Ranking {
    let pairs: Vec<Pair> = compared.pairs.iter().filter_map(|pair| pair_of(pair, names, margin)).collect();
    // From one round nothing can be said of anybody's place, unless nobody else is there.
    let known = !pairs.is_empty() || compared.standings.len() == 1;
    let places = compared.standings.iter().filter(|_| known).map(|standing| RankPlace {
        name: names[standing.contender].to_owned(),
        tier: u32::try_from(standing.tier).unwrap_or(u32::MAX),
        letters: standing.letters.clone(),
    });
    Ranking { places: places.collect(), pairs, detectable: compared.detectable(margin) }
}

fn pair_of(pair: &assay_stats::table::Pair, names: &[&str], margin: f64) -> Option<Pair> {
    let of = pair.ratio?;
    let call = match pair.settled {
        Settled::Distinct => Call::Distinct,
        Settled::Equivalent if settled(&of, equivalence_margin(margin)) == Settled::Equivalent => {
            Call::Equivalent
        }
        Settled::Equivalent | Settled::Open => Call::Tie,
    };
    let (first, second, ratio) = (names[pair.first].to_owned(), names[pair.second].to_owned(), interval(of));
    if ratio.estimate >= 1.0 {
        return Some(Pair { faster: first, slower: second, ratio, call });
    }
    let inverted =
        Interval { estimate: 1.0 / ratio.estimate, low: 1.0 / ratio.high, high: 1.0 / ratio.low, ..ratio };
    Some(Pair { faster: second, slower: first, ratio: inverted, call })
}

/// The largest difference that may be called none, when two are to be called equivalent.
pub(crate) fn equivalence_margin(margin: f64) -> f64 {
    margin.min(MOST_EQUIVALENT)
}
