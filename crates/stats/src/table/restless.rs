//! Contenders whose restarts vary far more than those of others, in all tables of a run together.
//!
//! The spreads of a run share one prior ([`crate::moderation`]). A single contender whose restarts vary ten times as much as everybody's makes
//! spreads differ by more than chance, so that little is lent to any pair, also to those that it has no part in (Phipson, Lee, Majewski,
//! Alexander and Smyth, Ann. Appl. Stat. 10, 2016). So pairs without one have a prior of their own.

use std::collections::{BTreeMap, BTreeSet};

use super::{Restlessness, Table};
use crate::robust::middle;

/// A contender is restless if its restarts vary by so many times what those of the middle one do, as variances, and by half as many times
/// what its windows add.
const RESTLESS: f64 = 8.0;
/// Contenders of which the middle one says what is usual.
const LEAST_CONTENDERS: usize = 4;
/// Tables that must tell of a contender: of a single one, that of six uneven contenders which varied most by chance was taken for restless so
/// often that only 93 % of intervals held the truth.
const LEAST_TABLES: usize = 3;

/// The tables of a run, whose spreads know whether a restless contender is in them. `numbers` holds, for each table, the number that each of
/// its contenders has in the run: the same in all tables.
pub fn told_of_restless(tables: Vec<Table>, numbers: &[Vec<usize>]) -> Vec<Table> {
    let mut told: BTreeMap<usize, Vec<Restlessness>> = BTreeMap::new();
    for (table, numbers) in tables.iter().zip(numbers) {
        for (number, restlessness) in numbers.iter().zip(table.restlessness()) {
            told.entry(*number).or_default().extend(restlessness);
        }
    }
    let restless = restless(&told);
    let of = |number: &usize| restless.contains(number);
    let both = tables.into_iter().zip(numbers);
    both.map(|(table, numbers)| Table { restless: numbers.iter().map(of).collect(), ..table }).collect()
}

/// The numbers of those who are.
fn restless(told: &BTreeMap<usize, Vec<Restlessness>>) -> BTreeSet<usize> {
    let mean = |of: fn(&Restlessness) -> f64, tables: &[Restlessness]| {
        tables.iter().map(of).sum::<f64>() / tables.len() as f64
    };
    let known = || told.iter().filter(|(_, tables)| tables.len() >= LEAST_TABLES);
    // Tables tell too much and too little of the same contender, so what windows add is taken from their mean.
    let restarts = |tables: &[Restlessness]| {
        (mean(|table| table.level, tables) - mean(|table| table.windows, tables)).max(0.0)
    };
    let usual = middle(&mut known().map(|(_, tables)| restarts(tables)).collect::<Vec<_>>());
    let Some(usual) = usual.filter(|_| known().count() >= LEAST_CONTENDERS) else { return BTreeSet::new() };
    let is_restless = |(_, tables): &(&usize, &Vec<Restlessness>)| {
        restarts(tables) > RESTLESS * usual.max(mean(|table| table.windows, tables) / 2.0)
    };
    known().filter(is_restless).map(|(number, _)| *number).collect()
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng as _;

    use super::*;
    use crate::simulation::{Simulated, Truth as _, World};

    /// Who is restless in so many tables of three restarts, where the third of six varies so many times as much as the others.
    fn found(times: f64, tables: usize, seed: u64) -> Vec<Vec<bool>> {
        let mut contenders = vec![Simulated::of(1.0, 0.02, 0.02); 6];
        contenders[2].restart_sd *= times;
        let world = World { rotations: 5, ..World::quiet(contenders, 3) };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let measured = (0..tables).map(|_| Table::fit(&world.measure(&mut rng)).unwrap());
        let told = told_of_restless(measured.collect(), &vec![(0..6).collect(); tables]);
        told.into_iter().map(|table| table.restless).collect()
    }

    #[test]
    fn who_varies_ten_times_as_much_is_restless_in_all_tables_and_nobody_else() {
        for seed in 0..50 {
            let of = |times| found(times, 8, seed);
            assert_eq!(of(10.0), vec![[false, false, true, false, false, false].to_vec(); 8], "seed {seed}");
            assert_eq!(of(1.0), vec![vec![false; 6]; 8], "seed {seed}");
        }
        assert_eq!(found(10.0, 2, 1), vec![vec![false; 6]; 2], "two tables tell too little");
    }
}
