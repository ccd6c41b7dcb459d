//! How much the difference of two contenders varies from round to round, and how much of that comes from windows.

use super::lives::Life;
use crate::moderation::Spread;
use crate::robust::middle;

/// Lives by contender and round.
pub(super) type Lives = Vec<Vec<Option<Life>>>;

/// No contender is believed to vary less than this share of what a typical one does: differences of variances that were
/// estimated from few rounds are noise.
const LEAST_SHARE: f64 = 0.1;

/// Every pair's spread, and what follows for each life.
pub(super) struct Spreads {
    /// By pair, ordered (0,1), (0,2), …, (1,2), ….
    pub(super) pairs: Vec<Spread>,
    /// How much each contender's lives vary, as a variance.
    pub(super) contenders: Vec<f64>,
    /// How many times the typical variance a life has, because fewer of its windows counted.
    pub(super) factors: Vec<Vec<f64>>,
}

/// All pairs of so many contenders, (0,1), (0,2), …, (1,2), ….
pub(crate) fn pairs_of(contenders: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..contenders).flat_map(move |i| (i + 1..contenders).map(move |j| (i, j)))
}

pub(super) fn spreads(lives: &Lives) -> Spreads {
    let even: Vec<Vec<f64>> = lives.iter().map(|of| vec![1.0; of.len()]).collect();
    let pairs = pair_spreads(lives, &even);
    let factors = factors(lives, &pairs);
    let pairs = pair_spreads(lives, &factors);
    let contenders = contender_variances(lives.len(), &pairs);
    Spreads { pairs, contenders, factors }
}

fn pair_spreads(lives: &Lives, factors: &[Vec<f64>]) -> Vec<Spread> {
    pairs_of(lives.len())
        .map(|(i, j)| pair_spread([&lives[i], &lives[j]], [&factors[i], &factors[j]]))
        .collect()
}

/// Over rounds in which both lived, each by how much it tells.
fn pair_spread([a, b]: [&[Option<Life>]; 2], [of_a, of_b]: [&[f64]; 2]) -> Spread {
    let (mut differences, mut within) = (Vec::new(), Vec::new());
    for (round, (a, b)) in a.iter().zip(b).enumerate() {
        let (Some(a), Some(b)) = (a, b) else { continue };
        differences.push((a.level - b.level, 2.0 / (of_a[round] + of_b[round])));
        within.extend(variance_of_windows(a, b));
    }
    let rounds = differences.len() as f64;
    let weights: f64 = differences.iter().map(|(_, weight)| weight).sum();
    let mean = differences.iter().map(|(difference, weight)| difference * weight).sum::<f64>() / weights;
    let squares: f64 =
        differences.iter().map(|(difference, weight)| weight * (difference - mean).powi(2)).sum();
    let degrees_of_freedom = (rounds - 1.0).max(0.0);
    let variance = if degrees_of_freedom > 0.0 { squares / degrees_of_freedom } else { 0.0 };
    let within = within.iter().sum::<f64>() / within.len().max(1) as f64;
    Spread { variance, degrees_of_freedom, within }
}

/// How much one contender's lives vary, whatever rounds did to all.
pub(super) fn own_spread(lives: &[Option<Life>]) -> Spread {
    let levels: Vec<f64> = lives.iter().flatten().map(|life| life.level).collect();
    let mean = levels.iter().sum::<f64>() / levels.len().max(1) as f64;
    let squares: f64 = levels.iter().map(|level| (level - mean).powi(2)).sum();
    let degrees_of_freedom = levels.len().saturating_sub(1) as f64;
    let within: Vec<f64> = lives.iter().flatten().filter_map(variance_of_own_windows).collect();
    Spread {
        variance: if degrees_of_freedom > 0.0 { squares / degrees_of_freedom } else { 0.0 },
        degrees_of_freedom,
        within: within.iter().sum::<f64>() / within.len().max(1) as f64,
    }
}

fn variance_of_own_windows(life: &Life) -> Option<f64> {
    let squares: f64 = life.influences.iter().flatten().map(|influence| influence * influence).sum();
    let windows = life.windows as f64;
    (life.windows > 1).then(|| squares / (windows * (windows - 1.0)))
}

/// The variance of two lives' difference in one round, by the windows that both have; `None` where that is fewer than two.
fn variance_of_windows(a: &Life, b: &Life) -> Option<f64> {
    let both = a.influences.iter().zip(&b.influences).filter_map(|(a, b)| Some((*a)? - (*b)?));
    let (squares, windows) =
        both.fold((0.0, 0.0), |(sum, n), difference| (sum + difference * difference, n + 1.0));
    (windows > 1.0).then(|| squares / (windows * (windows - 1.0)))
}

/// A life with fewer windows than the typical one varies more, by the part that windows add.
fn factors(lives: &Lives, pairs: &[Spread]) -> Vec<Vec<f64>> {
    let told: Vec<&Spread> = pairs.iter().filter(|pair| pair.degrees_of_freedom > 0.0).collect();
    let sum = |of: fn(&Spread) -> f64| told.iter().map(|pair| of(pair)).sum::<f64>();
    let (all, within) = (sum(|pair| pair.variance), sum(|pair| pair.within));
    let share = if all > 0.0 { (within / all).min(1.0) } else { 0.0 };
    let mut windows: Vec<f64> = lives.iter().flatten().flatten().map(|life| life.windows as f64).collect();
    let typical = middle(&mut windows).unwrap_or(1.0);
    let factor = |life: &Option<Life>| {
        let windows = life.as_ref().map_or(typical, |life| life.windows as f64);
        1.0 + share * (typical / windows - 1.0)
    };
    lives.iter().map(|of| of.iter().map(factor).collect()).collect()
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
    let typical = if mean > 0.0 { mean / 2.0 } else { 1.0 };
    // The mean variance of a contender's pairs is its own plus the mean of all others'.
    let own = |(sum, count): (&f64, &f64)| match count {
        0.0 => typical,
        _ if contenders < 3 => typical,
        _ => (sum / count - mean) * (contenders as f64 - 1.0) / (contenders as f64 - 2.0) + typical,
    };
    sums.iter().zip(&counts).map(own).map(|variance| variance.max(LEAST_SHARE * typical)).collect()
}
