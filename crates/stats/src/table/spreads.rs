//! How much the difference of two contenders varies from round to round, and how much of that comes from windows.

use super::lives::{Life, Lives, Within};
use super::meetings::{Meeting, meetings};
use crate::moderation::Spread;
use crate::robust::middle;

/// No contender is believed to vary less than this share of what a typical one does: differences of variances that were
/// estimated from few rounds are noise.
const LEAST_SHARE: f64 = 0.1;

/// What of the variance is the pair's own where it was compared through a third: two lives of four.
const SHARE_OF_PAIR: f64 = 0.5;

/// Every pair's spread, and what follows for each life.
pub(super) struct Spreads {
    /// By pair, ordered (0,1), (0,2), …, (1,2), ….
    pub(super) pairs: Vec<Spread>,
    /// How much each contender's lives vary, as a variance.
    pub(super) contenders: Vec<f64>,
    /// How many times the typical variance a life has, because fewer of its windows counted, or it is the mean of fewer processes.
    pub(super) factors: Vec<Vec<f64>>,
    /// Whether all contenders are taken to vary alike, because some were compared through others: where a difference is made of
    /// several lives, variances of each, told from few rounds, would give most weight to those that seem steady by chance. In
    /// simulations one run in eight was wrong by that.
    pub(super) are_alike: bool,
}

/// All pairs of so many contenders, (0,1), (0,2), …, (1,2), ….
pub(crate) fn pairs_of(contenders: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..contenders).flat_map(move |i| (i + 1..contenders).map(move |j| (i, j)))
}

/// `rounds` holds the round of each block.
pub(super) fn spreads(lives: &Lives, rounds: &[usize]) -> Spreads {
    let met: Vec<Vec<Meeting>> = pairs_of(lives.len()).map(|pair| meetings(lives, rounds, pair)).collect();
    let even: Vec<Vec<f64>> = lives.iter().map(|of| vec![1.0; of.len()]).collect();
    let pairs = pair_spreads(lives, &met, &even);
    let factors = factors(lives, &pairs);
    let pairs = pair_spreads(lives, &met, &factors);
    let are_alike = met.iter().flatten().any(|meeting| matches!(meeting, Meeting::Through { .. }));
    let contenders = match are_alike {
        true => vec![typical_variance(&pairs); lives.len()],
        false => contender_variances(lives.len(), &pairs),
    };
    Spreads { pairs, contenders, factors, are_alike }
}

fn pair_spreads(lives: &Lives, met: &[Vec<Meeting>], factors: &[Vec<f64>]) -> Vec<Spread> {
    let of = |(pair, met): ((usize, usize), &Vec<Meeting>)| {
        let told = met.iter().filter_map(|meeting| told(lives, pair, *meeting, factors));
        pair_spread(&told.collect::<Vec<_>>())
    };
    pairs_of(lives.len()).zip(met).map(of).collect()
}

/// What one meeting tells of a pair.
struct Told {
    /// Of the levels.
    difference: f64,
    /// How much it tells, 1 for a typical meeting in one block.
    weight: f64,
    /// The variance that windows add, where they tell it.
    within: Option<Within>,
}

/// Where two are compared through a third, the difference varies by both lives of the third as well, so it tells half as much of
/// the pair; [`super::effects`] reckons with all four lives again.
fn told(lives: &Lives, (i, j): (usize, usize), meeting: Meeting, factors: &[Vec<f64>]) -> Option<Told> {
    let life = |contender: usize, block: usize| lives[contender].get(block)?.as_ref();
    match meeting {
        Meeting::Together(block) => {
            let (a, b) = (life(i, block)?, life(j, block)?);
            Some(Told {
                difference: a.level - b.level,
                weight: 2.0 / (factors[i][block] + factors[j][block]),
                within: sum([a, b]),
            })
        }
        Meeting::Through { third, blocks: [of_i, of_j] } => {
            let (a, b) = (life(i, of_i)?, life(j, of_j)?);
            let (beside_a, beside_b) = (life(third, of_i)?, life(third, of_j)?);
            let within = sum([a, beside_a, b, beside_b]);
            Some(Told {
                difference: (a.level - beside_a.level) - (b.level - beside_b.level),
                weight: 2.0 * SHARE_OF_PAIR / (factors[i][of_i] + factors[j][of_j]),
                within: within.map(|of| Within { variance: SHARE_OF_PAIR * of.variance, ..of }),
            })
        }
    }
}

/// Over all meetings, each by how much it tells.
fn pair_spread(told: &[Told]) -> Spread {
    let weights: f64 = told.iter().map(|told| told.weight).sum();
    let mean = told.iter().map(|told| told.difference * told.weight).sum::<f64>() / weights;
    let squares: f64 = told.iter().map(|told| told.weight * (told.difference - mean).powi(2)).sum();
    let degrees_of_freedom = (told.len() as f64 - 1.0).max(0.0);
    let variance = if degrees_of_freedom > 0.0 { squares / degrees_of_freedom } else { 0.0 };
    let (within, of_windows) = typical(told.iter().filter_map(|told| told.within));
    Spread { variance, degrees_of_freedom, within, of_windows, ..Spread::default() }
}

/// The mean of what windows add in each round, where they tell it.
fn typical(within: impl Iterator<Item = Within>) -> (f64, f64) {
    let all: Vec<Within> = within.collect();
    let mean = |of: fn(&Within) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
    (mean(|of| of.variance), mean(|of| of.degrees_of_freedom))
}

/// How much one contender's lives vary, whatever rounds did to all.
pub(super) fn own_spread(lives: &[Option<Life>]) -> Spread {
    let levels: Vec<f64> = lives.iter().flatten().map(|life| life.level).collect();
    let mean = levels.iter().sum::<f64>() / levels.len().max(1) as f64;
    let squares: f64 = levels.iter().map(|level| (level - mean).powi(2)).sum();
    let degrees_of_freedom = levels.len().saturating_sub(1) as f64;
    let (within, of_windows) = typical(lives.iter().flatten().filter_map(Life::within));
    Spread {
        variance: if degrees_of_freedom > 0.0 { squares / degrees_of_freedom } else { 0.0 },
        degrees_of_freedom,
        within,
        of_windows,
        ..Spread::default()
    }
}

/// What windows add to a difference of lives of several contenders (Satterthwaite, *Biometrics* 2, 1946).
fn sum<const N: usize>(lives: [&Life; N]) -> Option<Within> {
    let (mut variance, mut doubt) = (0.0, 0.0);
    for life in lives {
        let of = life.within()?;
        variance += of.variance;
        doubt += of.variance.powi(2) / of.degrees_of_freedom;
    }
    let degrees_of_freedom = if doubt > 0.0 { variance.powi(2) / doubt } else { 0.0 };
    Some(Within { variance, degrees_of_freedom })
}

/// A life with fewer windows than the typical one varies more, by the part that windows add; one of more processes than the
/// contender has in a round on average varies less, by the other part.
fn factors(lives: &Lives, pairs: &[Spread]) -> Vec<Vec<f64>> {
    let told: Vec<&Spread> = pairs.iter().filter(|pair| pair.degrees_of_freedom > 0.0).collect();
    let sum = |of: fn(&Spread) -> f64| told.iter().map(|pair| of(pair)).sum::<f64>();
    let (all, within) = (sum(|pair| pair.variance), sum(|pair| pair.within));
    let share = if all > 0.0 { (within / all).min(1.0) } else { 0.0 };
    let mut windows: Vec<f64> = lives.iter().flatten().flatten().map(|life| life.windows as f64).collect();
    let typical = middle(&mut windows).unwrap_or(1.0);
    let of_contender = |of: &Vec<Option<Life>>| {
        let replicas = || of.iter().flatten().map(|life| life.replicas as f64);
        let mean = replicas().sum::<f64>() / replicas().count().max(1) as f64;
        let factor = |life: &Option<Life>| match life {
            None => 1.0,
            Some(life) => (1.0 - share) * mean / life.replicas as f64 + share * typical / life.windows as f64,
        };
        of.iter().map(factor).collect()
    };
    lives.iter().map(of_contender).collect()
}

/// What each contender contributes to the variances of its pairs (Grubbs, J. Am. Stat. Assoc. 43, 1948). Two contenders
/// have only their common variance, of which each gets half.
fn contender_variances(contenders: usize, pairs: &[Spread]) -> Vec<f64> {
    let mut sums = vec![0.0; contenders];
    let mut counts = vec![0.0_f64; contenders];
    for ((i, j), pair) in pairs_of(contenders).zip(pairs).filter(|(_, pair)| pair.degrees_of_freedom > 0.0) {
        for contender in [i, j] {
            sums[contender] += pair.variance;
            counts[contender] += 1.0;
        }
    }
    let mean = sums.iter().sum::<f64>() / counts.iter().sum::<f64>().max(1.0);
    let typical = typical_variance(pairs);
    // The mean variance of a contender's pairs is its own plus the mean of all others'.
    let own = |(sum, count): (&f64, &f64)| match count {
        0.0 => typical,
        _ if contenders < 3 => typical,
        _ => (sum / count - mean) * (contenders as f64 - 1.0) / (contenders as f64 - 2.0) + typical,
    };
    sums.iter().zip(&counts).map(own).map(|variance| variance.max(LEAST_SHARE * typical)).collect()
}

/// Half of what pairs vary by on average; 1 where that is not known.
fn typical_variance(pairs: &[Spread]) -> f64 {
    let told: Vec<f64> =
        pairs.iter().filter(|pair| pair.degrees_of_freedom > 0.0).map(|pair| pair.variance).collect();
    let mean = told.iter().sum::<f64>() / told.len().max(1) as f64;
    if mean > 0.0 { mean / 2.0 } else { 1.0 }
}
