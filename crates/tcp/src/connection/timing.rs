//! Round-trip times, and how long to wait before sending again (RFC 6298).

use assay_model::units::Nanos;

/// Before anything was measured (RFC 6298 §2.1).
const INITIAL: Nanos = Nanos::from_millis(1_000);
/// Shortest wait where frames may be lost, as Linux has it (TCP_RTO_MIN): above most peers' delays of acknowledgements.
const SHORTEST: Nanos = Nanos::from_millis(200);
/// Shortest wait where none are (RFC 6298 §2.4): what is late there was not lost, its receiver does not run.
const SHORTEST_LOSSLESS: Nanos = Nanos::from_millis(1_000);
/// Longest wait (TCP_RTO_MAX of Linux; RFC 6298 §2.5 asks for 60 s at least).
const LONGEST: Nanos = Nanos::from_millis(120_000);

/// Requests for a connection that are sent again at even intervals before each wait doubles the last (tcp_syn_linear_timeouts of
/// Linux, since 6.5): whoever connects waits for that, and four more small segments harm nobody.
const EVEN_REQUESTS: u8 = 4;

/// What is known of the round-trip time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// SRTT; zero before the first measurement.
    pub(super) smoothed: Nanos,
    variation: Nanos,
    /// The shortest that was measured.
    pub(super) least: Nanos,
    shortest: Nanos,
    /// Timeouts in a row that doubled the wait.
    pub(super) backoff: u8,
    /// Timeouts that do not double it.
    even: u8,
}

impl Timing {
    pub(super) fn new(is_lossless: bool) -> Self {
        let shortest = if is_lossless { SHORTEST_LOSSLESS } else { SHORTEST };
        let even = EVEN_REQUESTS;
        Self { smoothed: Nanos::ZERO, variation: Nanos::ZERO, least: Nanos::MAX, shortest, backoff: 0, even }
    }

    /// The timer has run out, for a request for a connection or for anything else.
    pub(super) fn back_off(&mut self, is_request: bool) {
        if is_request && self.even > 0 {
            self.even -= 1;
        } else {
            self.backoff = self.backoff.saturating_add(1);
        }
    }

    /// Takes a measurement (RFC 6298 §2.2, §2.3).
    pub(super) fn measure(&mut self, time: Nanos) {
        self.least = self.least.min(time);
        if self.smoothed == Nanos::ZERO {
            (self.smoothed, self.variation) = (time, Nanos(time.0 / 2));
            return;
        }
        let difference = self.smoothed.0.abs_diff(time.0);
        self.variation = Nanos(self.variation.0 - self.variation.0 / 4 + difference / 4);
        self.smoothed = Nanos(self.smoothed.0 - self.smoothed.0 / 8 + time.0 / 8);
    }

    /// RTO, doubled for each timeout in a row (RFC 6298 §5.5).
    pub(super) fn timeout(&self) -> Nanos {
        let once = if self.smoothed == Nanos::ZERO {
            INITIAL
        } else {
            (self.smoothed + Nanos(4 * self.variation.0)).max(self.shortest)
        };
        if self.backoff == 0 { once } else { Nanos(once.0 << self.backoff.min(10)).min(LONGEST) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_longer_than_the_round_trip_and_its_variation() {
        let mut timing = Timing::new(false);
        assert_eq!(timing.timeout(), INITIAL);
        timing.measure(Nanos::from_millis(100));
        assert_eq!(timing.timeout(), Nanos::from_millis(300));
        (0..100).for_each(|_| timing.measure(Nanos::from_millis(100)));
        assert_eq!(timing.timeout(), SHORTEST);
        (0..20).for_each(|n| timing.measure(Nanos::from_millis(100 + n % 2 * 800)));
        assert!(timing.timeout() > Nanos::from_millis(900), "{:?}", timing.timeout());
        assert_eq!(timing.least, Nanos::from_millis(100));
    }

    #[test]
    fn requests_for_a_connection_go_out_evenly_at_first() {
        let mut timing = Timing::new(true);
        let waits = std::iter::repeat_with(|| {
            let wait = timing.timeout().0 / 1_000_000_000;
            timing.back_off(true);
            wait
        });
        assert_eq!(waits.take(8).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 2, 4, 8]);
        let mut timing = Timing::new(true);
        timing.back_off(false);
        assert_eq!(timing.timeout(), Nanos::from_millis(2_000));
    }

    #[test]
    fn doubles_up_to_two_minutes() {
        let waits = |n| Timing { backoff: n, ..Timing::new(false) }.timeout().0 / 1_000_000;
        assert_eq!([0, 1, 3, 6, 7, 255].map(waits), [1_000, 2_000, 8_000, 64_000, 120_000, 120_000]);
    }
}
