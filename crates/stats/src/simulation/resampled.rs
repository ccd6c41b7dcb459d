//! Runs made of lives that were measured, so that tails, unequal variances and everything else that no model knows are the
//! machine's own; only who is how fast is known, because lives are freed of it and given another.
//!
//! A window is taken apart into contender + round + rotation + rest, as [`Table`] does, and the rest of a whole life is kept
//! together. A resampled run draws the lives of each contender from those of one that was measured, without putting them
//! back while they last, and the rounds' and rotations' effects from those of measured rounds. What a fit takes away from rests
//! is given back (Davison & Hinkley, *Bootstrap Methods and their Application*, 1997, §6.3: modified residuals).

use std::collections::BTreeMap;

use rand::{Rng, RngExt as _};

use super::{Truth, shuffled};
use crate::StatsError;
use crate::robust::middle;
use crate::table::{Table, Windows};

/// Lives and rounds that were measured, to make runs of.
#[derive(Debug, Clone, Default)]
pub struct Material {
    /// By contender, what is left of each life.
    lives: BTreeMap<String, Vec<Rest>>,
    rounds: Vec<Common>,
}

/// What is left of a life when contender, round and rotations are taken out.
#[derive(Debug, Clone)]
struct Rest {
    level: f64,
    windows: Vec<Option<f64>>,
}

/// What a round did to all its contenders.
#[derive(Debug, Clone)]
struct Common {
    level: f64,
    rotations: Vec<f64>,
}

impl Material {
    /// Adds the windows of a table, those of each contender by its name. A name may come twice. A table of fewer than two
    /// contenders or rounds tells nothing and is left out.
    ///
    /// # Errors
    /// As [`Table::fit`].
    pub fn add(&mut self, contenders: &[(&str, Windows)]) -> Result<(), StatsError> {
        let windows: Vec<Windows> = contenders.iter().map(|(_, windows)| windows.clone()).collect();
        let table = Table::fit(&windows)?;
        let (n, rounds) = (contenders.len() as f64, table.rounds() as f64);
        if n < 2.0 || rounds < 2.0 {
            return Ok(());
        }
        let kept = (1.0 - 1.0 / n).sqrt();
        let (of_level, of_window) = (1.0 / (kept * (1.0 - 1.0 / rounds).sqrt()), 1.0 / kept);
        for round in 0..table.rounds() {
            let Some(common) = common(&table, &windows, round) else { continue };
            for (i, (name, of)) in contenders.iter().enumerate() {
                let (Some(level), Some(effect)) = (table.life(i, round), table.effect(i)) else { continue };
                let rest = |(window, rotation): (&Option<f64>, &f64)| {
                    window.map(|window| of_window * (window - rotation - level))
                };
                let windows = of[round].iter().zip(&common.rotations).map(rest).collect();
                let level = of_level * (level - effect - common.level);
                self.lives.entry((*name).to_owned()).or_default().push(Rest { level, windows });
            }
            self.rounds.push(common);
        }
        Ok(())
    }

    /// Names of the contenders, each with the number of its lives.
    pub fn contenders(&self) -> impl Iterator<Item = (&str, usize)> {
        self.lives.iter().map(|(name, lives)| (name.as_str(), lives.len()))
    }

    /// Windows of a typical life; 0 where there is none.
    pub fn windows_per_life(&self) -> usize {
        let told = |rest: &Rest| rest.windows.iter().flatten().count() as f64;
        let mut all: Vec<f64> = self.lives.values().flatten().map(told).collect();
        middle(&mut all).unwrap_or(0.0) as usize
    }
}

/// What is common to all contenders of a round; `None` where nobody lived.
fn common(table: &Table, windows: &[Windows], round: usize) -> Option<Common> {
    let living: Vec<(usize, f64)> =
        (0..windows.len()).filter_map(|i| Some((i, table.life(i, round)?))).collect();
    let off: Vec<f64> = living.iter().filter_map(|&(i, level)| Some(level - table.effect(i)?)).collect();
    let columns = living.iter().map(|&(i, _)| windows[i][round].len()).max()?;
    let rotation = |k: usize| {
        let free = |&(i, level): &(usize, f64)| Some(windows[i][round].get(k).copied().flatten()? - level);
        let mut all: Vec<f64> = living.iter().filter_map(free).collect();
        // What one contender alone tells of is its own window.
        if all.len() > 1 { middle(&mut all).unwrap_or(0.0) } else { 0.0 }
    };
    let level = off.iter().sum::<f64>() / off.len().max(1) as f64;
    Some(Common { level, rotations: (0..columns).map(rotation).collect() })
}

/// Runs made of measured lives.
#[derive(Debug, Clone)]
pub struct Resampled<'m> {
    /// The lives to draw from.
    pub material: &'m Material,
    /// The logarithms of the true rates.
    pub log_rates: Vec<f64>,
    /// Restarts of each.
    pub rounds: usize,
    /// Windows of each life, at most; some lives have fewer.
    pub rotations: usize,
    /// The share of windows that are made void.
    pub void_share: f64,
}

impl Truth for Resampled<'_> {
    fn contenders(&self) -> usize {
        self.log_rates.len()
    }

    fn rounds(&self) -> usize {
        self.rounds
    }

    fn log_rate(&self, contender: usize) -> f64 {
        self.log_rates[contender]
    }

    /// Each contender has the lives of a measured one, drawn by lot, so that some are one and the same under two names.
    fn measure(&self, rng: &mut impl Rng) -> Vec<Windows> {
        let sources: Vec<&[Rest]> = self.material.lives.values().map(Vec::as_slice).collect();
        if sources.is_empty() || self.material.rounds.is_empty() {
            return vec![Windows::new(); self.log_rates.len()];
        }
        let mut decks: Vec<Vec<usize>> = vec![Vec::new(); sources.len()];
        let rounds: Vec<&Common> = (0..self.rounds).map(|_| pick(&self.material.rounds, rng)).collect();
        let starts: Vec<usize> = rounds.iter().map(|_| rng.random_range(0..usize::MAX / 2)).collect();
        let log_rates = self.log_rates.iter();
        log_rates
            .map(|log_rate| {
                let source = rng.random_range(0..sources.len());
                let (lives, deck) = (sources[source], &mut decks[source]);
                let center = lives.iter().map(|rest| rest.level).sum::<f64>() / lives.len() as f64;
                let mut life = |(common, start): (&&Common, &usize)| {
                    if deck.is_empty() {
                        *deck = shuffled(lives.len(), rng);
                    }
                    let rest = &lives[deck.pop().unwrap_or(0)];
                    self.life(rest, log_rate - center + common.level, common, *start, rng)
                };
                rounds.iter().zip(&starts).map(&mut life).collect()
            })
            .collect()
    }
}

impl Resampled<'_> {
    /// A stretch of a life's windows, as many as there are or as are wanted.
    fn life(
        &self,
        rest: &Rest,
        level: f64,
        common: &Common,
        start: usize,
        rng: &mut impl Rng,
    ) -> Vec<Option<f64>> {
        let spare = rest.windows.len().saturating_sub(self.rotations);
        let first = rng.random_range(0..=spare);
        let stretch = rest.windows.iter().skip(first).take(self.rotations).enumerate();
        stretch
            .map(|(k, window)| {
                let is_void = rng.random::<f64>() < self.void_share;
                let rotation = common.rotations.get((start + k) % common.rotations.len().max(1));
                let known = window.filter(|_| !is_void)?;
                Some(level + rest.level + known + rotation.copied().unwrap_or(0.0))
            })
            .collect()
    }
}

fn pick<'p, T>(from: &'p [T], rng: &mut impl Rng) -> &'p T {
    &from[rng.random_range(0..from.len())]
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use chacha20::rand_core::SeedableRng as _;

    use super::*;
    use crate::simulation::{Trials, World, uneven};

    /// Eight runs of six contenders that vary to different extents, of 12 rotations in five rounds.
    fn material(rng: &mut impl Rng) -> Material {
        let mut world = World::noisy(uneven(0.2), 5, 12);
        for (place, contender) in world.contenders.iter_mut().enumerate() {
            contender.log_rate = 0.4 * place as f64;
        }
        let mut material = Material::default();
        for _ in 0..8 {
            let names = ["a", "b", "c", "d", "e", "f"];
            let table: Vec<(&str, Windows)> = names.into_iter().zip(world.measure(rng)).collect();
            material.add(&table).unwrap();
        }
        material
    }

    fn resampled(material: &Material, step: f64) -> Resampled<'_> {
        let log_rates = (0..6).map(|i| f64::from(i) * step.ln()).collect();
        Resampled { material, log_rates, rounds: 4, rotations: 10, void_share: 0.05 }
    }

    #[test]
    fn resampled_equals_are_equal_however_far_apart_their_lives_were() {
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let material = material(rng);
        assert!(
            material.contenders().all(|(_, lives)| lives == 40),
            "{:?}",
            material.contenders().collect::<Vec<_>>()
        );
        assert!((11..=12).contains(&material.windows_per_life()));
        let outcome = Trials::once(resampled(&material, 1.0), 2).outcome(150, rng).unwrap();
        assert!(outcome.false_runs <= 0.06 && outcome.covered >= 0.93, "{outcome:?}");
        assert!(outcome.covered <= 0.985, "no wider than the noise that was put in: {outcome:?}");
    }

    #[test]
    fn resampled_differences_are_shown() {
        let rng = &mut ChaCha8Rng::seed_from_u64(2);
        let material = material(rng);
        let outcome = Trials::once(resampled(&material, 1.5), 1).outcome(40, rng).unwrap();
        assert!(outcome.shown > 0.95 && outcome.false_runs <= 0.05, "{outcome:?}");
    }

    #[test]
    fn tables_that_tell_nothing_are_left_out() {
        let mut material = Material::default();
        material.add(&[("a", vec![vec![Some(1.0)]; 3])]).unwrap();
        material.add(&[("a", vec![vec![Some(1.0)]]), ("b", vec![vec![Some(2.0)]])]).unwrap();
        assert_eq!((material.contenders().count(), material.windows_per_life()), (0, 0));
        assert!(material.add(&[]).is_err());
        let rng = &mut ChaCha8Rng::seed_from_u64(3);
        assert!(resampled(&material, 1.0).measure(rng).iter().all(Vec::is_empty));
    }
}
