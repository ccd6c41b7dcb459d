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
