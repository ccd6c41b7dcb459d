//! The rx watermark: the time up to which every frame that the wire brought has been processed. A program that was away for
//! longer than a timer of TCP's finds the acknowledgement that the timer waits for in the wire, perhaps behind many other frames;
//! so a timer counts as run out only when the watermark has passed it.

use assay_model::units::Nanos;

/// Up to when received frames have been processed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RxWatermark {
    at: Nanos,
    /// A wire that is never empty holds at most `depth` frames: once so many were processed, so was all that came before counting
    /// began.
    began: Nanos,
    processed: usize,
    depth: usize,
}

impl RxWatermark {
    /// For a wire in which at most `depth` frames wait.
    pub(crate) fn new(depth: usize, now: Nanos) -> Self {
        Self { at: now, began: now, processed: 0, depth }
    }

    /// All that came until then has been processed.
    pub(crate) fn at(&self) -> Nanos {
        self.at
    }

    /// Counts the frames that a turn processed which began at `now`; none when the wire was empty.
    pub(crate) fn advance(&mut self, frames: usize, now: Nanos) {
        self.processed += frames;
        if frames == 0 {
            self.at = now;
        } else if self.processed >= self.depth {
            self.at = self.began;
        } else {
            return;
        }
        (self.began, self.processed) = (now, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_wire_that_is_never_empty_frames_advance_the_watermark() {
        let at = Nanos::from_millis;
        let mut watermark = RxWatermark::new(100, at(0));
        watermark.advance(0, at(10));
        assert_eq!(watermark.at(), at(10));
        for (turn, reached) in [(11, 10), (12, 10), (13, 10), (14, 10), (15, 14), (16, 15)] {
            watermark.advance(if turn < 14 { 30 } else { 100 }, at(turn));
            assert_eq!(watermark.at(), at(reached), "after the turn at {turn} ms");
        }
    }
}
