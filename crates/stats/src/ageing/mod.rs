//! Whether a rate changes with age: a slow mode, such as a compiler that goes on for half a minute, or a leak.
//!
//! A life is looked at in *cells*, one after the other, and in each of them several times. Two things tell a trend of the log
//! rate against age. *Within* a cell of a life the rate rises from look to look. *Between* cells it does not help to compare
//! them as they are, because one is faster than another; but rounds take the cells in different orders, so that what is left
//! when each life and each cell has had its own level taken out tells age from kind (two-way layout; Fisher 1935). Both are
//! estimates of one slope, from different residuals, and are put together by their precision (recovery of inter-block
//! information; Yates, Ann. Eugenics 10, 1940; Graybill & Deal, Biometrics 15, 1959), with Meier's allowance for weights that
//! are estimates themselves (Biometrics 9, 1953).
//!
//! **What is replicated** is a cell of a life, and where there is one cell the life: looks within it lend no degrees of
//! freedom, however many there are, because what disturbs one may last into the next. Residual variances are moderated over
//! all contenders ([`moderation`](crate::moderation)), and intervals hold for all of them at once (Bonferroni).
//!
//! **The yardstick may drift.** Rates of all contenders are those over one yardstick, or over none, so what that does, or the machine,
//! is told of everybody at once. A slope is therefore also taken beside those of all others ([`beside_others`]).
//!
//! A single life that lasts long is another matter ([`later`]): there is nothing to replicate but its own stretches.

mod beside;
mod later;

use std::collections::{BTreeMap, BTreeSet};

pub use beside::beside_others;
pub use later::{Later, later};

use crate::StatsError;
use crate::error::open_unit;
use crate::moderation::{Group, Prior, Spread};
use crate::robust::{median, middle, spread_of};
use crate::student::critical_value_of;

/// Robust standard deviations to which a look's distance from the middle of its cell and life is cut.
const FARTHEST: f64 = 4.0;
/// Looks at a cell of a life from which a slope within it is taken.
const LEAST_LOOKS: usize = 3;
/// Ages whose squares sum up to less than this are equal.
const LEAST_SQUARES: f64 = 1e-9;
/// Sweeps over lives and cells until both have had their levels taken out; a complete layout needs one.
const SWEEPS: usize = 40;

/// One look at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Number of the life.
    pub life: usize,
    /// Number of the cell in which it was measured.
    pub cell: usize,
    /// Age of the life, in seconds.
    pub age_s: f64,
    /// Logarithm of the rate.
    pub log_rate: f64,
}

/// How the rate of one contender changes with age.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ageing {
    /// Change of the log rate per second of age.
    pub per_second: f64,
    /// Half-width of its interval, which holds for all contenders at once.
    pub half_width: f64,
    /// Age at which a typical life was first looked at, in seconds.
    pub from_s: f64,
    /// Age at which it was last looked at.
    pub to_s: f64,
}

impl Ageing {
    /// Whether the rate is shown to change.
    pub fn is_shown(&self) -> bool {
        self.per_second.abs() > self.half_width
    }

    /// By how much it changes over a typical life, as a logarithm.
    pub fn change(&self) -> f64 {
        self.per_second * (self.to_s - self.from_s)
    }

    /// Change over a typical life that would have been shown, as a logarithm.
    pub fn could_show(&self) -> f64 {
        self.half_width * (self.to_s - self.from_s)
    }
}

/// How the rates of several contenders change with age, by the looks at each; nothing of one whose lives are too few to tell.
/// `is_over_yardstick`: whether rates are those over a yardstick that all share, which counts as one of the others then. With a
/// chance of `confidence`, no interval of them all misses the truth.
///
/// # Errors
/// When `confidence` is not strictly between 0 and 1.
pub fn ageing(
    contenders: &[Vec<Look>],
    is_over_yardstick: bool,
    confidence: f64,
) -> Result<Vec<Option<Ageing>>, StatsError> {
    open_unit("confidence", confidence)?;
    let trends: Vec<[Trend; 2]> = contenders.iter().map(|looks| trends(looks)).collect();
    let priors = [0, 1].map(|stratum| prior(trends.iter().map(|of| of[stratum])));
    let combined: Vec<Option<Combined>> = trends.iter().map(|of| Combined::of(of, &priors)).collect();
    let tests = combined.iter().flatten().count().max(1) as f64;
    let each = 1.0 - (1.0 - confidence) / tests;
    let alone: Vec<Option<(f64, f64)>> = combined
        .iter()
        .map(|combined| {
            let combined = combined.as_ref()?;
            let critical = critical_value_of(each, combined.degrees_of_freedom).ok()?;
            Some((combined.slope, critical * combined.variance.sqrt()))
        })
        .collect();
    let told = beside_others(&alone, is_over_yardstick).into_iter().zip(contenders).map(|(slope, looks)| {
        let ((per_second, half_width), (from_s, to_s)) = (slope?, span(looks)?);
        Some(Ageing { per_second, half_width, from_s, to_s })
    });
    Ok(told.collect())
}

/// A slope from one kind of residuals.
#[derive(Debug, Clone, Copy, Default)]
struct Trend {
    slope: f64,
    /// Sum of squares of the ages that it rests on; 0 where there is nothing to tell.
    squares: f64,
    /// Variance of the residuals.
    residual: f64,
    degrees_of_freedom: f64,
}

/// Looks at one cell of one life.
struct Block {
    life: usize,
    cell: usize,
    /// Age and log rate.
    points: Vec<(f64, f64)>,
}

/// Within the cells of lives, and between them.
fn trends(looks: &[Look]) -> [Trend; 2] {
    let blocks = blocks(looks);
    [within(&blocks), between(&blocks)]
}

/// The looks by life and cell, outliers cut.
fn blocks(looks: &[Look]) -> Vec<Block> {
    let mut found: BTreeMap<(usize, usize), Vec<(f64, f64)>> = BTreeMap::new();
    let finite = looks.iter().filter(|look| look.age_s.is_finite() && look.log_rate.is_finite());
    for look in finite {
        found.entry((look.life, look.cell)).or_default().push((look.age_s, look.log_rate));
    }
    let mut blocks: Vec<Block> =
        found.into_iter().map(|((life, cell), points)| Block { life, cell, points }).collect();
    let center = |block: &Block| middle(&mut block.points.iter().map(|point| point.1).collect::<Vec<_>>());
    let centers: Vec<f64> = blocks.iter().map(|block| center(block).unwrap_or(0.0)).collect();
    let distances = blocks.iter().zip(&centers);
    let mut distances: Vec<f64> = distances
        .flat_map(|(block, center)| block.points.iter().map(move |point| (point.1 - center).abs()))
        .collect();
    let farthest = FARTHEST * spread_of(&mut distances);
    for (block, center) in blocks.iter_mut().zip(centers) {
        for point in &mut block.points {
            point.1 = point.1.clamp(center - farthest, center + farthest);
        }
    }
    blocks
}

/// The slopes of all blocks, pooled; they differ from each other by as much as each is uncertain.
fn within(blocks: &[Block]) -> Trend {
    let told = blocks.iter().filter(|block| block.points.len() >= LEAST_LOOKS);
    let slopes: Vec<(f64, f64)> = told
        .map(|block| regression(&centered(&block.points)))
        .filter(|(_, squares)| *squares > LEAST_SQUARES)
        .collect();
    let squares: f64 = slopes.iter().map(|(_, squares)| squares).sum();
    if slopes.len() < 2 {
        return Trend::default();
    }
    let slope = slopes.iter().map(|(slope, squares)| slope * squares).sum::<f64>() / squares;
    let apart: f64 = slopes.iter().map(|(own, squares)| squares * (own - slope).powi(2)).sum();
    let degrees_of_freedom = (slopes.len() - 1) as f64;
    Trend { slope, squares, residual: apart / degrees_of_freedom, degrees_of_freedom }
}

/// The slope of the blocks' means, without the level of each life and of each cell.
fn between(blocks: &[Block]) -> Trend {
    let count = |of: fn(&Block) -> usize| blocks.iter().map(of).collect::<BTreeSet<_>>().len();
    let (lives, cells) = (count(|block| block.life), count(|block| block.cell));
    // One level is that of both.
    let levels = (lives + cells).saturating_sub(1);
    if lives < 2 || cells < 2 || blocks.len() < levels + 2 {
        return Trend::default();
    }
    let means: Vec<(f64, f64)> = blocks.iter().map(|block| mean(&block.points)).collect();
    let left = without_levels(blocks, means);
    let (slope, squares) = regression(&left);
    if squares <= LEAST_SQUARES {
        return Trend::default();
    }
    let apart: f64 = left.iter().map(|(age, log)| (log - slope * age).powi(2)).sum();
    let degrees_of_freedom = (blocks.len() - levels - 1) as f64;
    Trend { slope, squares, residual: apart / degrees_of_freedom, degrees_of_freedom }
}

/// Takes the means of lives and of cells out in turn, until neither has any left.
fn without_levels(blocks: &[Block], mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    for _ in 0..SWEEPS {
        for key in [|block: &Block| block.life, |block: &Block| block.cell] {
            let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (index, block) in blocks.iter().enumerate() {
                groups.entry(key(block)).or_default().push(index);
            }
            for members in groups.values() {
                let own: Vec<(f64, f64)> = members.iter().map(|&index| points[index]).collect();
                let (age, log) = mean(&own);
                for &index in members {
                    points[index] = (points[index].0 - age, points[index].1 - log);
                }
            }
        }
    }
    points
}

fn mean(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len().max(1) as f64;
    (points.iter().map(|point| point.0).sum::<f64>() / n, points.iter().map(|point| point.1).sum::<f64>() / n)
}

fn centered(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (age, log) = mean(points);
    points.iter().map(|point| (point.0 - age, point.1 - log)).collect()
}

/// Slope through the origin, and the sum of squares that it rests on.
fn regression(centered: &[(f64, f64)]) -> (f64, f64) {
    let squares: f64 = centered.iter().map(|(age, _)| age * age).sum();
    let product: f64 = centered.iter().map(|(age, log)| age * log).sum();
    (if squares > 0.0 { product / squares } else { 0.0 }, squares)
}

/// What all contenders together say of the residuals of one kind.
fn prior(trends: impl Iterator<Item = Trend>) -> Prior {
    let told = trends.filter(|trend| trend.squares > 0.0);
    let spreads: Vec<Spread> = told
        .map(|Trend { residual, degrees_of_freedom, .. }| Spread {
            variance: residual,
            degrees_of_freedom,
            ..Spread::default()
        })
        .collect();
    if spreads.is_empty() {
        return Prior::none();
    }
    // Rates over the same limit share its noise, so that one of them tells nothing new.
    let n = spreads.len() as f64;
    let all: f64 = spreads.iter().map(|spread| spread.degrees_of_freedom).sum();
    let independent = all * (n - 1.0).max(1.0) / n;
    Prior::fit(&[Group { spreads, independent }]).unwrap_or(Prior::none())
}

/// One slope of both.
struct Combined {
    slope: f64,
    variance: f64,
    degrees_of_freedom: f64,
}

impl Combined {
    fn of(trends: &[Trend; 2], priors: &[Prior; 2]) -> Option<Self> {
        let known: Vec<Self> =
            trends.iter().zip(priors).filter_map(|(trend, prior)| Self::alone(trend, prior)).collect();
        let all: f64 = known.iter().map(Self::precision).sum();
        if known.is_empty() || !all.is_finite() {
            return known.into_iter().next();
        }
        let share = |one: &Self| one.precision() / all;
        let slope = known.iter().map(|one| share(one) * one.slope).sum();
        let in_doubt = |one: &Self| share(one) * (1.0 - share(one)) / one.degrees_of_freedom;
        let allowance = 1.0 + 4.0 * known.iter().map(in_doubt).sum::<f64>();
        // As if the less certain of the two variances were the only one: their sum has more, but heavy tails take that away.
        let least = known.iter().map(|one| one.degrees_of_freedom).fold(f64::INFINITY, f64::min);
        Some(Self { slope, variance: allowance / all, degrees_of_freedom: least })
    }

    fn alone(trend: &Trend, prior: &Prior) -> Option<Self> {
        if trend.squares <= 0.0 {
            return None;
        }
        let Trend { slope, squares, residual, degrees_of_freedom } = *trend;
        let moderated =
            prior.moderate(&Spread { variance: residual, degrees_of_freedom, ..Spread::default() })?;
        let (variance, degrees_of_freedom) = (moderated.variance / squares, moderated.degrees_of_freedom);
        Some(Self { slope, variance, degrees_of_freedom })
    }

    fn precision(&self) -> f64 {
        1.0 / self.variance
    }
}

/// Ages between which a typical life was looked at; nothing where that is no time at all.
fn span(looks: &[Look]) -> Option<(f64, f64)> {
    let mut lives: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for look in looks {
        let ends = lives.entry(look.life).or_insert((look.age_s, look.age_s));
        *ends = (ends.0.min(look.age_s), ends.1.max(look.age_s));
    }
    let typical = |of: fn(&(f64, f64)) -> f64| median(&lives.values().map(of).collect::<Vec<_>>()).ok();
    let (from, to) = (typical(|ends| ends.0)?, typical(|ends| ends.1)?);
    (to > from).then_some((from, to))
}

#[cfg(test)]
mod tests;
