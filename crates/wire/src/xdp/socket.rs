//! A socket with its memory and rings (kernel document networking/af_xdp.rst).

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::net::sockopt;
use rustix::net::xdp::{SocketAddrXdp, SocketAddrXdpFlags, XdpUmemReg, XdpUmemRegFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::bpf::Mode;
use super::error::Step;
use super::queue::{Queue, RingKind};
use crate::memory::Mapping;

/// Frames that may wait for us, and the size of their rings; a power of two. The kernel drops what arrives at a full ring, and a
/// program that lets its stack wait for a while, as Node.js does, must not lose what 10,000 connections send meanwhile.
pub(super) const ARRIVING: u32 = 16 * 1024;
/// Room for frames that leave. Where there is none, the stack waits and loses nothing.
pub(super) const LEAVING: u32 = 8 * 1024;
/// What the kernel keeps free before a frame that arrives (`XDP_PACKET_HEADROOM`).
const HEADROOM_BYTES: usize = 256;
/// Frames on their way are charged to the socket until whoever has them lets them go, which a queue further on does late: what
/// it may be charged, half of what the kernel then allows (socket(7)). Some 900 frames, fewer than a device's backlog takes
/// (`netdev_max_backlog`). With the usual 200 KiB a cable of 200 Mbit/s would run dry whenever we do not run for 5 ms.
const SEND_BUFFER_BYTES: usize = 1 << 20;
/// The sizes of frames that the kernel knows: a power of two from 2048 to a page.
const CHUNK_BYTES: [usize; 2] = [2048, 4096];

/// Room for the frames of both directions: first those that arrive, behind them those that leave.
#[derive(Debug)]
pub(super) struct Memory {
    mapping: Mapping,
    pub(super) chunk_bytes: usize,
}

impl Memory {
    /// With frames of at least that length; `None` when no page holds one.
    fn for_frames_of(bytes: usize) -> Option<io::Result<Self>> {
        let chunk_bytes = CHUNK_BYTES.into_iter().find(|chunk| bytes + HEADROOM_BYTES <= *chunk)?;
        let mapping = Mapping::anonymous((ARRIVING + LEAVING) as usize * chunk_bytes);
        Some(mapping.map(|mapping| Self { mapping, chunk_bytes }))
    }

    /// The addresses of the frames for a direction.
    pub(super) fn addresses(&self, to_send: bool) -> impl Iterator<Item = u64> {
        let indices = if to_send { ARRIVING..ARRIVING + LEAVING } else { 0..ARRIVING };
        let chunk_bytes = self.chunk_bytes as u64;
        indices.map(move |index| u64::from(index) * chunk_bytes)
    }

    /// The frame that an address is in; `None` for an address beyond those of frames that arrive.
    pub(super) fn arrived(&self, address: u64) -> Option<u64> {
        let chunk = address & !(self.chunk_bytes as u64 - 1);
        (chunk < u64::from(ARRIVING) * self.chunk_bytes as u64).then_some(chunk)
    }

    /// Where `length` bytes at an address begin, all in one frame; `None` when they are not.
    pub(super) fn range(&self, address: u64, length: usize) -> Option<NonNull<u8>> {
        let address = usize::try_from(address).ok()?;
        let within = address % self.chunk_bytes + length <= self.chunk_bytes;
        self.mapping.range(address, length).filter(|_| within)
    }
}

/// All that a socket consists of.
pub(super) struct Parts {
    pub(super) socket: Arc<OwnedFd>,
    pub(super) memory: Arc<Memory>,
    pub(super) receive: Queue,
    pub(super) fill: Queue,
    pub(super) transmit: Queue,
    pub(super) completion: Queue,
}

/// Makes a socket with memory for frames of that length, and its rings.
pub(super) fn make(frame_bytes: usize) -> Result<Parts, (Step, io::Error)> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::XDP, SocketType::RAW, flags, None)
        .map(assay_descriptors::keep)
        .map_err(|error| (Step::Socket, error.into()))?;
    register(socket, frame_bytes).map_err(|error| (Step::Memory, error))
}

fn register(socket: OwnedFd, frame_bytes: usize) -> io::Result<Parts> {
    let too_long = || {
        let text = "frames longer than a page are not supported; set a smaller MTU (`ip link set INTERFACE mtu 1500`)";
        io::Error::new(io::ErrorKind::Unsupported, text)
    };
    let memory = Memory::for_frames_of(frame_bytes).ok_or_else(too_long)??;
    let start = memory.mapping.range(0, 0).ok_or_else(too_long)?;
    let region = XdpUmemReg {
        addr: start.as_ptr() as u64,
        len: memory.mapping.bytes() as u64,
        chunk_size: memory.chunk_bytes as u32,
        headroom: 0,
        flags: XdpUmemRegFlags::empty(),
        tx_metadata_len: 0,
    };
    sockopt::set_xdp_umem_reg(&socket, region)?;
    sockopt::set_xdp_umem_fill_ring_size(&socket, ARRIVING)?;
    sockopt::set_xdp_umem_completion_ring_size(&socket, LEAVING)?;
    sockopt::set_xdp_rx_ring_size(&socket, ARRIVING)?;
    sockopt::set_xdp_tx_ring_size(&socket, LEAVING)?;
    // Needs CAP_NET_ADMIN, as attaching the program does; without it the usual size has to do.
    let _ = sockopt::set_socket_send_buffer_size_force(&socket, SEND_BUFFER_BYTES);
    let offsets = sockopt::xdp_mmap_offsets(&socket)?;
    let queue = |kind, offsets, size| Queue::of(socket.as_fd(), kind, offsets, size);
    Ok(Parts {
        receive: queue(RingKind::Receive, offsets.rx, ARRIVING)?,
        fill: queue(RingKind::Fill, offsets.fr, ARRIVING)?,
        transmit: queue(RingKind::Transmit, offsets.tx, LEAVING)?,
        completion: queue(RingKind::Completion, offsets.cr, LEAVING)?,
        memory: Arc::new(memory),
        socket: Arc::new(socket),
    })
}

/// Binds a socket to a queue. In the driver, whether frames are copied is left to the kernel, which does so where the driver
/// cannot do without.
pub(super) fn bind(socket: &OwnedFd, interface: u32, queue: u32, mode: Mode) -> io::Result<()> {
    let copies = match mode {
        Mode::Generic => SocketAddrXdpFlags::XDP_COPY,
        Mode::Native => SocketAddrXdpFlags::empty(),
    };
    let flags = SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP | copies;
    Ok(rustix::net::bind(socket, &SocketAddrXdp::new(flags, interface, queue))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_frame_reaches_into_another() {
        let memory = Memory::for_frames_of(1514).expect("fits").expect("memory");
        assert_eq!(memory.chunk_bytes, 2048);
        assert!(memory.range(2048 + 256, 1792).is_some());
        assert!(memory.range(2048 + 256, 1793).is_none());
        assert!(memory.range(u64::MAX, 1).is_none());
        assert_eq!(memory.arrived(2048 + 300), Some(2048));
        assert_eq!(memory.arrived(u64::from(ARRIVING) * 2048), None);
        assert!(memory.addresses(false).chain(memory.addresses(true)).is_sorted());
        let last = memory.addresses(true).last().expect("frames");
        assert!(memory.range(last, 2048).is_some() && memory.range(last + 2048, 1).is_none());
        assert_eq!(Memory::for_frames_of(3840).expect("fits").expect("memory").chunk_bytes, 4096);
        assert!(Memory::for_frames_of(3841).is_none());
    }
}
