//! A decorator that spoils what arrives: loses, doubles, overtakes and delays frames, the same ones for the same seed.
//!
//! Each end spoils what it receives. Tell both of the same faults, so that both know that the wire is not lossless.
//! Frames are never changed: on a wire that is trusted nobody would notice.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use assay_model::units::Nanos;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use rustix::time::{ClockId, clock_gettime};

use crate::parts::{Assembled, Base, Incoming, Outgoing};
use crate::{Facts, Rate, Receiver, Statistics};

/// How long a frame is kept back for others to overtake it.
pub const OVERTAKING: Nanos = Nanos::from_millis(1);
/// Most frames kept back; with that many, no further ones are taken from the wire.
pub const KEPT_FRAMES: usize = 65_536;

/// What is to go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Frames that vanish.
    pub loss: Rate,
    /// Frames that arrive twice.
    pub duplicate: Rate,
    /// Frames that are overtaken by those which follow within [`OVERTAKING`].
    pub reorder: Rate,
    /// How much later every frame arrives.
    pub delay: Nanos,
    /// What decides which frames.
    pub seed: u64,
}

impl Faults {
    /// Whether a sender will send again: what was lost, or what seems to be, as acknowledgements that repeat each other look
    /// like a loss (RFC 5681 §3.2).
    fn cause_retransmissions(&self) -> bool {
        self.loss.max(self.duplicate).max(self.reorder) > Rate::ZERO
    }

    /// Whether all is to go well.
    pub fn is_none(&self) -> bool {
        *self == Self { seed: self.seed, ..Self::default() }
    }
}

/// A wire that may spoil what arrives.
pub type Faulty<B, R, S> = Assembled<FaultyBase<B>, FaultyReceiver<R>, S>;

/// Puts the decorator around a wire. `stream` tells apart wires with the same seed: other frames are spoilt.
pub fn around<B, R, S>(wire: Assembled<B, R, S>, faults: Faults, stream: u64) -> Faulty<B, R, S> {
    let mut random = ChaCha8Rng::seed_from_u64(faults.seed);
    random.set_stream(stream);
    Assembled {
        receiver: FaultyReceiver {
            inner: wire.receiver,
            faults,
            random,
            kept: VecDeque::new(),
            shown: Shown::Nothing,
            lost: 0,
            clock: monotonic,
        },
        sender: wire.sender,
        base: FaultyBase { inner: wire.base, has_retransmissions: faults.cause_retransmissions() },
    }
}

fn monotonic() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos::from_reading(time.tv_sec, time.tv_nsec)
}

/// A frame that arrives later than it came.
#[derive(Debug)]
struct Kept {
    due: Nanos,
    frame: Vec<u8>,
}

/// Where the frame is that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Nothing,
    /// In the wire.
    Inner,
    /// The first of those kept.
    Kept,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fate {
    lost: bool,
    doubled: bool,
    /// How long it is kept back.
    delay: Nanos,
}

/// Spoils what arrives.
#[derive(Debug)]
pub struct FaultyReceiver<R> {
    inner: R,
    faults: Faults,
    random: ChaCha8Rng,
    /// By the time they are due.
    kept: VecDeque<Kept>,
    shown: Shown,
    lost: u64,
    clock: fn() -> Nanos,
}

impl<R: Receiver> FaultyReceiver<R> {
    /// Decides about frames until one is to be shown at `now`.
    fn choose(&mut self, now: Nanos) -> Shown {
        while self.kept.front().is_none_or(|first| first.due > now) {
            if self.kept.len() >= KEPT_FRAMES || self.inner.peek().is_none() {
                return Shown::Nothing;
            }
            let fate = self.draw();
            if fate.lost {
                self.lost += 1;
            } else {
                if fate.doubled {
                    self.keep(now + fate.delay);
                }
                if fate.delay == Nanos::ZERO {
                    return Shown::Inner;
                }
                self.keep(now + fate.delay);
            }
            self.inner.release();
        }
        Shown::Kept
    }

    /// Always the same number of draws, so that one rate does not change what another does.
    fn draw(&mut self) -> Fate {
        let mut happens = |rate: Rate| rate.happens(self.random.next_u32());
        let lost = happens(self.faults.loss);
        let doubled = happens(self.faults.duplicate);
        let overtaken = if happens(self.faults.reorder) { OVERTAKING } else { Nanos::ZERO };
        Fate { lost, doubled, delay: self.faults.delay + overtaken }
    }

    /// Copies the wire's frame, behind all that are due no later.
    fn keep(&mut self, due: Nanos) {
        let Some(frame) = self.inner.peek() else { return };
        let place = self.kept.partition_point(|kept| kept.due <= due);
        self.kept.insert(place, Kept { due, frame: frame.to_vec() });
    }

    /// How long until the next frame that was kept back is due; `None` without one.
    fn until_due(&self) -> Option<Nanos> {
        let first = self.kept.front()?;
        Some(first.due - (self.clock)())
    }
}

impl<R: Receiver> Receiver for FaultyReceiver<R> {
    fn peek(&mut self) -> Option<&[u8]> {
        if self.shown == Shown::Nothing {
            self.shown = self.choose((self.clock)());
        }
        match self.shown {
            Shown::Nothing => None,
            Shown::Inner => self.inner.peek(),
            Shown::Kept => self.kept.front().map(|kept| kept.frame.as_slice()),
        }
    }

    fn release(&mut self) {
        match self.shown {
            Shown::Nothing => {}
            Shown::Inner => self.inner.release(),
            Shown::Kept => drop(self.kept.pop_front()),
        }
        self.shown = Shown::Nothing;
    }
}

impl<R: Incoming> Incoming for FaultyReceiver<R> {
    fn is_ready(&mut self) -> bool {
        let is_due = || self.until_due() == Some(Nanos::ZERO);
        self.shown != Shown::Nothing || is_due() || (self.kept.len() < KEPT_FRAMES && self.inner.is_ready())
    }

    fn settle(&mut self) {
        self.inner.settle();
    }

    fn is_intact(&self) -> bool {
        self.inner.is_intact()
    }

    fn take_change(&mut self) -> bool {
        self.inner.take_change()
    }

    fn time_to_next(&self) -> Option<Nanos> {
        self.until_due()
    }

    fn statistics(&self) -> Statistics {
        let inner = self.inner.statistics();
        Statistics { dropped_frames: inner.dropped_frames + self.lost, ..inner }
    }
}

/// What a spoilt wire is besides.
#[derive(Debug)]
pub struct FaultyBase<B> {
    inner: B,
    has_retransmissions: bool,
}

impl<B: Base> Base for FaultyBase<B> {
    fn facts(&self) -> Facts {
        let facts = self.inner.facts();
        Facts { lossless: facts.lossless && !self.has_retransmissions, ..facts }
    }

    fn wait(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
        timeout: Nanos,
    ) -> io::Result<()> {
        let until_due = receiver.time_to_next().unwrap_or(timeout);
        self.inner.wait(receiver, sender, timeout.min(until_due))
    }

    fn doze(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
    ) -> Option<(BorrowedFd<'_>, Nanos)> {
        let until_due = receiver.time_to_next().unwrap_or(Nanos::MAX);
        let (descriptor, at_most) = self.inner.doze(receiver, sender)?;
        Some((descriptor, at_most.min(until_due)))
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that are numbers, all there at once.
    struct Numbers(VecDeque<Vec<u8>>);

    impl Numbers {
        fn new(count: u32) -> Self {
            Self((0..count).map(|number| number.to_be_bytes().to_vec()).collect())
        }
    }

    impl Receiver for Numbers {
        fn peek(&mut self) -> Option<&[u8]> {
            self.0.front().map(Vec::as_slice)
        }

        fn release(&mut self) {
            self.0.pop_front();
        }
    }

    const START: Nanos = Nanos(1_000_000_000);

    fn spoilt(faults: Faults, stream: u64, frames: u32) -> FaultyReceiver<Numbers> {
        let wire = Assembled { receiver: Numbers::new(frames), sender: (), base: () };
        let mut receiver = around(wire, faults, stream).receiver;
        receiver.clock = || START;
        receiver
    }

    fn number(frame: &[u8]) -> u32 {
        u32::from_be_bytes(frame.try_into().expect("four bytes"))
    }

    /// All that is shown at that time.
    fn shown(receiver: &mut FaultyReceiver<Numbers>) -> Vec<u32> {
        let mut numbers = Vec::new();
        while let Some(frame) = receiver.peek().map(number) {
            assert_eq!(receiver.peek().map(number), Some(frame));
            numbers.push(frame);
            receiver.release();
        }
        numbers
    }

    fn rate(text: &str) -> Rate {
        text.parse().expect("a rate")
    }

    #[test]
    fn without_faults_nothing_happens() {
        let mut receiver = spoilt(Faults::default(), 0, 1000);
        assert!(Faults::default().is_none());
        assert_eq!(shown(&mut receiver), (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn the_same_seed_loses_the_same_frames_and_about_as_many_as_asked() {
        let faults = Faults { loss: rate("10%"), seed: 7, ..Faults::default() };
        let of = |faults, stream| shown(&mut spoilt(faults, stream, 10_000));
        let first = of(faults, 0);
        assert_eq!(first, of(faults, 0));
        assert_ne!(first, of(faults, 1));
        assert_ne!(first, of(Faults { seed: 8, ..faults }, 0));
        assert!(first.is_sorted());
        // Five standard deviations of a binomial count are 150.
        assert!((8850..=9150).contains(&first.len()), "{}", first.len());
        // Another fault does not change which are lost.
        let mut kept = of(Faults { duplicate: rate("50%"), ..faults }, 0);
        kept.sort_unstable();
        kept.dedup();
        assert_eq!(first, kept);
    }

    #[test]
    fn doubled_frames_come_twice() {
        let mut receiver = spoilt(Faults { duplicate: rate("100%"), ..Faults::default() }, 0, 3);
        assert_eq!(shown(&mut receiver), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn overtaken_frames_come_later_and_none_is_missing() {
        let mut receiver = spoilt(Faults { reorder: rate("30%"), seed: 1, ..Faults::default() }, 0, 100);
        let before = shown(&mut receiver);
        assert!(before.len() < 100 && before.is_sorted());
        assert_eq!(receiver.until_due(), Some(OVERTAKING));
        receiver.clock = || START + OVERTAKING;
        let after = shown(&mut receiver);
        assert!(after.is_sorted());
        let mut all = [before, after].concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn delayed_frames_keep_their_order_and_their_number_is_limited() {
        let faults = Faults { delay: Nanos::from_millis(5), ..Faults::default() };
        let more = KEPT_FRAMES as u32 + 10;
        let mut receiver = spoilt(faults, 0, more);
        assert!(shown(&mut receiver).is_empty());
        assert_eq!(receiver.inner.0.len(), 10, "the rest waits in the wire");
        receiver.clock = || START + Nanos::from_millis(5);
        assert_eq!(shown(&mut receiver), (0..KEPT_FRAMES as u32).collect::<Vec<_>>());
        receiver.clock = || START + Nanos::from_millis(10);
        assert_eq!(shown(&mut receiver).len(), 10);
    }
}
