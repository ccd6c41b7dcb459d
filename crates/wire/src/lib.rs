//! Moves packets: rings in shared memory, AF_XDP sockets, TAP devices, and decorators that trace or spoil them.
//!
//! Invariants
//! - A wire belongs to one thread; the two directions are separate objects, so that a frame can be read while
//!   another is written.
//! - A frame is handed on whole or not at all. A full wire says "not now"; it never drops by itself what it accepted.
//! - Nothing here waits but [`Wire::wait`]; who waits for other things as well is given a descriptor by [`Wire::doze`].
//!
//! Must not know: TCP, connections, HTTP, who is client or server.
//!
//! | where | what |
//! |---|---|
//! | `spec`, `any` | `ring:/dev/shm/a`, `xdp:eth0`, `tap:tap0,loss=0.1%`: a wire by its name |
//! | `ring` | shared memory between two processes |
//! | `xdp` | queues of an interface past the kernel's stack |
//! | `dpdk` | queues of a device that DPDK drives; a feature |
//! | `tap` | frames to and from the kernel's stack |
//! | `faults`, `trace`, `pcap` | decorators: what goes wrong, what is written down |
//! | `stats_page` | a file in which others can read what was counted |
//! | `parts` | what every kind consists of |
//! | `memory`, `guard`, `ownership` | mapped memory, files that are cut short, whose a file is |
//! | `interface`, `waiting` | the kernel's interfaces, looking and sleeping |

mod any;
#[cfg(feature = "dpdk")]
pub mod dpdk;
pub mod faults;
mod guard;
pub mod interface;
mod memory;
mod ownership;
pub mod parts;
mod pcap;
pub mod requests;
pub mod ring;
mod spec;
pub mod stats_page;
pub mod tap;
pub mod trace;
mod waiting;
pub mod xdp;

use std::io;
use std::ops::Add;
use std::os::fd::BorrowedFd;

use assay_model::units::Nanos;

pub use any::{AnyBase, AnyReceiver, AnySender, AnyWire, OpenError, Station, check, open, queues};
pub use assay_model::rate::{Rate, RateError};
pub use spec::{Kind, Spec, SpecError};
pub use waiting::SPIN;

/// Bytes before the IP packet: two addresses and a type (IEEE 802.3).
pub const ETHERNET_HEADER_BYTES: usize = 14;

/// One of the two ends of a wire; which is whose is agreed above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one.
    First,
    /// The other.
    Second,
}

impl End {
    /// The opposite end.
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    fn index(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }
}

/// One queue of a network, in both directions.
pub trait Wire {
    /// Frames that arrive.
    type Receiver: Receiver;
    /// Frames that leave.
    type Sender: Sender;

    /// What frames on it must be like.
    fn facts(&self) -> Facts;

    /// The two directions, to be used at the same time.
    fn split(&mut self) -> (&mut Self::Receiver, &mut Self::Sender);

    /// Sleeps until a frame may have arrived, room may have come, or `timeout` is over. May return early.
    ///
    /// # Errors
    /// The wire is broken: its peer or its device is gone.
    fn wait(&mut self, timeout: Nanos) -> io::Result<()>;

    /// Prepares for a sleep in poll(2), for a caller that waits for other things as well: a descriptor that can be read once a frame may
    /// have arrived or room may have come, and how long at most may be slept without looking, [`Nanos::ZERO`] if there is something to
    /// do already. Both hold until the next call. `None` when only [`wait`](Self::wait) can tell.
    fn doze(&mut self) -> Option<(BorrowedFd<'_>, Nanos)>;

    /// Whether the other end has been taken anew since this was last asked, by somebody who knows nothing of what was agreed with the
    /// predecessor. None of the new one's frames is shown before. A wire of many stations never knows.
    fn other_end_changed(&mut self) -> bool;

    /// Counters since the wire was made.
    fn statistics(&self) -> Statistics;
}

/// The direction from which frames come.
pub trait Receiver {
    /// The oldest frame that was not released, from its Ethernet header on; the same one until
    /// [`release`](Self::release). `None` when there is none now.
    fn peek(&mut self) -> Option<&[u8]>;

    /// Gives the frame last seen back to the wire.
    fn release(&mut self);
}

/// The direction in which frames go.
pub trait Sender {
    /// Whether a frame can be sent now. A caller that may not send keeps the frame and asks again after the next
    /// [`Wire::wait`].
    fn room(&mut self) -> bool;

    /// Sends a frame of `length` bytes written by `fill`, to be called after [`room`](Self::room) said yes.
    /// The frame may stay with us until [`flush`](Self::flush).
    fn send<R>(&mut self, length: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R;

    /// Lets the peer see all that was sent.
    fn flush(&mut self);
}

/// What frames on a wire must be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Bytes of an IP packet at most (the frame has 14 more, IEEE 802.3).
    pub mtu: usize,
    /// Whether no frame that was accepted is ever lost, so that a retransmission is a fault of ours.
    pub lossless: bool,
    /// Whether checksums may be left out in both directions: bytes cannot change on the way, and no kernel reads them.
    pub trusted: bool,
    /// Frames that have arrived and wait for us, at most: who has taken so many has taken all that were there when it began.
    pub waiting: usize,
}

/// Counters of a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames that arrived.
    pub received_frames: u64,
    /// Frames that left.
    pub sent_frames: u64,
    /// Times that a sender found no room.
    pub full: u64,
    /// Frames that arrived and could not be kept or were not ours.
    pub dropped_frames: u64,
    /// System calls made.
    pub system_calls: u64,
}

impl Add for Statistics {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            received_frames: self.received_frames + other.received_frames,
            sent_frames: self.sent_frames + other.sent_frames,
            full: self.full + other.full,
            dropped_frames: self.dropped_frames + other.dropped_frames,
            system_calls: self.system_calls + other.system_calls,
        }
    }
}
