//! Contenders whose restarts vary far more than those of others, in all tables of a run together.
//!
//! The spreads of a run share one prior ([`crate::moderation`]). A single contender whose restarts vary ten times as much as everybody's makes
//! spreads differ by more than chance, so that little is lent to any pair, also to those that it has no part in (Phipson, Lee, Majewski,
//! Alexander and Smyth, Ann. Appl. Stat. 10, 2016). So pairs without one have a prior of their own.

use super::Restlessness;
use crate::robust::middle;

/// A contender is restless if its restarts vary by so many times what those of the middle one do, as variances, and by half as many times
/// what its windows add.
const RESTLESS: f64 = 8.0;
/// Contenders of which the middle one says what is usual.
const LEAST_CONTENDERS: usize = 4;
/// Tables that must tell of a contender: of a single one, that of six uneven contenders which varied most by chance was taken for restless so
/// often that only 93 % of intervals held the truth.
const LEAST_TABLES: usize = 3;

/// Whether each contender is restless, by what each table of the run says of it.
pub fn restless(contenders: &[Vec<Restlessness>]) -> Vec<bool> {
    let is_told = |tables: &&Vec<Restlessness>| tables.len() >= LEAST_TABLES;
    let means: Vec<Option<Restlessness>> =
        contenders.iter().map(|tables| Restlessness::mean(Some(tables).filter(is_told)?)).collect();
    // Tables tell too much and too little of the same contender, so what windows add is taken from their mean.
    let restarts = |of: &Restlessness| (of.level - of.windows).max(0.0);
    let mut all: Vec<f64> = means.iter().flatten().map(restarts).collect();
    let usual = Some(&mut all).filter(|all| all.len() >= LEAST_CONTENDERS).and_then(|all| middle(all));
    let is_restless =
        |of: &Restlessness| usual.is_some_and(|usual| restarts(of) > RESTLESS * usual.max(of.windows / 2.0));
    means.iter().map(|of| of.as_ref().is_some_and(is_restless)).collect()
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng as _;

    use super::*;
    use crate::simulation::{Simulated, Truth as _, World, by_contender};
    use crate::table::Table;

    /// Contenders found restless by `tables` tables of three restarts, where the third of six varies `times` as much as the others.
    fn found(times: f64, tables: usize, seed: u64) -> Vec<bool> {
        let mut contenders = vec![Simulated::of(1.0, 0.02, 0.02); 6];
        contenders[2].restart_sd *= times;
        let world = World { rotations: 5, ..World::quiet(contenders, 3) };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let measured = (0..tables).map(|_| Table::fit(&world.measure(&mut rng)).unwrap());
        restless(&by_contender(&measured.collect::<Vec<_>>()))
    }

    #[test]
    fn who_varies_ten_times_as_much_is_restless_and_nobody_else() {
        for seed in 0..50 {
            assert_eq!(found(10.0, 8, seed), [false, false, true, false, false, false], "seed {seed}");
            assert_eq!(found(1.0, 8, seed), [false; 6], "seed {seed}");
        }
        assert_eq!(found(10.0, 2, 1), [false; 6], "two tables tell too little");
    }
}
