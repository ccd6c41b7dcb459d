//! How many frames the kernel is given for what arrives: as many as may come before we look again, and not many more, because it
//! uses them in turn. A few that are used again and again stay in the processors' caches: with builds that always gave 1,024 frames or
//! 8,192, fifty connections over a veth pair had a median service time of 49 µs or 56 (three runs of each, in turns, of
//! `assay run nginx -w hello -s user --link veth -c 50 --rounds 1`, the row of assay's own server).

use super::socket::ARRIVING;

/// Fewest frames: what comes in a millisecond from the fastest peer that was seen, 700,000 frames a second, and half of that again.
const LEAST: u32 = 1024;
/// The depth is at least so many times what has been seen to wait.
const RESERVE: u32 = 16;
/// Frames that arrive before less is given.
const PERIOD: u32 = 1 << 16;

/// A depth that falls by halves while little waits, and is at its greatest at once when much does.
#[derive(Debug)]
pub(super) struct Depth {
    frames: u32,
    /// Most frames that waited in this period.
    deepest: u32,
    /// Frames that came in this period.
    came: u32,
}

impl Default for Depth {
    fn default() -> Self {
        Self { frames: ARRIVING, deepest: 0, came: 0 }
    }
}

impl Depth {
    /// Frames that the kernel is to have.
    pub(super) fn frames(&self) -> u32 {
        self.frames
    }

    /// Takes note that `waiting` frames wait, all of which came since the last time.
    pub(super) fn notice(&mut self, waiting: u32) {
        self.deepest = self.deepest.max(waiting);
        self.came += waiting;
        if waiting > self.frames / (RESERVE / 2) {
            self.frames = ARRIVING;
        }
        if self.came >= PERIOD {
            let is_ample = self.deepest <= self.frames / 2 / RESERVE;
            let frames = if is_ample { (self.frames / 2).max(LEAST) } else { self.frames };
            *self = Self { frames, deepest: 0, came: 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(depth: &mut Depth, waiting: u32, times: u32) -> u32 {
        (0..times).for_each(|_| depth.notice(waiting));
        depth.frames()
    }

    #[test]
    fn falls_while_little_waits_and_rises_at_once() {
        let mut depth = Depth::default();
        assert_eq!(after(&mut depth, 32, PERIOD / 32 - 1), ARRIVING);
        assert_eq!(after(&mut depth, 32, 1), ARRIVING / 2);
        assert_eq!(after(&mut depth, 32, PERIOD), LEAST);
        assert_eq!(after(&mut depth, LEAST / 8, 1), LEAST);
        assert_eq!(after(&mut depth, LEAST / 8 + 1, 1), ARRIVING);
    }

    #[test]
    fn keeps_a_reserve_above_what_waits() {
        for waiting in [1, 40, 100, 300, 5000] {
            let frames = after(&mut Depth::default(), waiting, 100 * PERIOD / waiting);
            assert!(frames >= (RESERVE * waiting).min(ARRIVING), "{waiting}: {frames}");
        }
    }
}
