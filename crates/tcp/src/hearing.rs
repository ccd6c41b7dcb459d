//! Until when all that the wire brought has been heard. A program that was away for longer than a timer of TCP's finds the
//! acknowledgement in the wire that the timer waits for, perhaps behind many other frames.

use assay_model::units::Nanos;

/// What is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hearing {
    heard: Nanos,
    /// A wire that is never empty holds a certain number of frames at most: when so many have been taken in, all have that came
    /// before it began to count.
    began: Nanos,
    taken: usize,
    depth: usize,
}

impl Hearing {
    /// Of a wire in which so many frames wait at most.
    pub(crate) fn new(depth: usize, now: Nanos) -> Self {
        Self { heard: now, began: now, taken: 0, depth }
    }

    /// All that came until then has been taken in.
    pub(crate) fn heard(&self) -> Nanos {
        self.heard
    }

    /// So many frames were taken in by a turn that began at `now`; none when the wire was empty.
    pub(crate) fn take(&mut self, frames: usize, now: Nanos) {
        self.taken += frames;
        if frames == 0 {
            self.heard = now;
        } else if self.taken >= self.depth {
            self.heard = self.began;
        } else {
            return;
        }
        (self.began, self.taken) = (now, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_that_is_never_empty_is_heard_by_its_frames() {
        let at = Nanos::from_millis;
        let mut hearing = Hearing::new(100, at(0));
        hearing.take(0, at(10));
        assert_eq!(hearing.heard(), at(10));
        for (turn, heard) in [(11, 10), (12, 10), (13, 10), (14, 10), (15, 14), (16, 15)] {
            hearing.take(if turn < 14 { 30 } else { 100 }, at(turn));
            assert_eq!(hearing.heard(), at(heard), "after the turn at {turn} ms");
        }
    }
}
