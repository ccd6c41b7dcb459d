//! Round-trip times, and how long to wait before sending again (RFC 6298).

use assay_model::units::Nanos;

/// Before anything was measured (RFC 6298 §2.1).
const INITIAL: Nanos = Nanos::from_millis(1_000);
/// How late an answer may be at least where frames may be lost, as Linux has it (TCP_RTO_MIN): above most peers' delays of
/// acknowledgements. It is counted from the smoothed time (`__tcp_set_rto` of Linux), not in all as in RFC 6298 §2.4: where a busy
/// program takes 300 ms to hear us, that time is as steady as any, and is exceeded by some ms all the time.
const LATENESS: Nanos = Nanos::from_millis(200);
/// The same where none are lost: who is late there does not run.
const LATENESS_LOSSLESS: Nanos = Nanos::from_millis(1_000);
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
    /// More was measured than the handshake, in which the peer's program has no part.
    pub(super) has_tried: bool,
    /// How late an answer may be at least.
    lateness: Nanos,
    /// Timeouts that doubled the wait since the last measurement.
    pub(super) backoff: u8,
    /// Timeouts that do not double it.
    even: u8,
}

impl Timing {
    pub(super) fn new(is_lossless: bool) -> Self {
        let lateness = if is_lossless { LATENESS_LOSSLESS } else { LATENESS };
        let even = EVEN_REQUESTS;
        Self {
            smoothed: Nanos::ZERO,
            variation: Nanos::ZERO,
            least: Nanos::MAX,
            has_tried: false,
            lateness,
            backoff: 0,
            even,
        }
    }

    /// The timer has run out, for a request for a connection or for anything else.
    pub(super) fn back_off(&mut self, is_request: bool) {
        if is_request && self.even > 0 {
            self.even -= 1;
        } else {
            self.backoff = self.backoff.saturating_add(1);
        }
    }

    /// Takes a measurement (RFC 6298 §2.2, §2.3), before which waits stay as long as timeouts have made them (§5, note to 5.7).
    pub(super) fn measure(&mut self, time: Nanos) {
        self.backoff = 0;
        self.least = self.least.min(time);
        if self.smoothed == Nanos::ZERO {
            (self.smoothed, self.variation) = (time, Nanos(time.0 / 2));
            return;
        }
        self.has_tried = true;
        let difference = self.smoothed.0.abs_diff(time.0);
        self.variation = Nanos(self.variation.0 - self.variation.0 / 4 + difference / 4);
        self.smoothed = Nanos(self.smoothed.0 - self.smoothed.0 / 8 + time.0 / 8);
    }

    /// How long an answer takes at most, as far as times can tell: twice the smoothed one (RFC 8985 §7.2), or more where they vary.
    pub(super) fn long_round_trip(&self) -> Nanos {
        self.smoothed + self.smoothed.max(self.deviation())
    }

    fn deviation(&self) -> Nanos {
        Nanos(4 * self.variation.0)
    }

    /// RTO, doubled for each timeout since the last measurement (RFC 6298 §5.5).
    pub(super) fn timeout(&self) -> Nanos {
        let once = if self.smoothed == Nanos::ZERO {
            INITIAL
        } else {
            self.smoothed + self.deviation().max(self.lateness)
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
        assert_eq!(timing.timeout(), Nanos::from_millis(100) + LATENESS);
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
