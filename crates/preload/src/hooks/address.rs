//! Addresses as the C library hands them over (sockaddr(3type)).

use std::ffi::c_int;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::RawFd;

use rustix::io::Errno;

use crate::host::{real, result};

/// The address behind a caller's pointer; `None` when it is not one of the internet's.
///
/// # Safety
/// The caller's promise: `address` is null or readable for `length` bytes.
pub(super) unsafe fn read(address: *const libc::sockaddr, length: libc::socklen_t) -> Option<SocketAddr> {
    let length = length as usize;
    if address.is_null() || length < size_of::<libc::sockaddr_in>() {
        return None;
    }
    // SAFETY: readable for at least the family, then for the structure of that family, as was checked; it need not be aligned.
    unsafe {
        match c_int::from(address.cast::<libc::sa_family_t>().read_unaligned()) {
            libc::AF_INET => {
                let v4 = address.cast::<libc::sockaddr_in>().read_unaligned();
                let ip = Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr));
                Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 if length >= size_of::<libc::sockaddr_in6>() => {
                let v6 = address.cast::<libc::sockaddr_in6>().read_unaligned();
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let port = u16::from_be(v6.sin6_port);
                Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

/// Writes an address where the caller wants it, cut to the room there is, and its whole length.
///
/// # Safety
/// The caller's promise: both are null, or `length` is writable and `room` for as many bytes as it says.
pub(super) unsafe fn write(address: SocketAddr, room: *mut libc::sockaddr, length: *mut libc::socklen_t) {
    if room.is_null() || length.is_null() {
        return;
    }
    let (storage, size) = storage_of(address);
    // SAFETY: no more than the room is written, and the storage is larger than any address.
    unsafe {
        let fits = (*length as usize).min(size);
        std::ptr::copy_nonoverlapping((&raw const storage).cast::<u8>(), room.cast::<u8>(), fits);
        *length = size as libc::socklen_t;
    }
}

/// The address that a socket of the kernel is bound to, if it is one of the internet's.
pub(super) fn bound(socket: RawFd) -> Option<SocketAddr> {
    // SAFETY: an address of zeros is valid, and it is writable for the length given.
    unsafe {
        let mut storage: libc::sockaddr_storage = std::mem::zeroed();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        let name = real!(getsockname: fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int);
        let told = name(socket, (&raw mut storage).cast(), &raw mut length);
        (told == 0).then(|| read((&raw const storage).cast(), length)).flatten()
    }
}

/// Binds a socket of the kernel to a port that is free at its wildcard address, as listen(2) does.
pub(super) fn bind_anywhere(socket: RawFd, is_ipv6: bool) -> Result<(), Errno> {
    let any = if is_ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let (storage, size) = storage_of(SocketAddr::new(any, 0));
    let bind = real!(bind: fn(c_int, *const libc::sockaddr, libc::socklen_t) -> c_int);
    // SAFETY: the storage is readable for its length.
    result(unsafe { bind(socket, (&raw const storage).cast(), size as libc::socklen_t) } as isize).map(drop)
}

fn storage_of(address: SocketAddr) -> (libc::sockaddr_storage, usize) {
    // SAFETY: an address of zeros is valid, and the storage is larger and as aligned as any address.
    unsafe {
        let mut storage: libc::sockaddr_storage = std::mem::zeroed();
        let size = match address {
            SocketAddr::V4(v4) => {
                let plain = &mut *(&raw mut storage).cast::<libc::sockaddr_in>();
                plain.sin_family = libc::AF_INET as libc::sa_family_t;
                plain.sin_port = v4.port().to_be();
                plain.sin_addr.s_addr = v4.ip().to_bits().to_be();
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let plain = &mut *(&raw mut storage).cast::<libc::sockaddr_in6>();
                plain.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                plain.sin6_port = v6.port().to_be();
                plain.sin6_addr.s6_addr = v6.ip().octets();
                (plain.sin6_flowinfo, plain.sin6_scope_id) = (v6.flowinfo(), v6.scope_id());
                size_of::<libc::sockaddr_in6>()
            }
        };
        (storage, size)
    }
}
