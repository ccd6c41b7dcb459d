//! The functions of `shim.c`, and what owns their pointers.

use std::ffi::{CString, c_char, c_int};
use std::io;
use std::mem::forget;
use std::ptr::{NonNull, null};
use std::slice;

use rustix::thread::{sched_getaffinity, sched_setaffinity};

/// `struct rte_mbuf`, which only DPDK looks into.
#[repr(C)]
struct Buffer {
    _hidden: [u8; 0],
}

/// `struct assay_port`.
#[repr(C)]
#[derive(Debug)]
struct RawPort {
    number: u16,
    mtu: u16,
    hardware: [u8; 6],
    pool: *const u8,
}

unsafe extern "C" {
    fn assay_dpdk_begin(count: c_int, arguments: *mut *mut c_char) -> c_int;
    fn assay_dpdk_start(port: *mut RawPort, queues: u16) -> c_int;
    fn assay_dpdk_stop(port: *const RawPort);
    fn assay_dpdk_lost(port: *const RawPort) -> u64;
    fn assay_dpdk_is_up(port: *const RawPort) -> c_int;
    fn assay_dpdk_join();
    fn assay_dpdk_receive(port: *const RawPort, queue: u16, frames: *mut Frame, most: u16) -> u16;
    fn assay_dpdk_send(port: *const RawPort, queue: u16, frames: *mut Frame, most: u16) -> u16;
    fn assay_dpdk_allocate(port: *const RawPort) -> *mut Buffer;
    fn assay_dpdk_free(frame: *mut Buffer);
    fn assay_dpdk_bytes(frame: *const Buffer, length: *mut u16) -> *const u8;
    fn assay_dpdk_extend(frame: *mut Buffer, length: u16) -> *mut u8;
}

/// A frame in DPDK's memory, which it gets back on drop.
#[repr(transparent)]
#[derive(Debug)]
pub(super) struct Frame(NonNull<Buffer>);

// SAFETY: a frame has one owner; DPDK's pools take frames back from any thread.
unsafe impl Send for Frame {}

impl Frame {
    /// Bytes of the frame; `None` when they are in several pieces.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        let mut length = 0;
        // SAFETY: a frame that we own, and a place for its length.
        let first = unsafe { assay_dpdk_bytes(self.0.as_ptr(), &raw mut length) };
        // SAFETY: DPDK says that as many bytes follow, and nobody writes to them while we own the frame.
        (!first.is_null()).then(|| unsafe { slice::from_raw_parts(first, length.into()) })
    }

    /// Makes an empty frame that long; `None` when it has no such room.
    pub(super) fn extend(&mut self, length: usize) -> Option<&mut [u8]> {
        let bytes = u16::try_from(length).ok()?;
        // SAFETY: a frame that we own.
        let first = unsafe { assay_dpdk_extend(self.0.as_ptr(), bytes) };
        // SAFETY: DPDK has found room for as many bytes from there on, which are ours as the frame is. What they hold is left
        // from earlier frames.
        (!first.is_null()).then(|| unsafe { slice::from_raw_parts_mut(first, length) })
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: a frame that we own, and not any more.
        unsafe { assay_dpdk_free(self.0.as_ptr()) };
    }
}

/// A device that was started; stopped on drop.
#[derive(Debug)]
pub(super) struct Port {
    raw: RawPort,
}

// SAFETY: the device's queues may be used by different threads at once, which `super::open` sees to, as each queue is taken by
// one wire (DPDK programmer's guide, "Poll Mode Driver"); all else is read only.
unsafe impl Send for Port {}
// SAFETY: as above.
unsafe impl Sync for Port {}

impl Port {
    /// Begins the environment, which can be done once in a process, and starts its first device.
    pub(super) fn start(arguments: &str, queues: u16) -> io::Result<Self> {
        begin(arguments)?;
        let mut raw = RawPort { number: 0, mtu: 0, hardware: [0; 6], pool: null() };
        // SAFETY: a structure of the shape that the function fills.
        check(unsafe { assay_dpdk_start(&raw mut raw, queues) })?;
        Ok(Self { raw })
    }

    pub(super) fn mtu(&self) -> usize {
        self.raw.mtu.into()
    }

    pub(super) fn hardware(&self) -> [u8; 6] {
        self.raw.hardware
    }

    /// Frames that the device had no room for.
    pub(super) fn lost(&self) -> u64 {
        // SAFETY: a device that was started.
        unsafe { assay_dpdk_lost(&raw const self.raw) }
    }

    /// Whether its link is up.
    pub(super) fn is_up(&self) -> bool {
        // SAFETY: a device that was started.
        unsafe { assay_dpdk_is_up(&raw const self.raw) == 1 }
    }

    /// Appends up to `most` frames that have arrived.
    pub(super) fn receive(&self, queue: u16, frames: &mut Vec<Frame>, most: usize) {
        frames.reserve(most);
        let end = frames.spare_capacity_mut().as_mut_ptr().cast::<Frame>();
        // SAFETY: room for `most` frames. A `Frame` is a pointer that is not null, as are all that the driver writes, and those
        // it wrote are ours from then on.
        unsafe {
            let count = assay_dpdk_receive(&raw const self.raw, queue, end, most as u16);
            frames.set_len(frames.len() + usize::from(count).min(most));
        }
    }

    /// Sends the first of these frames, as many as the device takes.
    pub(super) fn send(&self, queue: u16, frames: &mut Vec<Frame>) {
        let most = frames.len();
        // SAFETY: as many frames as we say. Those it took are the driver's from then on, and forgotten here.
        let count = unsafe { assay_dpdk_send(&raw const self.raw, queue, frames.as_mut_ptr(), most as u16) };
        frames.drain(..usize::from(count).min(most)).for_each(forget);
    }

    /// An empty frame; `None` when there is none now.
    pub(super) fn allocate(&self) -> Option<Frame> {
        // SAFETY: a device that was started.
        NonNull::new(unsafe { assay_dpdk_allocate(&raw const self.raw) }).map(Frame)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // SAFETY: a device that was started; no wire uses it any more.
        unsafe { assay_dpdk_stop(&raw const self.raw) };
    }
}

/// Lets this thread have frames at hand.
pub(super) fn join() {
    // SAFETY: may be called by any thread after the environment has begun, also twice.
    unsafe { assay_dpdk_join() };
}

fn begin(arguments: &str) -> io::Result<()> {
    let words = std::iter::once("assay").chain(arguments.split_whitespace());
    // DPDK keeps pointers to its arguments and may change their order; they live as long as the process.
    let words: Result<Vec<*mut c_char>, _> =
        words.map(|word| CString::new(word).map(CString::into_raw)).collect();
    let mut words = words?;
    let count = words.len() as c_int;
    words.push(std::ptr::null_mut());
    // It pins the calling thread to a CPU that it chooses; where ours run is decided above.
    let cpus = sched_getaffinity(None)?;
    // SAFETY: as many strings as we say, all of which live on, and a null pointer behind them as behind those of main().
    let result = check(unsafe { assay_dpdk_begin(count, words.leak().as_mut_ptr()) });
    sched_setaffinity(None, &cpus)?;
    result
}

/// Zero, or a negative error number.
fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}
