//! Contenders' effects by weighted least squares over lives: level = contender + block + rest. A block is a round, or, where a
//! round was split into groups of servers that lived at once, a group of it.
//!
//! Each difference of two effects is made of all lives that bear on it, and all differences agree with each other: if the
//! first is 3 % above the second and the second 2 % above the third, then the first is so much above the third. A life that
//! is missing costs its own contender a round, and nobody else.

use super::lives::Lives;
use super::spreads::Spreads;

/// Rounds are taken for effects of a wide distribution rather than for entirely unknown: with this share of their weight.
/// It does not change a digit, but contenders that never met in a round can still be placed, by their plain means.
const UNKNOWN: f64 = 1e-6;

/// Contenders' effects, and how they depend on lives.
pub(super) struct Effects {
    /// By contender; `None` for one without a life.
    pub(super) of_contenders: Vec<Option<f64>>,
    /// The mean effect of a round.
    pub(super) round: f64,
    /// By block, what it does to everybody; `None` for one without a life.
    pub(super) of_blocks: Vec<Option<f64>>,
    inverse: Vec<Vec<f64>>,
    weights: Vec<Vec<f64>>,
    round_weights: Vec<f64>,
}

pub(super) fn effects(lives: &Lives, spreads: &Spreads) -> Effects {
    let rounds = lives.iter().map(Vec::len).max().unwrap_or(0);
    let weight = |i: usize, r: usize| {
        let lived = lives[i].get(r).is_some_and(Option::is_some);
        if lived { 1.0 / (spreads.contenders[i] * spreads.factors[i][r]) } else { 0.0 }
    };
    let weights: Vec<Vec<f64>> =
        (0..lives.len()).map(|i| (0..rounds).map(|r| weight(i, r)).collect()).collect();
    let round_weights: Vec<f64> =
        (0..rounds).map(|r| (1.0 + UNKNOWN) * weights.iter().map(|of| of[r]).sum::<f64>()).collect();
    let mut effects = Effects {
        of_contenders: Vec::new(),
        round: 0.0,
        of_blocks: Vec::new(),
        inverse: inverse(normal_matrix(&weights, &round_weights)),
        weights,
        round_weights,
    };
    effects.fit(lives);
    effects
}

impl Effects {
    fn fit(&mut self, lives: &Lives) {
        let levels = || lives.iter().flatten().flatten().map(|life| life.level);
        let centre = levels().sum::<f64>() / levels().count().max(1) as f64;
        let level = |i: usize, r: usize| {
            lives[i].get(r).and_then(Option::as_ref).map_or(0.0, |life| life.level - centre)
        };
        let rounds = self.round_weights.len();
        let weighted_mean = |r: usize, of: &dyn Fn(usize) -> f64| {
            let sum: f64 = self.weights.iter().enumerate().map(|(i, weights)| weights[r] * of(i)).sum();
            if self.round_weights[r] > 0.0 { sum / self.round_weights[r] } else { 0.0 }
        };
        let means: Vec<f64> = (0..rounds).map(|r| weighted_mean(r, &|i| level(i, r))).collect();
        let right: Vec<f64> = (0..lives.len())
            .map(|i| (0..rounds).map(|r| self.weights[i][r] * (level(i, r) - means[r])).sum())
            .collect();
        let effect = |i: usize| self.inverse[i].iter().zip(&right).map(|(c, q)| c * q).sum::<f64>();
        let of: Vec<f64> = (0..lives.len()).map(effect).collect();
        let of_block = |r: usize| weighted_mean(r, &|i| level(i, r) - of[i]);
        self.of_blocks = (0..rounds).map(|r| (self.round_weights[r] > 0.0).then(|| of_block(r))).collect();
        // What is left of the lives is the rounds'.
        let (mut rest, mut lived) = (0.0, 0.0);
        for (i, lives) in lives.iter().enumerate() {
            for life in lives.iter().flatten() {
                rest += life.level - of[i];
                lived += 1.0;
            }
        }
        self.round = rest / f64::max(lived, 1.0);
        let has_lived = |i: usize| lives[i].iter().any(Option::is_some);
        self.of_contenders = of.into_iter().enumerate().map(|(i, of)| has_lived(i).then_some(of)).collect();
    }

    /// The part of a block's effect that one of its contenders tells, 0 to 1.
    pub(super) fn share(&self, contender: usize, block: usize) -> f64 {
        let all = self.round_weights[block];
        if all > 0.0 { self.weights[contender][block] / all } else { 0.0 }
    }

    /// The variance of the difference of two effects: what the two contenders' own lives add, for a pair that varies by
    /// `pair` from round to round, and what those of others add. Where some were compared through others, these were part of what
    /// that variance was told from, so they vary in proportion to it, and no less than a typical contender.
    pub(super) fn variance(&self, (i, j): (usize, usize), pair: f64, spreads: &Spreads) -> f64 {
        let in_proportion = pair / (spreads.contenders[i] + spreads.contenders[j]);
        let variance_of = |l: usize| match spreads.contenders[l] {
            own if l == i || l == j => own * in_proportion,
            other if spreads.are_alike => other * in_proportion.max(1.0),
            other => other,
        };
        let row: Vec<f64> = self.inverse[i].iter().zip(&self.inverse[j]).map(|(i, j)| i - j).collect();
        let of_round = |r: usize| {
            let sum: f64 = row.iter().zip(&self.weights).map(|(row, weights)| row * weights[r]).sum();
            if self.round_weights[r] > 0.0 { sum / self.round_weights[r] } else { 0.0 }
        };
        let of_rounds: Vec<f64> = (0..self.round_weights.len()).map(of_round).collect();
        // By how much the difference grows with a life's level, squared; lives that were not have no weight.
        let squares = |l: usize| -> f64 {
            let lives = self.weights[l].iter().zip(&of_rounds).zip(&spreads.factors[l]);
            lives.map(|((weight, of_round), factor)| (weight * (row[l] - of_round)).powi(2) * factor).sum()
        };
        (0..row.len()).map(|l| squares(l) * variance_of(l)).sum()
    }
}

/// The normal equations' matrix after the rounds' effects were taken out.
fn normal_matrix(weights: &[Vec<f64>], round_weights: &[f64]) -> Vec<Vec<f64>> {
    let shared = |i: usize, j: usize| -> f64 {
        let products = weights[i].iter().zip(&weights[j]).zip(round_weights);
        products.filter(|(_, all)| **all > 0.0).map(|((a, b), all)| a * b / all).sum()
    };
    let entry = |i: usize, j: usize| {
        let own = if i == j { weights[i].iter().sum::<f64>() } else { 0.0 };
        own - shared(i, j)
    };
    (0..weights.len()).map(|i| (0..weights.len()).map(|j| entry(i, j)).collect()).collect()
}

/// The inverse of a symmetric positive semi-definite matrix by Gauss and Jordan's elimination, which needs no pivoting
/// there; rows of a contender without a life are zero and stay so.
pub(crate) fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut inverse: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect();
    for column in 0..n {
        let pivot = matrix[column][column];
        if pivot <= 0.0 {
            inverse[column].fill(0.0);
            continue;
        }
        for value in matrix[column].iter_mut().chain(&mut inverse[column]) {
            *value /= pivot;
        }
        let (row, inverse_row) = (matrix[column].clone(), inverse[column].clone());
        for other in (0..n).filter(|&other| other != column) {
            let factor = matrix[other][column];
            let both = matrix[other].iter_mut().zip(&row).chain(inverse[other].iter_mut().zip(&inverse_row));
            both.for_each(|(value, of_row)| *value -= factor * of_row);
        }
    }
    inverse
}
