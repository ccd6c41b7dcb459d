//! A wire as three parts, which is how every kind is made: decorators take it apart and put theirs around each.

use std::io;
use std::os::fd::BorrowedFd;

use assay_model::units::Nanos;

use crate::{Facts, Receiver, Sender, Statistics, Wire};

/// The receiver of a kind of wire, as the kind's [`Base`] needs it.
pub trait Incoming: Receiver {
    /// Whether [`peek`](Receiver::peek) would show a frame.
    fn is_ready(&mut self) -> bool;

    /// Lets the other side see all that was released.
    fn settle(&mut self) {}

    /// A sleep follows: there is time to ask the kernel what it has counted.
    fn rest(&mut self) {}

    /// Whether the other side has kept the rules so far.
    fn is_intact(&self) -> bool {
        true
    }

    /// Whether the other end has changed: [`Wire::other_end_changed`].
    fn take_change(&mut self) -> bool {
        false
    }

    /// How long until a frame is shown that has come already; `None` without one.
    fn time_to_next(&self) -> Option<Nanos> {
        None
    }

    /// What this part has counted.
    fn statistics(&self) -> Statistics;
}

/// The sender of a kind of wire, as the kind's [`Base`] needs it.
pub trait Outgoing: Sender {
    /// Whether there was no room when last asked.
    fn wants_room(&self) -> bool;

    /// Whether there was none and is some now. Told once: who does not care for it can sleep then.
    fn room_came(&mut self) -> bool;

    /// Whether the other side has kept the rules so far.
    fn is_intact(&self) -> bool {
        true
    }

    /// What this part has counted.
    fn statistics(&self) -> Statistics;
}

/// What a kind of wire is besides its two directions.
pub trait Base {
    /// Facts of the wire: [`Wire::facts`].
    fn facts(&self) -> Facts;

    /// Waits like [`Wire::wait`]; all that was sent has been flushed, all that was released is settled.
    ///
    /// # Errors
    /// As [`Wire::wait`].
    fn wait(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
        timeout: Nanos,
    ) -> io::Result<()>;

    /// Dozes like [`Wire::doze`]; all that was sent has been flushed, all that was released is settled.
    fn doze(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
    ) -> Option<(BorrowedFd<'_>, Nanos)>;

    /// What this part has counted.
    fn statistics(&self) -> Statistics;
}

/// A wire put together. Dropped in the order of its fields: what was sent leaves before its place is given up.
#[derive(Debug)]
pub struct Assembled<B, R, S> {
    pub(crate) receiver: R,
    pub(crate) sender: S,
    pub(crate) base: B,
}

impl<B, R, S> Assembled<B, R, S> {
    /// The wire with another sender, which `around` puts around its own.
    pub fn with_sender<T>(self, around: impl FnOnce(S) -> T) -> Assembled<B, R, T> {
        Assembled { receiver: self.receiver, sender: around(self.sender), base: self.base }
    }
}

impl<B: Base, R: Incoming, S: Outgoing> Wire for Assembled<B, R, S> {
    type Receiver = R;
    type Sender = S;

    fn facts(&self) -> Facts {
        self.base.facts()
    }

    fn split(&mut self) -> (&mut R, &mut S) {
        (&mut self.receiver, &mut self.sender)
    }

    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        self.receiver.settle();
        self.sender.flush();
        self.base.wait(&mut self.receiver, &mut self.sender, timeout)
    }

    fn doze(&mut self) -> Option<(BorrowedFd<'_>, Nanos)> {
        self.receiver.settle();
        self.sender.flush();
        self.base.doze(&mut self.receiver, &mut self.sender)
    }

    fn other_end_changed(&mut self) -> bool {
        self.receiver.take_change()
    }

    fn statistics(&self) -> Statistics {
        self.base.statistics() + self.receiver.statistics() + self.sender.statistics()
    }
}
