//! A wire to the kernel: what we send arrives at a TAP device, what the kernel sends by that device comes to us (kernel
//! document networking/tuntap.rst).
//!
//! The device is made in the network namespace that this thread is in, if it is not there, and goes with the wire. Setting
//! it up and giving it addresses is left to others. Two system calls a frame: for trying a stack against the kernel's, not
//! for speed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use assay_descriptors as descriptors;
use assay_model::units::Nanos;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::interface::{Interface, control, request};
use crate::parts::{Assembled, Base, Incoming, Outgoing};
use crate::waiting::sleep;
use crate::{ETHERNET_HEADER_BYTES, Facts, Receiver, Sender, Statistics};

/// The device that makes devices.
const CLONE: &str = "/dev/net/tun";
/// Longest frame that the kernel can give: an IP packet of the largest length (RFC 791 §3.1).
const FRAME_BYTES: usize = 65_535 + ETHERNET_HEADER_BYTES;
/// Frames that the kernel keeps for us unless the device was given a longer queue (TUN_READQ_SIZE in drivers/net/tun.c).
const QUEUE_FRAMES: usize = 500;

/// Why a TAP device cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("tap:{name}: {error}{}", remedy(.error))]
pub struct TapError {
    /// The device.
    name: String,
    /// What the system says.
    error: io::Error,
}

fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "; a TAP device needs CAP_NET_ADMIN: run as root, or in a namespace of your own (`unshare -Urn`)"
        }
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            "; the kernel needs CONFIG_TUN and /dev/net/tun: `modprobe tun`, or give the device to the container"
        }
        Some(libc::EBUSY) => "; another process holds it: end that, or choose another name",
        Some(libc::EINVAL) => {
            "; a device of that name is there and is no TAP, or has another number of queues"
        }
        _ => "",
    }
}

/// One queue of a TAP device.
pub type Tap = Assembled<TapBase, TapReceiver, TapSender>;

/// Attaches to a TAP device, which is made if it is not there. With several queues the kernel sends the frames of a
/// connection by the queue that last brought one of it.
///
/// # Errors
/// The kernel has no such devices or does not let us.
pub fn open(name: &str, queues: u16) -> Result<(Tap, Interface), TapError> {
    attach(name, queues).map_err(|error| TapError { name: name.to_owned(), error })
}

/// Whether the kernel has such devices.
///
/// # Errors
/// It has none, or not for us.
pub fn check(name: &str) -> Result<(), TapError> {
    device().map(drop).map_err(|error| TapError { name: name.to_owned(), error })
}

fn device() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(CLONE, flags, Mode::empty()).map(descriptors::keep)?)
}

fn attach(name: &str, queues: u16) -> io::Result<(Tap, Interface)> {
    let file = device()?;
    let mut request = request(name)?;
    let several = if queues > 1 { libc::IFF_MULTI_QUEUE } else { 0 };
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | several) as libc::c_short;
    control(file.as_fd(), libc::TUNSETIFF, &mut request)?;
    let interface = Interface::of(name)?;
    let file = Arc::new(file);
    let tap = Tap {
        receiver: TapReceiver {
            file: Arc::clone(&file),
            frame: vec![0; FRAME_BYTES].into_boxed_slice(),
            length: 0,
            counted: Statistics::default(),
            gone: false,
        },
        sender: TapSender {
            file: Arc::clone(&file),
            frame: vec![0; interface.mtu + ETHERNET_HEADER_BYTES],
            waiting: false,
            counted: Statistics::default(),
            gone: false,
        },
        base: TapBase { file, mtu: interface.mtu, system_calls: 0 },
    };
    Ok((tap, interface))
}

/// Reads what the kernel sends.
#[derive(Debug)]
pub struct TapReceiver {
    file: Arc<OwnedFd>,
    frame: Box<[u8]>,
    /// Of the frame that was read; 0 without one.
    length: usize,
    counted: Statistics,
    gone: bool,
}

impl Receiver for TapReceiver {
    fn peek(&mut self) -> Option<&[u8]> {
        if self.length == 0 && descriptors::holds(self.file.as_fd()) {
            self.counted.system_calls += 1;
            match rustix::io::read(&self.file, &mut self.frame[..]) {
                Ok(length) => self.length = length,
                // EIO: the device is not up.
                Err(Errno::AGAIN | Errno::INTR | Errno::IO) => {}
                Err(_) => self.gone = true,
            }
        }
        (self.length > 0).then(|| &self.frame[..self.length])
    }

    fn release(&mut self) {
        self.counted.received_frames += u64::from(self.length > 0);
        self.length = 0;
    }
}

impl Incoming for TapReceiver {
    fn is_ready(&mut self) -> bool {
        self.length > 0
    }

    fn is_intact(&self) -> bool {
        !self.gone
    }

    fn statistics(&self) -> Statistics {
        self.counted
    }
}

/// Writes what the kernel is to receive.
#[derive(Debug)]
pub struct TapSender {
    file: Arc<OwnedFd>,
    frame: Vec<u8>,
    /// The kernel had no room for the frame.
    waiting: bool,
    counted: Statistics,
    gone: bool,
}

impl TapSender {
    fn write(&mut self) {
        if !descriptors::holds(self.file.as_fd()) {
            return;
        }
        self.counted.system_calls += 1;
        self.waiting = false;
        match rustix::io::write(&self.file, &self.frame) {
            Ok(_) => self.counted.sent_frames += 1,
            Err(Errno::AGAIN | Errno::INTR) => self.waiting = true,
            // The device is not up (EIO), or the frame is none that the kernel takes (EINVAL).
            Err(Errno::IO | Errno::INVAL | Errno::NOMEM | Errno::NOBUFS) => self.counted.dropped_frames += 1,
            Err(_) => self.gone = true,
        }
    }
}

impl Sender for TapSender {
    fn room(&mut self) -> bool {
        if self.waiting {
            self.write();
            self.counted.full += u64::from(self.waiting);
        }
        !self.waiting
    }

    fn send<R>(&mut self, length: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        if self.waiting {
            self.counted.dropped_frames += 1;
            return fill(&mut vec![0; length]);
        }
        self.frame.resize(length, 0);
        let result = fill(&mut self.frame);
        self.write();
        result
    }

    fn flush(&mut self) {
        if self.waiting {
            self.write();
        }
    }
}

impl Outgoing for TapSender {
    fn wants_room(&self) -> bool {
        self.waiting
    }

    fn room_came(&mut self) -> bool {
        self.waiting && self.room()
    }

    fn is_intact(&self) -> bool {
        !self.gone
    }

    fn statistics(&self) -> Statistics {
        self.counted
    }
}

/// The device.
#[derive(Debug)]
pub struct TapBase {
    file: Arc<OwnedFd>,
    mtu: usize,
    system_calls: u64,
}

impl Base for TapBase {
    fn facts(&self) -> Facts {
        Facts { mtu: self.mtu, lossless: false, trusted: false, waiting: QUEUE_FRAMES }
    }

    fn wait(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
        timeout: Nanos,
    ) -> io::Result<()> {
        if !receiver.is_intact() || !sender.is_intact() {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the TAP device has gone"));
        }
        descriptors::check(self.file.as_fd())?;
        if receiver.is_ready() || timeout == Nanos::ZERO {
            return Ok(());
        }
        self.system_calls += 1;
        sleep(self.file.as_fd(), sender.wants_room(), timeout)
    }

    fn doze(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
    ) -> Option<(BorrowedFd<'_>, Nanos)> {
        // Only a wait can tell bad news, and that there is room again.
        let is_well = receiver.is_intact() && sender.is_intact() && !sender.wants_room();
        let is_well = is_well && descriptors::holds(self.file.as_fd());
        let at_most = if receiver.is_ready() { Nanos::ZERO } else { Nanos::MAX };
        is_well.then(|| (self.file.as_fd(), at_most))
    }

    fn statistics(&self) -> Statistics {
        Statistics { system_calls: self.system_calls, ..Statistics::default() }
    }
}
