//! How much may be under way (RFC 5681): slow start, congestion avoidance, halving. Where nothing is lost nothing is congested:
//! the window is then without bounds.

/// Segments of the initial window (RFC 6928 §2).
const INITIAL_SEGMENTS: u32 = 10;
/// Segments below which a loss does not push ssthresh (RFC 5681 §3.1).
const LEAST_SEGMENTS: u32 = 2;
/// No bound, with room for sums.
const UNBOUNDED: u32 = 1 << 30;

/// The congestion window in octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    /// cwnd (RFC 5681 §2).
    pub(super) cwnd: u32,
    /// ssthresh, the slow start threshold.
    ssthresh: u32,
    segment_bytes: u32,
    is_lossless: bool,
}

impl Congestion {
    pub(super) fn new(segment_bytes: u32, is_lossless: bool) -> Self {
        let cwnd = if is_lossless { UNBOUNDED } else { INITIAL_SEGMENTS * segment_bytes };
        Self { cwnd, ssthresh: UNBOUNDED, segment_bytes, is_lossless }
    }

    /// The peer's segment size has become known.
    pub(super) fn set_segment_bytes(&mut self, segment_bytes: u32) {
        *self = Self::new(segment_bytes, self.is_lossless);
    }

    /// New data was acknowledged outside of recovery, with `flight_size` octets before that. A window that is not used does not grow
    /// (RFC 7661 §4.3): twice what was used is enough to double it.
    pub(super) fn on_acknowledged(&mut self, octets: u32, flight_size: u32) {
        if self.is_lossless || flight_size.saturating_mul(2) < self.cwnd {
            return;
        }
        let growth = if self.cwnd < self.ssthresh {
            octets
        } else {
            (u64::from(self.segment_bytes) * u64::from(octets) / u64::from(self.cwnd)).max(1) as u32
        };
        self.cwnd = (self.cwnd + growth).min(UNBOUNDED);
    }

    /// A loss was noticed by acknowledgements: fast recovery goes on with half (RFC 5681 §3.2).
    pub(super) fn on_loss(&mut self, flight_size: u32) {
        self.halve(flight_size);
        self.cwnd = if self.is_lossless { UNBOUNDED } else { self.ssthresh };
    }

    /// A retransmission timer ran out, for the first time in a row or again (RFC 5681 §3.1).
    pub(super) fn on_timeout(&mut self, flight_size: u32, is_first: bool) {
        if is_first {
            self.halve(flight_size);
        }
        self.cwnd = if self.is_lossless { UNBOUNDED } else { self.segment_bytes };
    }

    /// Nothing was sent for longer than a retransmission timeout: what the network bears is no longer known (RFC 5681 §4.1).
    pub(super) fn on_idle(&mut self) {
        if !self.is_lossless {
            self.cwnd = self.cwnd.min(INITIAL_SEGMENTS * self.segment_bytes);
        }
    }

    fn halve(&mut self, flight_size: u32) {
        self.ssthresh = (flight_size / 2).max(LEAST_SEGMENTS * self.segment_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_in_a_round_trip_until_a_loss_and_then_grows_by_a_segment() {
        let mut congestion = Congestion::new(1000, false);
        for window in [10_000, 20_000, 40_000] {
            assert_eq!(congestion.cwnd, window);
            (0..window / 1000).for_each(|_| congestion.on_acknowledged(1000, window));
        }
        congestion.on_loss(80_000);
        assert_eq!(congestion.cwnd, 40_000);
        (0..40).for_each(|_| congestion.on_acknowledged(1000, 40_000));
        assert!((40_900..=41_000).contains(&congestion.cwnd), "{}", congestion.cwnd);
        congestion.on_timeout(40_000, true);
        congestion.on_timeout(1_000, false);
        assert_eq!((congestion.cwnd, congestion.ssthresh), (1_000, 20_000));
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut congestion = Congestion::new(1000, false);
        congestion.on_acknowledged(1000, 1000);
        assert_eq!(congestion.cwnd, 10_000);
    }

    #[test]
    fn knows_no_bounds_where_nothing_is_lost() {
        let mut congestion = Congestion::new(1000, true);
        congestion.on_timeout(1000, true);
        congestion.on_loss(1000);
        assert_eq!(congestion.cwnd, UNBOUNDED);
    }
}
