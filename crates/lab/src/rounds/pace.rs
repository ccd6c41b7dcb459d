//! How long the rotations over a cell go on, and what is added where the machine was slow (docs/method/carousel.md#slow-phases).

use std::time::{Duration, Instant};

use crate::schedule::MIN_ROTATIONS;

/// One part of so many of the time for later rounds may be taken to wait for the end of slow phases in this one.
const PARTS_OF_LATER_ROUNDS: u32 = 4;

/// When a cell has had its rotations: after so many, or when another one would end later than that, by the clock that stands still in
/// pauses ([`crate::stop::Stop::time`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    pub(super) most: u32,
    pub(super) until: Option<Instant>,
    /// The time until which rotations are had again that fell into slow phases of the machine.
    latest: Option<Instant>,
}

/// The rotations of a cell so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Had {
    /// All of them.
    all: u32,
    /// Those in which the machine was not slow.
    counting: u32,
    /// What the longest took.
    longest: Duration,
    /// What those took in which the machine was slow.
    slow: Duration,
}

impl Pace {
    /// So many rotations, and no clock.
    pub(super) fn of(most: u32) -> Self {
        Self { most, until: None, latest: None }
    }

    /// Rotations until then, or a little later if the machine is slow; later rounds end at the `end`.
    pub(super) fn by_the_clock(most: u32, until: Instant, end: Instant) -> Self {
        let borrowed = end.saturating_duration_since(until) / PARTS_OF_LATER_ROUNDS;
        Self { most, until: Some(until), latest: Some(until + borrowed) }
    }

    /// No more rotations than so many.
    pub(super) fn with_most(self, most: u32) -> Self {
        Self { most, ..self }
    }

    /// A share of what is left of it `now`, but the least number of rotations at least.
    pub(super) fn part(self, share: f64, now: Instant) -> Self {
        // `as` saturates, and the value is a whole number in range.
        let most = (f64::from(self.most) * share).round() as u32;
        self.share_of_time(share, now, Duration::ZERO).with_most(most.max(MIN_ROTATIONS.min(self.most)))
    }

    /// A share of the time that is left `now`, when `after` is needed at the end.
    pub(super) fn share_of_time(self, share: f64, now: Instant, after: Duration) -> Self {
        let part =
            |end: Instant| now + end.saturating_duration_since(now).saturating_sub(after).mul_f64(share);
        Self { until: self.until.map(part), latest: self.latest.map(part), ..self }
    }

    /// Whether another rotation may begin `now`. What slow phases took is given again, as long as there is time.
    pub(super) fn allows(self, had: Had, now: Instant) -> bool {
        let Some(until) = self.until else { return had.all < self.most };
        let again = (until + had.slow).min(self.latest.unwrap_or(until));
        let is_in_time = now + had.longest <= until.max(again);
        had.counting < self.most && (had.all < MIN_ROTATIONS || is_in_time)
    }
}

impl Had {
    /// Rotations of these lengths; `slow` tells of each whether the machine was slow, and of those that it does not know it was not.
    pub(super) fn of(lengths: &[Duration], slow: &[bool]) -> Self {
        let was_slow = || lengths.iter().zip(slow).filter(|(_, is_slow)| **is_slow);
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            all: number(lengths.len()),
            counting: number(lengths.len() - was_slow().count()),
            longest: lengths.iter().max().copied().unwrap_or_default(),
            slow: was_slow().map(|(length, _)| *length).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Rotations of a second each that are had until `pace` ends them, of which `is_slow` tells which the machine was slow in.
    fn had(pace: Pace, began: Instant, is_slow: impl Fn(usize) -> bool) -> usize {
        let (mut lengths, mut slow) = (Vec::new(), Vec::new());
        while pace.allows(Had::of(&lengths, &slow), began + SECOND * lengths.len() as u32) {
            slow.push(is_slow(lengths.len()));
            lengths.push(SECOND);
        }
        lengths.len()
    }

    #[test]
    fn rotations_end_with_their_time_or_their_number_and_there_are_three_at_least() {
        let now = Instant::now();
        let by_the_clock = |until: u32| Pace::by_the_clock(100, now + SECOND * until, now + SECOND * 100);
        assert_eq!(had(by_the_clock(6), now, |_| false), 6);
        assert_eq!(had(by_the_clock(0), now, |_| false), 3);
        assert_eq!(had(by_the_clock(6).with_most(4), now, |_| false), 4);
        assert_eq!(had(Pace::of(5), now, |_| true), 5, "as many as were asked for");
    }

    #[test]
    fn slow_rotations_are_had_again_within_a_part_of_the_time_for_later_rounds() {
        let now = Instant::now();
        let pace = |end: u32| Pace::by_the_clock(100, now + SECOND * 6, now + SECOND * end);
        assert_eq!(had(pace(100), now, |number| number < 2), 8);
        assert_eq!(had(pace(100), now, |number| number == 6), 6, "what comes after the time is no loss");
        assert_eq!(had(pace(14), now, |_| true), 8, "a fourth of eight seconds");
        assert_eq!(had(pace(6), now, |_| true), 6, "the last round");
        let half = pace(14).share_of_time(0.5, now, SECOND * 2);
        assert_eq!(
            had(half, now, |_| true),
            3,
            "half of six seconds, less the two that are needed afterwards"
        );
    }
}
