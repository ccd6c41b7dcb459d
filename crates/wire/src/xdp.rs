//! A wire of queues of a network interface past the kernel's stack: AF_XDP sockets, by system calls alone (kernel document
//! networking/af_xdp.rst).
//!
//! All frames of a queue go to its wire; frames of other queues go on to the kernel. The program that does so is shared by all
//! processes that use queues of the interface, and goes with the last of them, however that ends. Frames that arrive while the
//! ring is full are lost. The interface's own address and hardware address are ours, but the kernel does not see the frames any
//! more: nothing else must need these queues.

mod attachment;
mod bpf;
mod depth;
mod error;
mod objects;
mod present;
mod queue;
mod receiving;
mod sending;
mod socket;

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_descriptors as descriptors;
use assay_model::units::Nanos;

use attachment::{Attachment, QUEUES};
pub use bpf::Mode;
pub use error::{Step, XdpError};
pub use receiving::XdpReceiver;
pub use sending::XdpSender;

use crate::interface::{self, Interface};
use crate::parts::{Assembled, Base, Incoming, Outgoing};
use crate::waiting::{IDLE_WAITS, LIFE_CHECK, sleep, spin};
use crate::{ETHERNET_HEADER_BYTES, Facts, Statistics};

/// How long a queue or an interface that is in use is waited for: the kernel lets go of closed sockets later, up to
/// 0.6 s were seen.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// Between two attempts.
const RELEASE_PAUSE: Duration = Duration::from_millis(20);
/// Drivers on which a program is faster behind the driver than in it: on both ends of a veth pair, the packet buffers that
/// the driver's way would convert are there already.
const BETTER_GENERIC: &str = "veth";

/// One queue of an interface.
pub type Xdp = Assembled<XdpBase, XdpReceiver, XdpSender>;

/// Takes a queue of an interface; `None` chooses the mode by the driver. The mode of the first queue is that of all that this
/// process has, and with a process that asks for another mode it is not shared. Waits some seconds for the kernel to let go of
/// a predecessor's.
///
/// # Errors
/// The kernel lacks something or does not let us.
pub fn open(name: &str, queue: u16, mode: Option<Mode>) -> Result<(Xdp, Interface), XdpError> {
    take(name, queue.into(), mode).map_err(|(step, error)| XdpError {
        interface: name.to_owned(),
        step,
        error,
    })
}

/// Whether the interface is there and up.
///
/// # Errors
/// It is not.
pub fn check(name: &str) -> Result<(), XdpError> {
    let failed = |error| XdpError { interface: name.to_owned(), step: Step::Interface, error };
    find(name).map(drop).map_err(failed)
}

fn find(name: &str) -> io::Result<Interface> {
    let interface = Interface::of(name)?;
    if interface.is_up { Ok(interface) } else { Err(io::Error::from_raw_os_error(libc::ENETDOWN)) }
}

fn take(name: &str, queue: u32, mode: Option<Mode>) -> Result<(Xdp, Interface), (Step, io::Error)> {
    let interface = find(name).map_err(|error| (Step::Interface, error))?;
    if queue >= QUEUES {
        return Err((Step::Bind, io::Error::from_raw_os_error(libc::EINVAL)));
    }
    let parts = socket::make(interface.mtu + ETHERNET_HEADER_BYTES)?;
    let modes = match mode {
        Some(mode) => vec![mode],
        None if interface.driver == BETTER_GENERIC => vec![Mode::Generic],
        None => vec![Mode::Native, Mode::Generic],
    };
    let attachment = Attachment::to(interface.index, &modes)?;
    let (socket, memory) = (Arc::clone(&parts.socket), Arc::clone(&parts.memory));
    let (receiver, transmit, completion) = XdpReceiver::new(parts);
    let sender = XdpSender::new(&socket, &memory, transmit, completion);
    let is_busy = |error: &io::Error| error.raw_os_error() == Some(libc::EBUSY);
    patiently(|| socket::bind(&socket, interface.index, queue, attachment.mode), is_busy)
        .map_err(|error| (Step::Bind, error))?;
    attachment.deliver(queue, socket.as_fd()).map_err(|error| (Step::Bind, error))?;
    let base = XdpBase { socket, mtu: interface.mtu, idle_waits: 0, system_calls: 0, attachment };
    Ok((Xdp { receiver, sender, base }, interface))
}

impl Xdp {
    /// Where in the kernel frames are taken.
    pub fn mode(&self) -> Mode {
        self.base.attachment.mode
    }
}

/// Tries again for a while when something is in use.
fn patiently<T, E>(
    mut attempt: impl FnMut() -> Result<T, E>,
    is_in_use: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    loop {
        match attempt() {
            Err(error) if is_in_use(&error) && Instant::now() < deadline => std::thread::sleep(RELEASE_PAUSE),
            result => return result,
        }
    }
}

/// Whether this process can use queues of an interface of which another process uses some: that takes CAP_SYS_ADMIN, and that
/// of the machine, not of a user namespace.
pub fn can_share() -> bool {
    objects::link_behind(0).is_ok()
}

/// Prepares an interface whose frames are received past the kernel's stack, while they are sent by it: the kernel must
/// not leave to the device what no device does, that is checksums and segmentation. For the other end of a veth pair when
/// that end is the kernel's; to be called in its network namespace.
///
/// # Errors
/// There is no such interface, or CAP_NET_ADMIN is missing.
pub fn prepare_peer(name: &str) -> io::Result<()> {
    interface::forbid_offloads(name)
}

/// The queue.
#[derive(Debug)]
pub struct XdpBase {
    socket: Arc<OwnedFd>,
    mtu: usize,
    idle_waits: u32,
    system_calls: u64,
    attachment: Arc<Attachment>,
}

impl XdpBase {
    /// Fails when the interface is gone.
    fn check_life(&mut self) -> io::Result<()> {
        self.idle_waits = 0;
        self.system_calls += 1;
        descriptors::check(self.socket.as_fd())?;
        let nothing = &mut [0_u8; 0][..];
        match rustix::net::recv(&self.socket, nothing, rustix::net::RecvFlags::DONTWAIT) {
            Err(rustix::io::Errno::NXIO) => Err(gone()),
            _ => Ok(()),
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the interface has gone")
}

impl Base for XdpBase {
    fn facts(&self) -> Facts {
        Facts { mtu: self.mtu, lossless: false, trusted: false, waiting: socket::ARRIVING as usize }
    }

    fn wait(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
        timeout: Nanos,
    ) -> io::Result<()> {
        if !sender.is_intact() {
            return descriptors::check(self.socket.as_fd()).and(Err(gone()));
        }
        if spin(timeout, || receiver.is_ready() || sender.room_came()) {
            self.idle_waits = 0;
            return Ok(());
        }
        self.idle_waits += 1;
        if timeout > Nanos::ZERO {
            self.system_calls += 1;
            receiver.rest();
            sleep(self.socket.as_fd(), sender.wants_room(), timeout.min(LIFE_CHECK))?;
        }
        let is_long = timeout >= LIFE_CHECK && !receiver.is_ready();
        if is_long || self.idle_waits >= IDLE_WAITS { self.check_life() } else { Ok(()) }
    }

    fn doze(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
    ) -> Option<(BorrowedFd<'_>, Nanos)> {
        if self.check_life().is_err() {
            self.idle_waits = IDLE_WAITS;
            return None;
        }
        receiver.rest();
        // Only a wait can tell bad news, and that there is room again.
        let is_well = sender.is_intact() && !sender.wants_room();
        let at_most = if receiver.is_ready() { Nanos::ZERO } else { LIFE_CHECK };
        is_well.then(|| (self.socket.as_fd(), at_most))
    }

    fn statistics(&self) -> Statistics {
        Statistics { system_calls: self.system_calls, ..Statistics::default() }
    }
}
