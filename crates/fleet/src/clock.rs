//! How two monotonic clocks stand to each other, from questions for the time (docs/method/fleet.md#one-start-on-many-clocks).
//!
//! A leader that asks at `sent` and hears `theirs` at `received` knows that the other clock was read in between. Taken for the middle, it is wrong
//! by half of the round trip at most, however unlike the two ways are (Cristian 1989). So of many questions the one with the
//! shortest round trip is believed, and its half is the error.

use assay_model::fleet::ClockOffset;
use assay_model::units::Nanos;

/// Questions from which an offset is taken: with so many, one at least meets nobody on its way.
pub const ROUND_TRIPS: u32 = 50;

/// A question for the time and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// When it was asked, by our clock.
    pub sent: Nanos,
    /// What the other clock showed.
    pub theirs: Nanos,
    /// When the answer was here, by our clock.
    pub received: Nanos,
}

impl RoundTrip {
    /// How long the answer took.
    pub fn length(&self) -> Nanos {
        self.received - self.sent
    }
}

/// The offset of their clock from ours; `None` without any answer.
pub fn offset(round_trips: &[RoundTrip]) -> Option<ClockOffset> {
    let shortest = round_trips.iter().min_by_key(|round_trip| round_trip.length())?;
    let middle = shortest.sent + Nanos(shortest.length().0 / 2);
    Some(ClockOffset {
        offset_ns: difference(shortest.theirs, middle),
        error_ns: Nanos(shortest.length().0.div_ceil(2)),
        round_trips: u32::try_from(round_trips.len()).unwrap_or(u32::MAX),
    })
}

/// What their clock shows when ours shows `ours`.
pub fn theirs(clock: &ClockOffset, ours: Nanos) -> Nanos {
    Nanos(ours.0.saturating_add_signed(clock.offset_ns))
}

/// What our clock shows when theirs shows `theirs`.
pub fn ours(clock: &ClockOffset, theirs: Nanos) -> Nanos {
    Nanos(theirs.0.saturating_add_signed(clock.offset_ns.saturating_neg()))
}

/// How much later `one` is than `other`; negative where it is earlier.
pub fn difference(one: Nanos, other: Nanos) -> i64 {
    let clipped = |span: Nanos| i64::try_from(span.0).unwrap_or(i64::MAX);
    clipped(one - other) - clipped(other - one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any offset is tried, with ways there and back as unlike as they may be.
        #[test]
        fn the_offset_is_known_to_half_of_the_shortest_round_trip(
            truth in -20_000_000_000i64..20_000_000_000,
            ways in prop::collection::vec((1u64..5_000_000, 1u64..5_000_000), 1..60),
        ) {
            let mut now = Nanos(30_000_000_000);
            let round_trips: Vec<RoundTrip> = ways.iter().map(|&(there, back)| {
                let sent = now;
                let theirs = Nanos((sent + Nanos(there)).0.saturating_add_signed(truth));
                now = sent + Nanos(there) + Nanos(back);
                RoundTrip { sent, theirs, received: now }
            }).collect();
            let found = offset(&round_trips).expect("an offset");
            let shortest = ways.iter().map(|(there, back)| there + back).min().expect("one");
            prop_assert!(found.error_ns.0 <= shortest.div_ceil(2));
            prop_assert!(found.offset_ns.abs_diff(truth) <= found.error_ns.0);
            prop_assert_eq!(ours(&found, theirs(&found, now)), now);
        }
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(offset(&[]), None);
        assert_eq!(difference(Nanos::ZERO, Nanos::MAX), -i64::MAX);
        let far = ClockOffset { offset_ns: i64::MIN, ..ClockOffset::default() };
        assert_eq!((theirs(&far, Nanos(5)), ours(&far, Nanos::MAX)), (Nanos::ZERO, Nanos::MAX));
    }
}
