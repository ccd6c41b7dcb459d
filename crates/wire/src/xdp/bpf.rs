//! The XDP program that hands the frames of our queues to us, and the system call that loads it (bpf(2)).
//!
//! Attached by a link, which lives as long as its descriptor: however this process ends, the interface is left as it was.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Commands, types and numbers of linux/bpf.h.
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
const FUNC_REDIRECT_MAP: i32 = 51;
const XDP_PASS: i32 = 2;
/// Says that an instruction's number is a map's descriptor.
const PSEUDO_MAP_FD: u8 = 1;
/// Where the queue's number is in `struct xdp_md`.
const RX_QUEUE_INDEX: i16 = 16;

/// Where in the kernel a program runs (`XDP_FLAGS_*` of linux/if_link.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Mode {
    /// Behind the driver, on any device, on the kernel's packet buffers.
    Generic = 1 << 1,
    /// In the driver, where it can; without copies where it can that too.
    Native = 1 << 2,
}

/// An instruction (kernel document bpf/standardization/instruction-set.rst).
#[repr(C)]
struct Instruction {
    opcode: u8,
    /// Destination in the low half, source in the high one.
    registers: u8,
    offset: i16,
    number: i32,
}

/// `return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS)`: frames of a queue that has a socket in the map go
/// there, all others go on to the kernel.
fn program(map: i32) -> [Instruction; 6] {
    let instruction = |opcode, destination: u8, source: u8, offset, number| Instruction {
        opcode,
        registers: source << 4 | destination,
        offset,
        number,
    };
    [
        instruction(0x61, 2, 1, RX_QUEUE_INDEX, 0), // r2 = *(u32 *)(r1 + 16)
        instruction(0x18, 1, PSEUDO_MAP_FD, 0, map), // r1 = map, in two instructions
        instruction(0, 0, 0, 0, 0),
        instruction(0xb7, 3, 0, 0, XDP_PASS),          // r3 = XDP_PASS
        instruction(0x85, 0, 0, 0, FUNC_REDIRECT_MAP), // r0 = bpf_redirect_map(r1, r2, r3)
        instruction(0x95, 0, 0, 0, 0),                 // return r0
    ]
}

/// Makes a map from the number of a queue to a socket.
pub(super) fn create_map(queues: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        map_type: u32,
        key_bytes: u32,
        value_bytes: u32,
        entries: u32,
    }
    let mut attributes =
        Attributes { map_type: MAP_TYPE_XSKMAP, key_bytes: 4, value_bytes: 4, entries: queues };
    // SAFETY: the attributes of this command, without pointers.
    let map = unsafe { bpf(MAP_CREATE, &mut attributes)? };
    Ok(owned(map))
}

/// Lets a queue's frames go to a socket.
pub(super) fn update_map(map: BorrowedFd<'_>, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        map: u64,
        key: u64,
        value: u64,
        flags: u64,
    }
    let socket = socket.as_raw_fd();
    let mut attributes = Attributes {
        map: map.as_raw_fd() as u64,
        key: (&raw const queue) as u64,
        value: (&raw const socket) as u64,
        flags: 0,
    };
    // SAFETY: the attributes of this command; key and value are of the map's sizes and live until it returns.
    unsafe { bpf(MAP_UPDATE_ELEM, &mut attributes) }.map(drop)
}

/// Loads the program over that map.
pub(super) fn load(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        program_type: u32,
        instructions: u32,
        first: u64,
        licence: u64,
        log_level: u32,
        log_bytes: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; 16],
        interface: u32,
        attach_type: u32,
    }
    let instructions = program(map.as_raw_fd());
    let mut attributes = Attributes {
        program_type: PROG_TYPE_XDP,
        instructions: instructions.len() as u32,
        first: instructions.as_ptr() as u64,
        licence: c"Dual MIT/GPL".as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name: *b"assay_redirect\0\0",
        interface: 0,
        attach_type: ATTACH_TYPE_XDP,
    };
    // SAFETY: the attributes of this command; instructions and licence live until it returns.
    let program = unsafe { bpf(PROG_LOAD, &mut attributes)? };
    Ok(owned(program))
}

/// Attaches a program to an interface, for as long as what is returned lives.
pub(super) fn attach(program: BorrowedFd<'_>, interface: u32, mode: Mode) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        program: u32,
        interface: u32,
        attach_type: u32,
        flags: u32,
    }
    let mut attributes = Attributes {
        program: program.as_raw_fd() as u32,
        interface,
        attach_type: ATTACH_TYPE_XDP,
        flags: mode as u32,
    };
    // SAFETY: the attributes of this command, without pointers.
    let link = unsafe { bpf(LINK_CREATE, &mut attributes)? };
    Ok(owned(link))
}

/// The system call.
///
/// # Safety
/// `attributes` must be those of the command, and what they point to must live until it returns.
pub(super) unsafe fn bpf<T>(command: libc::c_long, attributes: &mut T) -> io::Result<i32> {
    // SAFETY: by the caller; the kernel reads and writes as many bytes as we say and takes the rest as zero.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(attributes).cast::<libc::c_void>(),
            size_of::<T>(),
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

/// The descriptor that a command has returned.
pub(super) fn owned(descriptor: i32) -> OwnedFd {
    // SAFETY: the kernel has just made it for us, with the close-on-exec flag.
    assay_descriptors::keep(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
