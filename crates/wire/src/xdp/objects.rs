//! What the kernel has of bpf(2), whoever made it: found by its number, and asked what it is.
//!
//! Numbers are for CAP_SYS_ADMIN in the first user namespace alone (`bpf_obj_get_next_id`, `bpf_link_get_fd_by_id` and their
//! like in kernel/bpf/syscall.c).

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use super::bpf::{bpf, owned};

/// Commands of linux/bpf.h.
const PROG_GET_FD_BY_ID: libc::c_long = 13;
const MAP_GET_FD_BY_ID: libc::c_long = 14;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const LINK_GET_FD_BY_ID: libc::c_long = 30;
const LINK_GET_NEXT_ID: libc::c_long = 31;
/// `BPF_LINK_TYPE_XDP`.
const LINK_TYPE_XDP: u32 = 6;

/// A program (`struct bpf_prog_info`, of which we need the beginning).
#[repr(C)]
#[derive(Default)]
pub(super) struct Program {
    kind: u32,
    number: u32,
    /// A sum over its instructions, in which the numbers of maps count as none.
    tag: [u8; 8],
    code_bytes: [u32; 2],
    code: [u64; 2],
    loaded: u64,
    user: u32,
    map_count: u32,
    maps: u64,
    name: [u8; 16],
}

impl Program {
    pub(super) fn of(program: BorrowedFd<'_>) -> io::Result<Self> {
        let mut info = Self::default();
        // SAFETY: a structure of integers, in which no pointer with a length of more than zero is given.
        unsafe { ask(program, &mut info) }?;
        Ok(info)
    }

    /// Whether the two do the same under the same name, if each over a map of its own.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.kind, self.tag, self.name) == (other.kind, other.tag, other.name)
    }
}

/// The first map of a program.
pub(super) fn map_of(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut number = 0_u32;
    let mut info = Program { map_count: 1, maps: (&raw mut number) as u64, ..Program::default() };
    // SAFETY: a structure of integers, in which the one pointer with a length is to as many numbers, which outlive the call.
    unsafe { ask(program, &mut info) }?;
    open(MAP_GET_FD_BY_ID, number)
}

/// The program of that number.
pub(super) fn program(number: u32) -> io::Result<OwnedFd> {
    open(PROG_GET_FD_BY_ID, number)
}

/// The link by which a program is on an interface of our network namespace; `None` if there is none, or none any more.
pub(super) fn link_of(program: u32, interface: u32) -> io::Result<Option<OwnedFd>> {
    /// The beginning of `struct bpf_link_info`, where that is for XDP.
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        kind: u32,
        number: u32,
        program: u32,
        padding: u32,
        interface: u32,
    }
    let mut number = 0;
    while let Some(next) = link_behind(number)? {
        number = next;
        // One that is just being made or unmade cannot be had.
        let Ok(link) = open(LINK_GET_FD_BY_ID, number) else { continue };
        let mut info = Info::default();
        // SAFETY: a structure of integers without pointers.
        unsafe { ask(link.as_fd(), &mut info) }?;
        if (info.kind, info.program, info.interface) == (LINK_TYPE_XDP, program, interface) {
            return Ok(Some(link));
        }
    }
    Ok(None)
}

/// The lowest number of a link above that one.
///
/// # Errors
/// EPERM: numbers are not for us.
pub(super) fn link_behind(number: u32) -> io::Result<Option<u32>> {
    #[repr(C)]
    struct Attributes {
        number: u32,
        next: u32,
    }
    let mut attributes = Attributes { number, next: 0 };
    // SAFETY: the attributes of this command, without pointers; the kernel writes the number into them.
    match unsafe { bpf(LINK_GET_NEXT_ID, &mut attributes) } {
        Ok(_) => Ok(Some(attributes.next)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open(command: libc::c_long, number: u32) -> io::Result<OwnedFd> {
    // SAFETY: the attributes of these commands begin with the number, and there is no pointer in them.
    unsafe { bpf(command, &mut { number }) }.map(owned)
}

/// What the kernel says of an object.
///
/// # Safety
/// `info` must be the beginning of the structure for objects of this kind, and its pointers must be to as much memory as
/// it says.
unsafe fn ask<T>(object: BorrowedFd<'_>, info: &mut T) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        object: u32,
        info_bytes: u32,
        info: u64,
    }
    let mut attributes = Attributes {
        object: object.as_raw_fd() as u32,
        info_bytes: size_of::<T>() as u32,
        info: std::ptr::from_mut(info) as u64,
    };
    // SAFETY: the attributes of this command; by the caller, the rest.
    unsafe { bpf(OBJ_GET_INFO_BY_FD, &mut attributes) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_alike_by_name_and_tag_whatever_their_numbers_and_maps() {
        let ours = || Program { tag: [1; 8], name: *b"assay_redirect\0\0", ..Program::default() };
        assert!(ours().is_like(&Program { number: 7, map_count: 1, loaded: 9, ..ours() }));
        assert!(!ours().is_like(&Program { tag: [2; 8], ..ours() }));
        assert!(!ours().is_like(&Program { name: *b"xdp_dispatcher\0\0", ..ours() }));
    }
}
