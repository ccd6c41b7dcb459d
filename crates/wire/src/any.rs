//! A wire of a kind that is known only when the program runs. The kind is told by a match, not by a table of functions, so
//! that a frame's way is compiled as one.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use assay_model::units::Nanos;

#[cfg(feature = "dpdk")]
use crate::dpdk::{self, DpdkBase, DpdkError, DpdkReceiver, DpdkSender};
use crate::faults::{self, FaultyBase, FaultyReceiver};
use crate::parts::{Assembled, Base, Incoming, Outgoing};
use crate::ring::{self, RingBase, RingError, RingReceiver, RingSender};
use crate::spec::{Kind, Spec};
use crate::tap::{self, TapBase, TapError, TapReceiver, TapSender};
use crate::trace::{self, TracedBase, TracedReceiver, TracedSender};
use crate::xdp::{self, Step, XdpBase, XdpError, XdpReceiver, XdpSender};
use crate::{End, Facts, Receiver, Sender, Statistics};

/// A wire of any kind, decorated or not.
pub type AnyWire = Assembled<AnyBase, AnyReceiver, AnySender>;

/// Our addresses on a wire unless told otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Station {
    /// Our hardware address.
    pub hardware: [u8; 6],
    /// Our IP addresses, each with the bits that its network shares. Empty where they must be given.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// Why a wire cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A TAP device.
    #[error(transparent)]
    Tap(#[from] TapError),
    /// A queue of an interface.
    #[error(transparent)]
    Xdp(#[from] XdpError),
    /// A device that DPDK drives.
    #[cfg(feature = "dpdk")]
    #[error(transparent)]
    Dpdk(#[from] DpdkError),
    /// The program was built without DPDK.
    #[cfg(not(feature = "dpdk"))]
    #[error("dpdk: not built in; install libdpdk-dev and build with `cargo build --release --features dpdk`")]
    NoDpdk,
    /// The file for its frames.
    #[error("trace {}: {error}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl OpenError {
    /// Whether somebody else has this queue, so that another may be free.
    pub fn is_taken(&self) -> bool {
        match self {
            Self::Ring(error) => matches!(error, RingError::Busy { .. }),
            Self::Xdp(error) => error.step == Step::Bind && error.error.raw_os_error() == Some(libc::EBUSY),
            _ => false,
        }
    }
}

/// Opens one queue of a wire, of `queues` that our side uses: one for each thread, which calls this itself. All queues of a
/// side are one station but on a ring, where each joins two threads and no others.
///
/// # Errors
/// The wire cannot be had; the error says how to mend it.
pub fn open(spec: &Spec, end: End, queue: u16, queues: u16) -> Result<(AnyWire, Station), OpenError> {
    let (wire, station) = open_kind(&spec.kind, end, queue, queues)?;
    if spec.faults.is_none() && spec.pcap.is_none() {
        return Ok((plain(wire), station));
    }
    let trace = match spec.pcap_of(queue) {
        Some(path) => trace::to_file(&path).map_err(|error| OpenError::Trace { path, error })?,
        None => None,
    };
    // Other frames are spoilt in the other direction, and on other queues.
    let stream = u64::from(queue) * 2 + end.index() as u64;
    Ok((decorated(trace::around(faults::around(wire, spec.faults, stream), trace)), station))
}

/// Whether a wire of that name could be opened now, as far as that can be told without opening it: who is to open it later, perhaps
/// as another process, learns early that it will come to nothing.
///
/// # Errors
/// No interface of that name is up, no ring is there and none can be made, or the kind is not built in.
pub fn check(spec: &Spec) -> Result<(), OpenError> {
    match &spec.kind {
        Kind::Ring(path) => Ok(ring::check(path)?),
        Kind::Xdp { interface, .. } => Ok(xdp::check(interface)?),
        Kind::Tap(name) => Ok(tap::check(name)?),
        #[cfg(feature = "dpdk")]
        Kind::Dpdk(_) => Ok(()),
        #[cfg(not(feature = "dpdk"))]
        Kind::Dpdk(_) => Err(OpenError::NoDpdk),
    }
}

/// How many queues the other end has given a wire, so that ours must have as many; `None` where that is left to us, also because
/// nobody is there yet.
///
/// # Errors
/// What is there is no ring, or not ours.
pub fn queues(spec: &Spec) -> Result<Option<u16>, OpenError> {
    match &spec.kind {
        Kind::Ring(path) => Ok(ring::queues(path)?),
        Kind::Xdp { .. } | Kind::Tap(_) | Kind::Dpdk(_) => Ok(None),
    }
}

fn open_kind(kind: &Kind, end: End, queue: u16, queues: u16) -> Result<(Bare, Station), OpenError> {
    match kind {
        Kind::Ring(path) => {
            let ring = ring::open(path, end, queue, queues)?;
            Ok((
                Bare {
                    receiver: BareReceiver::Ring(ring.receiver),
                    sender: BareSender::Ring(ring.sender),
                    base: BareBase::Ring(ring.base),
                },
                station_of_ring(end, queue),
            ))
        }
        Kind::Xdp { interface, queue: first, mode } => {
            let (xdp, interface) = xdp::open(interface, first.saturating_add(queue), *mode)?;
            let station = Station { hardware: interface.hardware, addresses: interface.addresses };
            Ok((
                Bare {
                    receiver: BareReceiver::Xdp(xdp.receiver),
                    sender: BareSender::Xdp(xdp.sender),
                    base: BareBase::Xdp(xdp.base),
                },
                station,
            ))
        }
        #[cfg(not(feature = "dpdk"))]
        Kind::Dpdk(_) => Err(OpenError::NoDpdk),
        #[cfg(feature = "dpdk")]
        Kind::Dpdk(arguments) => {
            let (dpdk, hardware) = dpdk::open(arguments, queue, queues)?;
            Ok((
                Bare {
                    receiver: BareReceiver::Dpdk(dpdk.receiver),
                    sender: BareSender::Dpdk(dpdk.sender),
                    base: BareBase::Dpdk(dpdk.base),
                },
                Station { hardware, addresses: Vec::new() },
            ))
        }
        Kind::Tap(name) => {
            let (tap, interface) = tap::open(name, queues)?;
            // The device's own address is the kernel's, at the other end.
            let [a, b, c, d, e, last] = interface.hardware;
            let station = Station { hardware: [a, b, c, d, e, last ^ 1], addresses: Vec::new() };
            Ok((
                Bare {
                    receiver: BareReceiver::Tap(tap.receiver),
                    sender: BareSender::Tap(tap.sender),
                    base: BareBase::Tap(tap.base),
                },
                station,
            ))
        }
    }
}

/// Addresses as good as any others between two threads: a locally administered one (IEEE 802-2014 §8.4), one of a private
/// network (RFC 1918) and a unique local one (RFC 4193).
fn station_of_ring(end: End, queue: u16) -> Station {
    let host = end.index() as u8 + 1;
    let [high, low] = queue.to_be_bytes();
    Station {
        hardware: [0x02, b'a', b's', host, high, low],
        addresses: vec![
            (Ipv4Addr::new(10, 77, 0, host).into(), 24),
            (Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, host.into()).into(), 64),
        ],
    }
}

fn plain(wire: Bare) -> AnyWire {
    Assembled {
        receiver: AnyReceiver::Plain(wire.receiver),
        sender: AnySender::Plain(wire.sender),
        base: AnyBase::Plain(wire.base),
    }
}

fn decorated(
    wire: Assembled<TracedBase<FaultyBase<BareBase>>, SpoiltReceiver, TracedSender<BareSender>>,
) -> AnyWire {
    Assembled {
        receiver: AnyReceiver::Decorated(Box::new(wire.receiver)),
        sender: AnySender::Decorated(wire.sender),
        base: AnyBase::Decorated(wire.base),
    }
}

type Bare = Assembled<BareBase, BareReceiver, BareSender>;
type SpoiltReceiver = TracedReceiver<FaultyReceiver<BareReceiver>>;

/// A receiver without decoration.
#[derive(Debug)]
pub enum BareReceiver {
    /// Of a ring.
    Ring(RingReceiver),
    /// Of a TAP device.
    Tap(TapReceiver),
    /// Of a queue of an interface.
    Xdp(XdpReceiver),
    /// Of a device that DPDK drives.
    #[cfg(feature = "dpdk")]
    Dpdk(DpdkReceiver),
}

/// A receiver of any kind.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one a thread, and the plain one is not to be looked for"
)]
pub enum AnyReceiver {
    /// The receiver as it is.
    Plain(BareReceiver),
    /// With faults and a trace.
    Decorated(Box<SpoiltReceiver>),
}

/// A sender without decoration.
#[derive(Debug)]
pub enum BareSender {
    /// Of a ring.
    Ring(RingSender),
    /// Of a TAP device.
    Tap(TapSender),
    /// Of a queue of an interface.
    Xdp(XdpSender),
    /// Of a device that DPDK drives.
    #[cfg(feature = "dpdk")]
    Dpdk(DpdkSender),
}

/// A sender of any kind.
#[derive(Debug)]
pub enum AnySender {
    /// The sender as it is.
    Plain(BareSender),
    /// With a trace.
    Decorated(TracedSender<BareSender>),
}

/// A base without decoration.
#[derive(Debug)]
pub enum BareBase {
    /// Of a ring.
    Ring(RingBase),
    /// Of a TAP device.
    Tap(TapBase),
    /// Of a queue of an interface.
    Xdp(XdpBase),
    /// Of a device that DPDK drives.
    #[cfg(feature = "dpdk")]
    Dpdk(DpdkBase),
}

/// A base of any kind.
#[derive(Debug)]
pub enum AnyBase {
    /// The base as it is.
    Plain(BareBase),
    /// With faults and a trace.
    Decorated(TracedBase<FaultyBase<BareBase>>),
}

/// The traits of a wire's parts for an enum of such parts: every method asks the variant that is there.
macro_rules! each {
    ($receiver:ident, $sender:ident, $base:ident: $($variant:ident),+) => {
        impl Receiver for $receiver {
            #[inline]
            fn peek(&mut self) -> Option<&[u8]> {
                match self { $(Self::$variant(inner) => inner.peek()),+ }
            }

            #[inline]
            fn release(&mut self) {
                match self { $(Self::$variant(inner) => inner.release()),+ }
            }
        }

        impl Incoming for $receiver {
            fn is_ready(&mut self) -> bool {
                match self { $(Self::$variant(inner) => inner.is_ready()),+ }
            }

            fn settle(&mut self) {
                match self { $(Self::$variant(inner) => inner.settle()),+ }
            }

            fn is_intact(&self) -> bool {
                match self { $(Self::$variant(inner) => inner.is_intact()),+ }
            }

            #[inline]
            fn take_change(&mut self) -> bool {
                match self { $(Self::$variant(inner) => inner.take_change()),+ }
            }

            fn time_to_next(&self) -> Option<Nanos> {
                match self { $(Self::$variant(inner) => inner.time_to_next()),+ }
            }

            fn statistics(&self) -> Statistics {
                match self { $(Self::$variant(inner) => inner.statistics()),+ }
            }
        }

        impl Sender for $sender {
            #[inline]
            fn room(&mut self) -> bool {
                match self { $(Self::$variant(inner) => inner.room()),+ }
            }

            #[inline]
            fn send<R>(&mut self, length: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
                match self { $(Self::$variant(inner) => inner.send(length, fill)),+ }
            }

            fn flush(&mut self) {
                match self { $(Self::$variant(inner) => inner.flush()),+ }
            }
        }

        impl Outgoing for $sender {
            fn wants_room(&self) -> bool {
                match self { $(Self::$variant(inner) => inner.wants_room()),+ }
            }

            fn room_came(&mut self) -> bool {
                match self { $(Self::$variant(inner) => inner.room_came()),+ }
            }

            fn is_intact(&self) -> bool {
                match self { $(Self::$variant(inner) => inner.is_intact()),+ }
            }

            fn statistics(&self) -> Statistics {
                match self { $(Self::$variant(inner) => inner.statistics()),+ }
            }
        }

        impl Base for $base {
            fn facts(&self) -> Facts {
                match self { $(Self::$variant(inner) => inner.facts()),+ }
            }

            fn wait(
                &mut self,
                receiver: &mut impl Incoming,
                sender: &mut impl Outgoing,
                timeout: Nanos,
            ) -> io::Result<()> {
                match self { $(Self::$variant(inner) => inner.wait(receiver, sender, timeout)),+ }
            }

            fn doze(
                &mut self,
                receiver: &mut impl Incoming,
                sender: &mut impl Outgoing,
            ) -> Option<(BorrowedFd<'_>, Nanos)> {
                match self { $(Self::$variant(inner) => inner.doze(receiver, sender)),+ }
            }

            fn statistics(&self) -> Statistics {
                match self { $(Self::$variant(inner) => inner.statistics()),+ }
            }
        }
    };
}

#[cfg(not(feature = "dpdk"))]
each!(BareReceiver, BareSender, BareBase: Ring, Tap, Xdp);
#[cfg(feature = "dpdk")]
each!(BareReceiver, BareSender, BareBase: Ring, Tap, Xdp, Dpdk);
each!(AnyReceiver, AnySender, AnyBase: Plain, Decorated);
