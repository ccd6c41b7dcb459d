//! How much may be under way (RFC 5681): slow start, congestion avoidance, halving. Where nothing is lost nothing is congested:
//! the window is then without bounds.

/// Segments of the initial window (RFC 6928 §2).
const INITIAL_SEGMENTS: u32 = 10;
/// Segments below which a loss does not push the threshold (RFC 5681 §3.1).
const LEAST_SEGMENTS: u32 = 2;
/// No bound, with room for sums.
const UNBOUNDED: u32 = 1 << 30;

/// The congestion window in octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    /// cwnd.
    pub(super) window: u32,
    threshold: u32,
    segment_bytes: u32,
    is_lossless: bool,
}

impl Congestion {
    pub(super) fn new(segment_bytes: u32, is_lossless: bool) -> Self {
        let window = if is_lossless { UNBOUNDED } else { INITIAL_SEGMENTS * segment_bytes };
        Self { window, threshold: UNBOUNDED, segment_bytes, is_lossless }
    }

    /// The peer's segment size has become known.
    pub(super) fn set_segment_bytes(&mut self, segment_bytes: u32) {
        *self = Self::new(segment_bytes, self.is_lossless);
    }

    /// New data was acknowledged outside of recovery, with `under_way` octets before that. A window that is not used does not grow
    /// (RFC 7661 §4.3): twice what was used is enough to double it.
    pub(super) fn on_acknowledged(&mut self, octets: u32, under_way: u32) {
        if self.is_lossless || under_way.saturating_mul(2) < self.window {
            return;
        }
        let growth = if self.window < self.threshold {
            octets
        } else {
            (u64::from(self.segment_bytes) * u64::from(octets) / u64::from(self.window)).max(1) as u32
        };
        self.window = (self.window + growth).min(UNBOUNDED);
    }

    /// A loss was noticed by acknowledgements: fast recovery goes on with half (RFC 5681 §3.2).
    pub(super) fn on_loss(&mut self, under_way: u32) {
        self.halve(under_way);
        self.window = if self.is_lossless { UNBOUNDED } else { self.threshold };
    }

    /// A retransmission timer ran out, for the first time in a row or again (RFC 5681 §3.1).
    pub(super) fn on_timeout(&mut self, under_way: u32, is_first: bool) {
        if is_first {
            self.halve(under_way);
        }
        self.window = if self.is_lossless { UNBOUNDED } else { self.segment_bytes };
    }

    /// Nothing was sent for longer than a retransmission timeout: what the network bears is no longer known (RFC 5681 §4.1).
    pub(super) fn on_idle(&mut self) {
        if !self.is_lossless {
            self.window = self.window.min(INITIAL_SEGMENTS * self.segment_bytes);
        }
    }

    fn halve(&mut self, under_way: u32) {
        self.threshold = (under_way / 2).max(LEAST_SEGMENTS * self.segment_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_in_a_round_trip_until_a_loss_and_then_grows_by_a_segment() {
        let mut congestion = Congestion::new(1000, false);
        for window in [10_000, 20_000, 40_000] {
            assert_eq!(congestion.window, window);
            (0..window / 1000).for_each(|_| congestion.on_acknowledged(1000, window));
        }
        congestion.on_loss(80_000);
        assert_eq!(congestion.window, 40_000);
        (0..40).for_each(|_| congestion.on_acknowledged(1000, 40_000));
        assert!((40_900..=41_000).contains(&congestion.window), "{}", congestion.window);
        congestion.on_timeout(40_000, true);
        congestion.on_timeout(1_000, false);
        assert_eq!((congestion.window, congestion.threshold), (1_000, 20_000));
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut congestion = Congestion::new(1000, false);
        congestion.on_acknowledged(1000, 1000);
        assert_eq!(congestion.window, 10_000);
    }

    #[test]
    fn knows_no_bounds_where_nothing_is_lost() {
        let mut congestion = Congestion::new(1000, true);
        congestion.on_timeout(1000, true);
        congestion.on_loss(1000);
        assert_eq!(congestion.window, UNBOUNDED);
    }
}
