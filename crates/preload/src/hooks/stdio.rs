//! The C library's streams (stdio(3)): they read and write by calls within the C library, which nothing can stand before.
//!
//! So a stream that is opened on a socket of the stack is made of functions of ours instead (fopencookie(3)): fgets(3), fprintf(3)
//! and all others work on it. What is left is the three streams that a program begins with, once a socket is put under one of
//! their numbers, and dprintf(3), which makes a stream of its own for a moment: the kernel answers those, with `EPIPE` or
//! `ENOTCONN` as for any socket that is not connected.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::Errno;

use super::{descriptors, io};
use crate::host::{answer, real};
use crate::{log, marks, process};

/// How many streams are open on sockets of the stack. What they are is asked only when there is one.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static NUMBERED: AtomicUsize = AtomicUsize::new(0);
/// A cookie is the stream's own number, and below it the descriptor in so many bits.
const DESCRIPTOR_BITS: u32 = 20;

type Stream = *mut libc::FILE;

/// What a stream is made of (fopencookie(3)).
#[repr(C)]
struct Functions {
    read: extern "C" fn(*mut c_void, *mut c_char, usize) -> isize,
    write: extern "C" fn(*mut c_void, *const c_char, usize) -> isize,
    seek: extern "C" fn(*mut c_void, *mut libc::off64_t, c_int) -> c_int,
    close: extern "C" fn(*mut c_void) -> c_int,
}

/// `fdopen(3)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn fdopen(fd: c_int, mode: *const c_char) -> Stream {
    if !process::is_ours(fd) {
        let fdopen = real!(fdopen: fn(c_int, *const c_char) -> Stream);
        // SAFETY: the caller's promise.
        return unsafe { fdopen(fd, mode) };
    }
    let functions =
        Functions { read: read_stream, write: write_stream, seek: seek_stream, close: close_stream };
    let open = real!(fopencookie: fn(*mut c_void, *const c_char, Functions) -> Stream);
    let cookie = NUMBERED.fetch_add(1, Ordering::Relaxed) << DESCRIPTOR_BITS | fd as usize;
    // SAFETY: the mode is the caller's promise; the cookie is a number, and the functions are there as long as this library.
    let stream = unsafe { open(cookie as *mut c_void, mode, functions) };
    if !stream.is_null() {
        on_streams(|streams| streams.push((stream as usize, cookie)));
    }
    stream
}

/// `fclose(3)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn fclose(stream: Stream) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { forget_under(stream) };
    let fclose = real!(fclose: fn(Stream) -> c_int);
    // SAFETY: the caller's promise.
    unsafe { fclose(stream) }
}

/// `freopen(3)`: the C library has no way to make one of its own out of a stream that is made of functions.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn freopen(path: *const c_char, mode: *const c_char, stream: Stream) -> Stream {
    let freopen = real!(freopen: fn(*const c_char, *const c_char, Stream) -> Stream);
    // SAFETY: the caller's promise.
    unsafe { open_anew(path, mode, stream, freopen) }
}

/// `freopen(3)` as programs with 64-bit offsets call it.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn freopen64(
    path: *const c_char,
    mode: *const c_char,
    stream: Stream,
) -> Stream {
    let freopen = real!(freopen64: fn(*const c_char, *const c_char, Stream) -> Stream);
    // SAFETY: the caller's promise.
    unsafe { open_anew(path, mode, stream, freopen) }
}

type Reopen = unsafe extern "C" fn(*const c_char, *const c_char, Stream) -> Stream;

/// # Safety
/// The caller's promise.
unsafe fn open_anew(path: *const c_char, mode: *const c_char, stream: Stream, reopen: Reopen) -> Stream {
    if descriptor_of(stream).is_some() {
        log::say(
            "freopen(3) of a stream on a socket of the stack cannot be carried; let the program close it and open another",
        );
        answer(Err(Errno::OPNOTSUPP));
        return std::ptr::null_mut();
    }
    // SAFETY: the caller's promise.
    unsafe {
        forget_under(stream);
        reopen(path, mode, stream)
    }
}

/// `fileno(3)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn fileno(stream: Stream) -> c_int {
    match descriptor_of(stream) {
        Some(fd) => fd,
        None => {
            let fileno = real!(fileno: fn(Stream) -> c_int);
            // SAFETY: the caller's promise.
            unsafe { fileno(stream) }
        }
    }
}

/// `fileno_unlocked(3)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn fileno_unlocked(stream: Stream) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { fileno(stream) }
}

/// A stream of the C library's own is about to close its descriptor, under which a socket of the stack may have been put.
///
/// # Safety
/// The caller's promise: a stream.
unsafe fn forget_under(stream: Stream) {
    if process::settings().is_some() && !stream.is_null() && descriptor_of(stream).is_none() {
        let fileno = real!(fileno: fn(Stream) -> c_int);
        // SAFETY: as promised.
        let fd = unsafe { fileno(stream) };
        if marks::is_marked(fd) {
            process::forget(fd);
        }
    }
}

fn descriptor_of(stream: Stream) -> Option<RawFd> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let shared = process::access().ok()?;
    shared
        .streams
        .iter()
        .find(|(address, _)| *address == stream as usize)
        .map(|(_, cookie)| descriptor_in(*cookie))
}

fn on_streams(change: impl FnOnce(&mut Vec<(usize, usize)>)) {
    if let Ok(mut shared) = process::access() {
        change(&mut shared.streams);
        COUNT.store(shared.streams.len(), Ordering::Relaxed);
    }
}

fn descriptor_in(cookie: usize) -> RawFd {
    (cookie & ((1 << DESCRIPTOR_BITS) - 1)) as RawFd
}

extern "C" fn read_stream(cookie: *mut c_void, buffer: *mut c_char, length: usize) -> isize {
    // SAFETY: the C library hands over memory of this length.
    unsafe { io::read(descriptor_in(cookie as usize), buffer.cast(), length) }
}

/// Writes a whole buffer, as the C library writes what a stream holds; 0 is how a cookie's function tells of an error.
extern "C" fn write_stream(cookie: *mut c_void, buffer: *const c_char, length: usize) -> isize {
    let mut written = 0;
    while written < length {
        // SAFETY: the C library hands over memory of this length.
        let n = unsafe {
            io::write(descriptor_in(cookie as usize), buffer.add(written).cast(), length - written)
        };
        match usize::try_from(n) {
            Ok(n) => written += n,
            Err(_) => break,
        }
    }
    written as isize
}

/// A socket has no places.
extern "C" fn seek_stream(_: *mut c_void, _: *mut libc::off64_t, _: c_int) -> c_int {
    answer(Err(Errno::SPIPE)) as c_int
}

extern "C" fn close_stream(cookie: *mut c_void) -> c_int {
    on_streams(|streams| streams.retain(|(_, other)| *other != cookie as usize));
    descriptors::close(descriptor_in(cookie as usize))
}
