//! What a network does to what is sent over it.

use assay_model::units::Nanos;
use rand::Rng;

/// The manners of a network. Shares are chances from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weather {
    /// How long a segment takes, at least and at most. Each takes its own time, so connections overtake each other; within one,
    /// a segment waits for those before it.
    pub delay: [Nanos; 2],
    /// Bytes of a segment at most; each has its own number of them. [`usize::MAX`] sends everything in one.
    pub segment_bytes: usize,
    /// Bytes that one direction of a connection holds: under way, and arrived but not received.
    pub window_bytes: usize,
    /// Share of the sends of which only a part is taken.
    pub short_sends: f64,
    /// Share of the receives that get only a part of what is there.
    pub short_receives: f64,
    /// Share of the segments that are held up, and for how long.
    pub stalls: (f64, Nanos),
    /// Share of the sends during which the connection is reset.
    pub resets: f64,
}

impl Weather {
    /// Nothing happens, and each way takes `delay`.
    pub const fn still(delay: Nanos) -> Self {
        Self {
            delay: [delay; 2],
            segment_bytes: usize::MAX,
            window_bytes: 256 * 1024,
            short_sends: 0.0,
            short_receives: 0.0,
            stalls: (0.0, Nanos::ZERO),
            resets: 0.0,
        }
    }

    /// Everything happens that leaves connections whole, as much of it as `rng` says.
    pub fn rough(rng: &mut impl Rng) -> Self {
        let micros = |rng: &mut _, most| Nanos::from_micros(below(rng, most));
        let least = micros(rng, 300);
        Self {
            delay: [least, least + micros(rng, 2_000)],
            segment_bytes: [1, 3, 16, 200, 2_000, usize::MAX][below(rng, 6) as usize],
            window_bytes: [64, 1_000, 20_000, 256 * 1024][below(rng, 4) as usize],
            short_sends: share(rng) / 2.0,
            short_receives: share(rng) / 2.0,
            stalls: (share(rng) / 20.0, micros(rng, 50_000)),
            resets: 0.0,
        }
    }

    /// When a segment arrives that is sent at `now`, behind one that arrives at `last`.
    pub(crate) fn arrival(&self, now: Nanos, last: Nanos, rng: &mut impl Rng) -> Nanos {
        let [least, most] = self.delay;
        let spread = if most > least { below(rng, (most - least).0 + 1) } else { 0 };
        let stalled = if happens(self.stalls.0, rng) { self.stalls.1 } else { Nanos::ZERO };
        (now + least + Nanos(spread) + stalled).max(last)
    }

    /// How many of `n` bytes the next segment has.
    pub(crate) fn segment(&self, n: usize, rng: &mut impl Rng) -> usize {
        if self.segment_bytes == usize::MAX { n } else { part(n.min(self.segment_bytes), rng) }
    }
}

/// Whether something happens that has this chance; without a chance no random number is taken.
pub(crate) fn happens(chance: f64, rng: &mut impl Rng) -> bool {
    chance > 0.0 && share(rng) < chance
}

/// A part of `n`, 1 at least if there is any.
pub(crate) fn part(n: usize, rng: &mut impl Rng) -> usize {
    if n > 1 { 1 + below(rng, n as u64) as usize } else { n }
}

/// A whole number below `n`; close enough to even for numbers that are small beside 2⁶⁴.
pub(crate) fn below(rng: &mut impl Rng, n: u64) -> u64 {
    rng.next_u64() % n.max(1)
}

fn share(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}
