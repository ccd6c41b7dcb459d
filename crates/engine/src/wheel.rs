//! A hashed timing wheel (Varghese and Lauck, 1987) for deadlines that move far more often than they expire.
//!
//! A key is armed once. When its entry comes up, the wheel asks for the key's deadline of now: a deadline that
//! has moved on is simply armed again. So a timeout that is pushed back with every request costs nothing per
//! request, and one wheel entry per key and timeout period.

use assay_model::units::Nanos;

const BUCKETS: usize = 1024;
const NOT_ARMED: u64 = u64::MAX;
/// Entries for which an empty bucket keeps room. Keys that come up together are armed again together, so crowds form and wander
/// over all buckets; if each kept the room of its largest one, that would be four kilobytes a key in the end.
const KEPT: usize = 64;

/// Timers for keys 0, 1, 2 …; a deadline is met within one tick, never early.
pub struct Wheel {
    tick: Nanos,
    buckets: Vec<Vec<u32>>,
    /// The tick at which each key comes up; an entry found elsewhere is a leftover.
    armed: Vec<u64>,
    /// The first tick that has not been expired.
    next_tick: u64,
    /// No bucket before this tick holds an entry.
    earliest: u64,
    entries: usize,
}

impl Wheel {
    /// A wheel with the given resolution, starting at `now`.
    pub fn new(tick: Nanos, now: Nanos) -> Self {
        let tick = Nanos(tick.0.max(1));
        let next_tick = now.0 / tick.0;
        let buckets = (0..BUCKETS).map(|_| Vec::new()).collect();
        Self { tick, buckets, armed: Vec::new(), next_tick, earliest: NOT_ARMED, entries: 0 }
    }

    /// Sees to it that `key` comes up at `deadline` or, if it is armed already, earlier.
    pub fn arm(&mut self, key: u32, deadline: Nanos) {
        let slot = key as usize;
        if slot >= self.armed.len() {
            self.armed.resize(slot + 1, NOT_ARMED);
        }
        let due = deadline.0.div_ceil(self.tick.0).max(self.next_tick);
        // What lies beyond the wheel's horizon comes up at the horizon and is armed again from there.
        let tick = due.min(self.next_tick + BUCKETS as u64 - 1);
        if tick < self.armed[slot] {
            self.armed[slot] = tick;
            self.buckets[tick as usize % BUCKETS].push(key);
            self.entries += 1;
            self.earliest = self.earliest.min(tick);
        }
    }

    /// Brings up every key whose time has come. `deadline_of` tells the key's deadline: `None` when it needs no
    /// timer any more, a time not after `now` when it has expired (the callee acts on it and the key is no longer
    /// armed), a later time to be armed again.
    pub fn expire(&mut self, now: Nanos, mut deadline_of: impl FnMut(u32) -> Option<Nanos>) {
        self.expire_dyn(now, &mut deadline_of);
    }

    /// [`Self::expire`], compiled once for all callees.
    fn expire_dyn(&mut self, now: Nanos, deadline_of: &mut dyn FnMut(u32) -> Option<Nanos>) {
        let current = now.0 / self.tick.0;
        while self.entries > 0 && self.earliest <= current {
            let tick = self.earliest;
            self.next_tick = tick + 1;
            let mut due = std::mem::take(&mut self.buckets[tick as usize % BUCKETS]);
            self.entries -= due.len();
            self.earliest = self.first_occupied(tick + 1);
            for key in due.drain(..) {
                if self.armed[key as usize] != tick {
                    continue;
                }
                self.armed[key as usize] = NOT_ARMED;
                if let Some(deadline) = deadline_of(key).filter(|&deadline| deadline > now) {
                    self.arm(key, deadline);
                }
            }
            if self.buckets[tick as usize % BUCKETS].is_empty() && due.capacity() <= KEPT {
                self.buckets[tick as usize % BUCKETS] = due;
            }
        }
        self.next_tick = self.next_tick.max(current + 1);
    }

    /// The time at which [`expire`](Self::expire) has something to do; [`Nanos::MAX`] when nothing is armed.
    pub fn next(&self) -> Nanos {
        if self.entries == 0 { Nanos::MAX } else { Nanos(self.earliest.saturating_mul(self.tick.0)) }
    }

    fn first_occupied(&self, from: u64) -> u64 {
        if self.entries == 0 {
            return NOT_ARMED;
        }
        (from..from + BUCKETS as u64)
            .find(|&t| !self.buckets[t as usize % BUCKETS].is_empty())
            .unwrap_or(NOT_ARMED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn fired(wheel: &mut Wheel, now: Nanos) -> Vec<u32> {
        let mut keys = Vec::new();
        wheel.expire(now, |key| {
            keys.push(key);
            None
        });
        keys
    }

    #[test]
    fn a_deadline_comes_up_within_a_tick_and_never_early() {
        let mut wheel = Wheel::new(Nanos::from_millis(1), Nanos::ZERO);
        wheel.arm(7, Nanos(5 * MS + 1));
        assert_eq!(wheel.next(), Nanos(6 * MS));
        assert!(fired(&mut wheel, Nanos(5 * MS + 999_999)).is_empty());
        assert_eq!(fired(&mut wheel, Nanos(6 * MS)), [7]);
        assert_eq!(wheel.next(), Nanos::MAX);
    }

    #[test]
    fn a_deadline_that_moved_on_is_armed_again() {
        let mut wheel = Wheel::new(Nanos::from_millis(1), Nanos::ZERO);
        wheel.arm(0, Nanos(2 * MS));
        wheel.expire(Nanos(3 * MS), |_| Some(Nanos(10 * MS)));
        assert_eq!(wheel.next(), Nanos(10 * MS));
        assert_eq!(fired(&mut wheel, Nanos(10 * MS)), [0]);
    }

    #[test]
    fn an_earlier_deadline_overtakes_the_armed_one() {
        let mut wheel = Wheel::new(Nanos::from_millis(1), Nanos::ZERO);
        wheel.arm(3, Nanos(500 * MS));
        wheel.arm(3, Nanos(2 * MS));
        assert_eq!(fired(&mut wheel, Nanos(2 * MS)), [3]);
        assert!(fired(&mut wheel, Nanos(600 * MS)).is_empty(), "the leftover entry is ignored");
    }

    #[test]
    fn room_for_a_crowd_does_not_stay_in_every_bucket_that_it_passed() {
        let mut wheel = Wheel::new(Nanos::from_millis(1), Nanos::ZERO);
        (0..10_000).for_each(|key| wheel.arm(key, Nanos(MS)));
        for tick in 1..2 * BUCKETS as u64 {
            wheel.expire(Nanos(tick * MS), |_| Some(Nanos((tick + 1) * MS)));
        }
        let room: usize = wheel.buckets.iter().map(Vec::capacity).sum();
        assert!(room < 100_000, "{room}");
    }

    proptest! {
        #[test]
        fn every_key_comes_up_once_in_its_tick_however_far(deadlines in prop::collection::vec(0u64..5_000, 1..200)) {
            let mut wheel = Wheel::new(Nanos::from_millis(1), Nanos::ZERO);
            for (key, ms) in deadlines.iter().enumerate() {
                wheel.arm(key as u32, Nanos(ms * MS));
            }
            let mut seen = vec![None; deadlines.len()];
            for step in 0..=5_000u64 {
                let now = Nanos(step * MS);
                wheel.expire(now, |key| {
                    let deadline = Nanos(deadlines[key as usize] * MS);
                    if deadline > now {
                        return Some(deadline);
                    }
                    assert_eq!(seen[key as usize].replace(step), None);
                    None
                });
            }
            for (key, ms) in deadlines.iter().enumerate() {
                prop_assert_eq!(seen[key], Some(*ms));
            }
        }
    }
}
