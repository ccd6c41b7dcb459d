//! Bytes: read, write, recv, send and their kin, sendfile.

use std::ffi::{c_int, c_void};
use std::io::{IoSlice, IoSliceMut};

use rustix::io::Errno;

use super::calls;
use crate::host::{answer, real, result};
use crate::process;

/// Bytes of a file that are read at once to be sent; what the connection has no room for is read again.
const FILE_BYTES: usize = 64 * 1024;

/// `read(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, length: usize) -> isize {
    if !process::is_ours(fd) {
        let read = real!(read: fn(c_int, *mut c_void, usize) -> isize);
        // SAFETY: the caller's promise.
        return unsafe { read(fd, buffer, length) };
    }
    // SAFETY: the caller's promise.
    unsafe { receive_into(fd, buffer, length, 0) }
}

/// `write(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, length: usize) -> isize {
    if !process::is_ours(fd) {
        let write = real!(write: fn(c_int, *const c_void, usize) -> isize);
        // SAFETY: the caller's promise.
        return unsafe { write(fd, buffer, length) };
    }
    // SAFETY: the caller's promise.
    unsafe { send_from(fd, buffer, length, 0) }
}

/// `recv(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recv(fd: c_int, buffer: *mut c_void, length: usize, flags: c_int) -> isize {
    if !process::is_ours(fd) {
        let recv = real!(recv: fn(c_int, *mut c_void, usize, c_int) -> isize);
        // SAFETY: the caller's promise.
        return unsafe { recv(fd, buffer, length, flags) };
    }
    // SAFETY: the caller's promise.
    unsafe { receive_into(fd, buffer, length, flags) }
}

/// `recvfrom(2)`: a connection's peer is not told again.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recvfrom(
    fd: c_int,
    buffer: *mut c_void,
    length: usize,
    flags: c_int,
    name: *mut libc::sockaddr,
    name_length: *mut libc::socklen_t,
) -> isize {
    if !process::is_ours(fd) {
        let recvfrom = real!(recvfrom: fn(c_int, *mut c_void, usize, c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> isize);
        // SAFETY: the caller's promise.
        return unsafe { recvfrom(fd, buffer, length, flags, name, name_length) };
    }
    // SAFETY: the caller's promise.
    unsafe { receive_into(fd, buffer, length, flags) }
}

/// `send(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn send(fd: c_int, buffer: *const c_void, length: usize, flags: c_int) -> isize {
    if !process::is_ours(fd) {
        let send = real!(send: fn(c_int, *const c_void, usize, c_int) -> isize);
        // SAFETY: the caller's promise.
        return unsafe { send(fd, buffer, length, flags) };
    }
    // SAFETY: the caller's promise.
    unsafe { send_from(fd, buffer, length, flags) }
}

/// `sendto(2)`: a connection has its peer, whatever is named here.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendto(
    fd: c_int,
    buffer: *const c_void,
    length: usize,
    flags: c_int,
    name: *const libc::sockaddr,
    name_length: libc::socklen_t,
) -> isize {
    if !process::is_ours(fd) {
        let sendto = real!(sendto: fn(c_int, *const c_void, usize, c_int, *const libc::sockaddr, libc::socklen_t) -> isize);
        // SAFETY: the caller's promise.
        return unsafe { sendto(fd, buffer, length, flags, name, name_length) };
    }
    // SAFETY: the caller's promise.
    unsafe { send_from(fd, buffer, length, flags) }
}

/// `readv(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn readv(fd: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    if !process::is_ours(fd) {
        let readv = real!(readv: fn(c_int, *const libc::iovec, c_int) -> isize);
        // SAFETY: the caller's promise.
        return unsafe { readv(fd, parts, count) };
    }
    // SAFETY: the caller's promise.
    answer(unsafe { writable(parts, count as usize) }.and_then(|mut parts| calls::receive(fd, &mut parts, 0)))
}

/// `writev(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn writev(fd: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    if !process::is_ours(fd) {
        let writev = real!(writev: fn(c_int, *const libc::iovec, c_int) -> isize);
        // SAFETY: the caller's promise.
        return unsafe { writev(fd, parts, count) };
    }
    // SAFETY: the caller's promise.
    answer(unsafe { readable(parts, count as usize) }.and_then(|mut parts| calls::send(fd, &mut parts, 0)))
}

/// `sendfile(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendfile(
    fd: c_int,
    file: c_int,
    offset: *mut libc::off_t,
    length: usize,
) -> isize {
    if !process::is_ours(fd) {
        let sendfile = real!(sendfile: fn(c_int, c_int, *mut libc::off_t, usize) -> isize);
        // SAFETY: the caller's promise.
        return unsafe { sendfile(fd, file, offset, length) };
    }
    // SAFETY: the caller's promise: null, or an offset.
    let from = unsafe { offset.as_ref() }.map_or_else(|| seek(file, 0, libc::SEEK_CUR), |&offset| Ok(offset));
    let sent = from.and_then(|from| Ok((from, copy_file(fd, file, from, length)?)));
    if let Ok((from, n)) = sent {
        let next = from + n as libc::off_t;
        // SAFETY: as above.
        match unsafe { offset.as_mut() } {
            Some(offset) => *offset = next,
            // The file was readable there a moment ago.
            None => drop(seek(file, next, libc::SEEK_SET)),
        }
    }
    answer(sent.map(|(_, n)| n))
}

/// `sendfile(2)` under its other name: offsets have 64 bits in both.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendfile64(
    fd: c_int,
    file: c_int,
    offset: *mut libc::off_t,
    length: usize,
) -> isize {
    // SAFETY: the caller's promise.
    unsafe { sendfile(fd, file, offset, length) }
}

/// `splice(2)`: pipes are the kernel's, and bytes of the stack are not there.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn splice(
    from: c_int,
    from_offset: *mut libc::off64_t,
    to: c_int,
    to_offset: *mut libc::off64_t,
    length: usize,
    flags: u32,
) -> isize {
    if process::is_ours(from) || process::is_ours(to) {
        crate::log::say(
            "splice(2) with a socket of the stack cannot be carried; let the program read and write",
        );
        return answer(Err(Errno::INVAL));
    }
    let splice = real!(splice: fn(c_int, *mut libc::off64_t, c_int, *mut libc::off64_t, usize, u32) -> isize);
    // SAFETY: the caller's promise.
    unsafe { splice(from, from_offset, to, to_offset, length, flags) }
}

/// `read` as a fortified program calls it: it knows the buffer's size (Linux Standard Base, `__read_chk`).
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __read_chk(
    fd: c_int,
    buffer: *mut c_void,
    length: usize,
    size: usize,
) -> isize {
    let length = unfortified(length, size);
    // SAFETY: the caller's promise.
    unsafe { read(fd, buffer, length) }
}

/// `recv` as a fortified program calls it.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __recv_chk(
    fd: c_int,
    buffer: *mut c_void,
    length: usize,
    size: usize,
    flags: c_int,
) -> isize {
    let length = unfortified(length, size);
    // SAFETY: the caller's promise.
    unsafe { recv(fd, buffer, length, flags) }
}

/// `recvfrom` as a fortified program calls it.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __recvfrom_chk(
    fd: c_int,
    buffer: *mut c_void,
    length: usize,
    size: usize,
    flags: c_int,
    name: *mut libc::sockaddr,
    name_length: *mut libc::socklen_t,
) -> isize {
    let length = unfortified(length, size);
    // SAFETY: the caller's promise.
    unsafe { recvfrom(fd, buffer, length, flags, name, name_length) }
}

/// What a program asked for if its buffer holds it. One that would write beyond is ended, as the C library would.
pub(super) fn unfortified(length: usize, size: usize) -> usize {
    if length > size { std::process::abort() } else { length }
}

/// # Safety
/// The caller's promise: the buffer is writable for its length.
unsafe fn receive_into(fd: c_int, buffer: *mut c_void, length: usize, flags: c_int) -> isize {
    // SAFETY: as promised; a length of 0 allows any pointer.
    answer(
        unsafe { writable(&libc::iovec { iov_base: buffer, iov_len: length }, 1) }
            .and_then(|mut parts| calls::receive(fd, &mut parts, flags)),
    )
}

/// # Safety
/// The caller's promise: the buffer is readable for its length.
unsafe fn send_from(fd: c_int, buffer: *const c_void, length: usize, flags: c_int) -> isize {
    // SAFETY: as promised; a length of 0 allows any pointer.
    answer(
        unsafe { readable(&libc::iovec { iov_base: buffer.cast_mut(), iov_len: length }, 1) }
            .and_then(|mut parts| calls::send(fd, &mut parts, flags)),
    )
}

/// # Safety
/// The caller's promise: `count` parts, each writable for its length.
pub(super) unsafe fn writable<'a>(
    parts: *const libc::iovec,
    count: usize,
) -> Result<Vec<IoSliceMut<'a>>, Errno> {
    // SAFETY: as promised.
    let filled = unsafe { filled(parts, count) }?;
    let slice = |part: &libc::iovec| {
        // SAFETY: as promised, and not null.
        IoSliceMut::new(unsafe { std::slice::from_raw_parts_mut(part.iov_base.cast(), part.iov_len) })
    };
    Ok(filled.iter().filter(|p| p.iov_len > 0).map(slice).collect())
}

/// # Safety
/// The caller's promise: `count` parts, each readable for its length.
pub(super) unsafe fn readable<'a>(
    parts: *const libc::iovec,
    count: usize,
) -> Result<Vec<IoSlice<'a>>, Errno> {
    // SAFETY: as promised.
    let filled = unsafe { filled(parts, count) }?;
    let slice = |part: &libc::iovec| {
        // SAFETY: as promised, and not null.
        IoSlice::new(unsafe { std::slice::from_raw_parts(part.iov_base.cast(), part.iov_len) })
    };
    Ok(filled.iter().filter(|p| p.iov_len > 0).map(slice).collect())
}

/// The parts, none of which lies at no address.
///
/// # Safety
/// The caller's promise: `count` parts.
unsafe fn filled<'a>(parts: *const libc::iovec, count: usize) -> Result<&'a [libc::iovec], Errno> {
    if count > libc::UIO_MAXIOV as usize {
        return Err(Errno::INVAL);
    }
    if count == 0 {
        return Ok(&[]);
    }
    if parts.is_null() {
        return Err(Errno::FAULT);
    }
    // SAFETY: as promised.
    let parts = unsafe { std::slice::from_raw_parts(parts, count) };
    if parts.iter().any(|p| p.iov_len > 0 && p.iov_base.is_null()) {
        return Err(Errno::FAULT);
    }
    Ok(parts)
}

/// Sends what comes of the file, as far as there is room or to the end.
fn copy_file(fd: c_int, file: c_int, from: libc::off_t, length: usize) -> Result<usize, Errno> {
    let pread = real!(pread64: fn(c_int, *mut c_void, usize, libc::off64_t) -> isize);
    let mut bytes = vec![0u8; FILE_BYTES.min(length)];
    let mut sent = 0;
    while sent < length {
        let room = bytes.len().min(length - sent);
        // SAFETY: the vector is writable for the length given.
        let read =
            match result(unsafe { pread(file, bytes.as_mut_ptr().cast(), room, from + sent as libc::off_t) })
            {
                Err(error) if sent == 0 => return Err(error),
                // What is on its way counts, or the program would send it twice.
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
        match calls::send(fd, &mut [IoSlice::new(&bytes[..read])], 0) {
            Ok(n) => {
                sent += n;
                if n < read {
                    break;
                }
            }
            Err(error) if sent == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(sent)
}

fn seek(file: c_int, offset: libc::off_t, whence: c_int) -> Result<libc::off_t, Errno> {
    let lseek = real!(lseek: fn(c_int, libc::off_t, c_int) -> libc::off_t);
    // SAFETY: no pointers.
    result(unsafe { lseek(file, offset, whence) } as isize).map(|at| at as libc::off_t)
}
