//! The order in which slots are connected: a bounded number at once, and the later the more often it failed.

use std::collections::VecDeque;

use assay_model::units::Nanos;

/// Connects in flight at most, per thread: well below the listen backlog that servers commonly have (511 and up), so that
/// the ramp itself does not overflow it.
pub(crate) const MAX_CONNECTING: usize = 128;

/// The first pause after a failure; it doubles with every further one.
const FIRST_PAUSE: Nanos = Nanos::from_millis(1);

/// The longest pause between two attempts of one slot.
const LONGEST_PAUSE: Nanos = Nanos::from_millis(1000);

/// The queue of slots that want to be connected now.
pub(crate) struct Dialler {
    waiting: VecDeque<u32>,
    connecting: usize,
    /// Slots that have not yet been tried.
    untried: usize,
}

impl Dialler {
    /// A dialler for `slots` slots, all of which want to be connected.
    pub(crate) fn new(slots: usize) -> Self {
        Self { waiting: (0..slots as u32).collect(), connecting: 0, untried: slots }
    }

    /// Lets `slots` slots without a connection be tried once more.
    pub(crate) fn try_again(&mut self, slots: usize) {
        self.untried = slots;
    }

    /// The slot wants to be connected.
    pub(crate) fn want(&mut self, index: u32) {
        self.waiting.push_back(index);
    }

    /// The next slot to connect, if another may be.
    pub(crate) fn begin(&mut self) -> Option<u32> {
        let index = if self.connecting < MAX_CONNECTING { self.waiting.pop_front() } else { None }?;
        self.connecting += 1;
        Some(index)
    }

    /// An attempt ended, whichever way.
    pub(crate) fn finish(&mut self) {
        self.connecting -= 1;
        self.untried = self.untried.saturating_sub(1);
    }

    /// Whether each slot was tried once, since the beginning or the last [`Self::try_again`].
    pub(crate) fn has_tried_all(&self) -> bool {
        self.untried == 0
    }
}

/// How long a slot rests after so many failures in a row.
pub(crate) fn pause(failures: u8) -> Nanos {
    match failures {
        0 => Nanos::ZERO,
        n => Nanos(FIRST_PAUSE.0 << (n - 1).min(16)).min(LONGEST_PAUSE),
    }
}

/// Timeouts for a connection that the ramp may take altogether.
const RAMP_TIMEOUTS: u64 = 12;

/// Watches the ramp: a server that has stopped accepting must not keep the load from beginning with what there is.
pub(crate) struct Ramp {
    timeout: Nanos,
    began: Nanos,
    progressed: Nanos,
    made: u64,
}

impl Ramp {
    pub(crate) fn new(timeout: Nanos, now: Nanos) -> Self {
        Self { timeout, began: now, progressed: now, made: 0 }
    }

    /// Whether to wait no longer, `made` connections having been made by `now`: none for the time that one may take, or not
    /// all of them in twelve times as much.
    pub(crate) fn is_stuck(&mut self, made: u64, now: Nanos) -> bool {
        if made > self.made {
            (self.made, self.progressed) = (made, now);
        }
        now - self.progressed > self.timeout
            || now - self.began > Nanos(self.timeout.0.saturating_mul(RAMP_TIMEOUTS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_waits_while_connections_are_made_but_not_for_ever() {
        let second = |n: u64| Nanos::from_millis(1000 * n);
        let mut ramp = Ramp::new(second(5), second(0));
        assert!(!ramp.is_stuck(0, second(5)) && ramp.is_stuck(0, second(6)));
        let mut ramp = Ramp::new(second(5), second(0));
        assert!((1..=15).all(|n| !ramp.is_stuck(n, second(4 * n))));
        assert!(ramp.is_stuck(16, second(61)));
    }

    #[test]
    fn connects_in_flight_are_bounded() {
        let mut dialler = Dialler::new(MAX_CONNECTING + 2);
        assert_eq!((0..).map_while(|_| dialler.begin()).count(), MAX_CONNECTING);
        dialler.finish();
        assert_eq!((dialler.begin(), dialler.begin()), (Some(MAX_CONNECTING as u32), None));
        (0..MAX_CONNECTING).for_each(|_| dialler.finish());
        assert!(!dialler.has_tried_all());
        assert_eq!(dialler.begin(), Some(MAX_CONNECTING as u32 + 1));
        dialler.finish();
        assert!(dialler.has_tried_all());
    }

    #[test]
    fn pauses_double_up_to_a_second() {
        assert_eq!([0, 1, 2, 5].map(|n| pause(n).0 / 1_000_000), [0, 1, 2, 16]);
        assert_eq!([11, 12, 200, 255].map(|n| pause(n).0 / 1_000_000), [1000; 4]);
    }
}
