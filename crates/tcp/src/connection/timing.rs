//! Round-trip times, and how long to wait before sending again (RFC 6298).

use assay_model::units::Nanos;

/// Before anything was measured (RFC 6298 §2.1).
const INITIAL_RTO: Nanos = Nanos::from_millis(1_000);
/// The least that the RTO has beyond SRTT where frames may be lost, as Linux has it (TCP_RTO_MIN): above most peers' delays of
/// acknowledgements. It is counted from the smoothed time (`__tcp_set_rto` of Linux), not in all as in RFC 6298 §2.4: where a busy
/// program takes 300 ms to hear us, that time is as steady as any, and is exceeded by some ms all the time.
const RTO_MIN: Nanos = Nanos::from_millis(200);
/// The least that the RTO has beyond SRTT where no frames are lost: who is late there does not run.
const RTO_MIN_LOSSLESS: Nanos = Nanos::from_millis(1_000);
/// Longest wait (TCP_RTO_MAX of Linux; RFC 6298 §2.5 asks for 60 s at least).
const RTO_MAX: Nanos = Nanos::from_millis(120_000);

/// Requests for a connection that are sent again at even intervals before each wait doubles the last (tcp_syn_linear_timeouts of
/// Linux, since 6.5): whoever connects waits for that, and four more small segments harm nobody.
const SYN_LINEAR_TIMEOUTS: u8 = 4;

/// What is known of the round-trip time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// SRTT, the smoothed round-trip time; zero before the first measurement.
    pub(super) srtt: Nanos,
    /// RTTVAR, the variation of round-trip times.
    rttvar: Nanos,
    /// min_RTT: the shortest that was measured.
    pub(super) min_rtt: Nanos,
    /// A round trip of data was measured, beyond the handshake, in which the peer's program has no part.
    pub(super) has_data_sample: bool,
    /// The least that the RTO has beyond SRTT.
    rto_min: Nanos,
    /// Timeouts that doubled the wait since the last measurement.
    pub(super) backoff: u8,
    /// Timeouts of a SYN that do not double it.
    linear_syns: u8,
}

impl Timing {
    pub(super) fn new(is_lossless: bool) -> Self {
        let rto_min = if is_lossless { RTO_MIN_LOSSLESS } else { RTO_MIN };
        Self {
            srtt: Nanos::ZERO,
            rttvar: Nanos::ZERO,
            min_rtt: Nanos::MAX,
            has_data_sample: false,
            rto_min,
            backoff: 0,
            linear_syns: SYN_LINEAR_TIMEOUTS,
        }
    }

    /// The timer has run out, for a request for a connection or for anything else.
    pub(super) fn back_off(&mut self, is_request: bool) {
        if is_request && self.linear_syns > 0 {
            self.linear_syns -= 1;
        } else {
            self.backoff = self.backoff.saturating_add(1);
        }
    }

    /// Takes a measurement (RFC 6298 §2.2, §2.3), before which waits stay as long as timeouts have made them (§5, note to 5.7).
    pub(super) fn measure(&mut self, time: Nanos) {
        self.backoff = 0;
        self.min_rtt = self.min_rtt.min(time);
        if self.srtt == Nanos::ZERO {
            (self.srtt, self.rttvar) = (time, Nanos(time.0 / 2));
            return;
        }
        self.has_data_sample = true;
        let difference = self.srtt.0.abs_diff(time.0);
        self.rttvar = Nanos(self.rttvar.0 - self.rttvar.0 / 4 + difference / 4);
        self.srtt = Nanos(self.srtt.0 - self.srtt.0 / 8 + time.0 / 8);
    }

    /// How long an answer takes at most, as far as times can tell: SRTT + max(SRTT, 4 · RTTVAR) (2 · SRTT in RFC 8985 §7.2).
    pub(super) fn long_round_trip(&self) -> Nanos {
        self.srtt + self.srtt.max(self.rttvar_term())
    }

    /// K · RTTVAR with K = 4 (RFC 6298 §2.3).
    fn rttvar_term(&self) -> Nanos {
        Nanos(4 * self.rttvar.0)
    }

    /// RTO = SRTT + max(4 · RTTVAR, rto_min), doubled for each timeout since the last measurement (RFC 6298 §2.3, §5.5).
    pub(super) fn rto(&self) -> Nanos {
        let once = if self.srtt == Nanos::ZERO {
            INITIAL_RTO
        } else {
            self.srtt + self.rttvar_term().max(self.rto_min)
        };
        if self.backoff == 0 { once } else { Nanos(once.0 << self.backoff.min(10)).min(RTO_MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_longer_than_the_round_trip_and_its_variation() {
        let mut timing = Timing::new(false);
        assert_eq!(timing.rto(), INITIAL_RTO);
        timing.measure(Nanos::from_millis(100));
        assert_eq!(timing.rto(), Nanos::from_millis(300));
        (0..100).for_each(|_| timing.measure(Nanos::from_millis(100)));
        assert_eq!(timing.rto(), Nanos::from_millis(100) + RTO_MIN);
        (0..20).for_each(|n| timing.measure(Nanos::from_millis(100 + n % 2 * 800)));
        assert!(timing.rto() > Nanos::from_millis(900), "{:?}", timing.rto());
        assert_eq!(timing.min_rtt, Nanos::from_millis(100));
    }

    #[test]
    fn requests_for_a_connection_go_out_evenly_at_first() {
        let mut timing = Timing::new(true);
        let waits = std::iter::repeat_with(|| {
            let wait = timing.rto().0 / 1_000_000_000;
            timing.back_off(true);
            wait
        });
        assert_eq!(waits.take(8).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 2, 4, 8]);
        let mut timing = Timing::new(true);
        timing.back_off(false);
        assert_eq!(timing.rto(), Nanos::from_millis(2_000));
    }

    #[test]
    fn doubles_up_to_two_minutes() {
        let waits = |n| Timing { backoff: n, ..Timing::new(false) }.rto().0 / 1_000_000;
        assert_eq!([0, 1, 3, 6, 7, 255].map(waits), [1_000, 2_000, 8_000, 64_000, 120_000, 120_000]);
    }
}
