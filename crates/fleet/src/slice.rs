//! The part of a load that falls to each of several generators (docs/method/fleet.md#shares-of-a-load).
//!
//! The generators' threads are numbered through as if they were those of one generator, and each does what that thread of one
//! generator would: the same connections, the same seed, the same arrivals. So the load of many *is* the load of one.

use serde::{Deserialize, Serialize};

/// The threads of one generator among those of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Number of its first thread.
    pub first_thread: u32,
    /// How many it has.
    pub threads: u32,
    /// How many all have.
    pub all_threads: u32,
}

impl Slice {
    /// A generator that has the load for itself.
    pub fn whole(threads: u32) -> Self {
        Self { first_thread: 0, threads, all_threads: threads }
    }

    /// What falls to it of `total` connections or requests. All parts add up to the total, and those of two threads differ by one at
    /// most.
    pub fn share(&self, total: u64) -> u64 {
        let up_to = |threads: u32| {
            let (all, threads) = (u64::from(self.all_threads.max(1)), u64::from(threads));
            total / all * threads + threads.min(total % all)
        };
        up_to(self.first_thread + self.threads) - up_to(self.first_thread)
    }

    /// What falls to it of a rate.
    pub fn share_of_rate(&self, per_second: f64) -> f64 {
        per_second * f64::from(self.threads) / f64::from(self.all_threads.max(1))
    }
}

/// The slices of generators that may have so many threads each. As with one generator, no thread is without a connection: where
/// `connections` are fewer than the threads, there are fewer threads, but one for each generator.
///
/// # Errors
/// What to ask for instead, where not every generator would have something to do.
pub fn slices(most_threads: &[u32], connections: u32) -> Result<Vec<Slice>, String> {
    let generators = u32::try_from(most_threads.len()).unwrap_or(u32::MAX);
    if generators == 0 || most_threads.contains(&0) {
        return Err("every generator needs a CPU; give it one".to_owned());
    }
    if connections < generators {
        return Err(format!(
            "{generators} generators cannot share {connections} connections; give at least {generators} with -c"
        ));
    }
    let threads = dealt(most_threads, connections);
    let all_threads = threads.iter().sum();
    let mut first_thread = 0;
    let slice = |threads: u32| {
        first_thread += threads;
        Slice { first_thread: first_thread - threads, threads, all_threads }
    };
    Ok(threads.into_iter().map(slice).collect())
}

/// The CPUs of each of so many generators: neighbours stay together, and where there are fewer CPUs than generators, several share one.
pub fn deal_cpus(cpus: &[u32], generators: u32) -> Vec<Vec<u32>> {
    let count = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
    if count < generators {
        return cpus.iter().cycle().take(generators as usize).map(|&cpu| vec![cpu]).collect();
    }
    let mut rest = cpus.iter().copied();
    let own =
        |number| Slice { first_thread: number, threads: 1, all_threads: generators }.share(count.into());
    (0..generators).map(|number| rest.by_ref().take(own(number) as usize).collect()).collect()
}

/// `most` in all, one for each, then one more for each in turn that may have more.
fn dealt(most_each: &[u32], most: u32) -> Vec<u32> {
    let mut dealt = vec![1; most_each.len()];
    let mut left = u64::from(most) - dealt.len() as u64;
    while left > 0 && dealt.iter().zip(most_each).any(|(has, most)| has < most) {
        for (has, _) in dealt.iter_mut().zip(most_each).filter(|(has, most)| **has < **most) {
            if left > 0 {
                *has += 1;
                left -= 1;
            }
        }
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_add_up_and_are_those_of_one_generator(
            most in prop::collection::vec(1u32..9, 1..9),
            more in 0u32..5000,
        ) {
            let total = most.len() as u32 + more;
            let slices = slices(&most, total).expect("slices");
            let all = u64::from(slices[0].all_threads);
            prop_assert_eq!(all, u64::from(most.iter().sum::<u32>().min(total)));
            // What each thread of one generator would have.
            let each = |thread: u64| u64::from(total) / all + u64::from(thread < u64::from(total) % all);
            for slice in &slices {
                let own = u64::from(slice.first_thread)..u64::from(slice.first_thread + slice.threads);
                prop_assert!(slice.threads >= 1);
                prop_assert_eq!(slice.share(total.into()), own.map(each).sum::<u64>());
            }
            prop_assert_eq!(slices.iter().map(|slice| slice.share(total.into())).sum::<u64>(), u64::from(total));
            let rates: f64 = slices.iter().map(|slice| slice.share_of_rate(1e5)).sum();
            prop_assert!((rates - 1e5).abs() < 1e-6);
        }
    }

    #[test]
    fn a_generator_without_anything_to_do_is_refused() {
        let refused = |most: &[u32], connections| slices(most, connections).unwrap_err();
        assert!(refused(&[1, 1, 1], 2).contains("at least 3"));
        assert!(refused(&[1, 0], 2).contains("needs a CPU"));
        assert!(refused(&[], 2).contains("needs a CPU"));
    }

    #[test]
    fn cpus_are_divided_and_shared_only_where_there_are_too_few() {
        assert_eq!(deal_cpus(&[0, 2, 4, 6, 8], 2), [vec![0, 2, 4], vec![6, 8]]);
        assert_eq!(deal_cpus(&[1, 3], 3), [[1], [3], [1]]);
        assert_eq!(deal_cpus(&[], 1), Vec::<Vec<u32>>::new());
    }

    #[test]
    fn one_generator_is_the_whole() {
        assert_eq!(slices(&[4], 64), Ok(vec![Slice::whole(4)]));
        assert_eq!(Slice::whole(4).share(65), 65);
    }
}
