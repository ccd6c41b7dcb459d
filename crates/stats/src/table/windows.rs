//! How much the windows of each contender vary, moderated: what all contenders say of it in all tables of a run, lent to each, because a
//! life often has but two or three windows.

use super::lives::Within;
use super::{Table, effects, spreads};
use crate::moderation::{Restarts, Spread};

/// Fewest degrees of freedom of a variance of windows that is asked of what is usual.
const LEAST_TOLD: f64 = 1.0;

/// Tables in which the variance of a contender's windows is drawn towards what is usual in all of them, as that of restarts is
/// ([`crate::moderation`]).
pub fn lend_windows(tables: Vec<Table>) -> Vec<Table> {
    let told = tables.iter().flat_map(Table::windows).filter(|of| of.degrees_of_freedom >= LEAST_TOLD);
    let weighed: Vec<(Spread, f64)> = told.map(spread).map(|spread| (spread, 1.0)).collect();
    let Ok(usual) = Restarts::fit(&weighed) else { return tables };
    let all = weighed.iter().map(|(spread, _)| spread.degrees_of_freedom).sum();
    tables.into_iter().map(|table| table.with_windows(usual, all)).collect()
}

fn spread(Within { variance, degrees_of_freedom }: Within) -> Spread {
    Spread { variance, degrees_of_freedom, ..Spread::default() }
}

/// A contender's own variance drawn towards the usual one, by no more degrees of freedom than there are in the whole run besides. One that
/// has next to none of its own is nearly the usual one: as it was found it would promise what it cannot know.
fn moderated(own: Within, usual: Restarts, all: f64) -> Within {
    let (lent, d) = (usual.degrees_of_freedom, own.degrees_of_freedom);
    let variance = (lent * usual.between + d * own.variance) / (lent + d);
    Within { variance, degrees_of_freedom: d + lent.min((all - d).max(0.0)) }
}

impl Table {
    /// What windows of each contender vary by, where it is known.
    fn windows(&self) -> impl Iterator<Item = Within> + '_ {
        self.lives.iter().filter_map(|lives| lives.iter().flatten().find_map(|life| life.window))
    }

    fn with_windows(mut self, usual: Restarts, all: f64) -> Self {
        for life in self.lives.iter_mut().flatten().flatten() {
            life.window = life.window.map(|own| moderated(own, usual, all));
        }
        self.spreads = spreads::spreads(&self.lives, &self.round_of);
        self.effects = effects::effects(&self.lives, &self.spreads);
        self
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng as _;

    use super::*;
    use crate::simulation::{Simulated, Truth as _, World, alike};

    /// Four tables of these contenders, of three restarts with three windows each.
    fn tables(contenders: Vec<Simulated>) -> Vec<Table> {
        let world = World { rotations: 3, ..World::quiet(contenders, 3) };
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        (0..4).map(|_| Table::fit(&world.measure(&mut rng)).unwrap()).collect()
    }

    fn told(tables: &[Table]) -> Vec<Within> {
        tables.iter().flat_map(Table::windows).collect()
    }

    /// The mean square by which variances are off the true one, as logarithms.
    fn error(told: &[Within], truth: f64) -> f64 {
        told.iter().map(|of| (of.variance / truth).ln().powi(2)).sum::<f64>() / told.len() as f64
    }

    #[test]
    fn few_windows_learn_from_those_of_all() {
        let own = tables(alike(8, 0.01, 0.1));
        let (before, after) = (told(&own), told(&lend_windows(own)));
        let [before_error, after_error] = [&before, &after].map(|told| error(told, 0.01));
        assert!(after_error < 0.3 * before_error, "{before_error} {after_error}");
        let more = |(own, lent): (&Within, &Within)| lent.degrees_of_freedom > 1.5 * own.degrees_of_freedom;
        assert!(before.len() == 32 && before.iter().zip(&after).all(more), "{after:?}");
    }

    #[test]
    fn who_varies_far_more_than_others_is_not_taken_for_one_of_them() {
        let mut contenders = alike(8, 0.01, 0.02);
        contenders[5].window_sd = 0.2;
        let own = tables(contenders);
        let (before, after) = (told(&own), told(&lend_windows(own)));
        for (before, after) in before.iter().zip(&after).skip(5).step_by(8) {
            assert!(after.variance > 0.4 * before.variance, "{before:?} {after:?}");
        }
    }

    #[test]
    fn levels_stay_where_they_are_and_nothing_is_lent_where_nothing_is_told() {
        let own = tables(alike(4, 0.01, 0.1));
        let life = |tables: &[Table]| (tables[2].life(1, 2), tables[2].lived(3));
        let (before, lent) = (life(&own), lend_windows(own));
        assert_eq!(life(&lent), before);
        let single = World::quiet(alike(4, 0.01, 0.1), 3);
        let single = Table::fit(&single.measure(&mut ChaCha8Rng::seed_from_u64(1))).unwrap();
        assert!(told(&lend_windows(vec![single])).is_empty() && lend_windows(Vec::new()).is_empty());
    }
}
