//! The functions of the C library that ours stand before, and the few calls that the rest of this library makes itself.

use std::ffi::{CStr, c_int, c_long, c_void};
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use assay_descriptors::File;
use assay_model::units::Nanos;
use rustix::io::Errno;

/// The next function of this name behind ours (dlsym(3), `RTLD_NEXT`), as a typed pointer: its type is the one that its page
/// in the manual gives, which is what calling it, unsafe as it is, relies on.
macro_rules! real {
    ($name:ident: fn($($argument:ty),* $(,)?) -> $result:ty) => {{
        static FOUND: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
            std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        $crate::host::next::<unsafe extern "C" fn($($argument),*) -> $result>(&FOUND, concat!(stringify!($name), "\0"))
    }};
}
pub(crate) use real;

/// Looks the function up once. A C library without it cannot run the program that calls it.
pub(crate) fn next<F: Copy>(found: &AtomicPtr<c_void>, name: &'static str) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let mut address = found.load(Ordering::Relaxed);
    if address.is_null() {
        let Ok(symbol) = CStr::from_bytes_with_nul(name.as_bytes()) else { std::process::abort() };
        // SAFETY: the name is a C string.
        address = unsafe { libc::dlsym(libc::RTLD_NEXT, symbol.as_ptr()) };
        if address.is_null() {
            std::process::abort();
        }
        found.store(address, Ordering::Relaxed);
    }
    // SAFETY: a function's address as a pointer to a function, of the same size; that its type is right is the caller's to know
    // when it calls it.
    unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) }
}

/// A result as the C library returns it: -1 and the thread's error number.
pub(crate) fn answer(result: Result<usize, Errno>) -> isize {
    match result {
        Ok(n) => n as isize,
        Err(error) => {
            // SAFETY: the location is the calling thread's own.
            unsafe { *libc::__errno_location() = error.raw_os_error() };
            -1
        }
    }
}

/// What the C library returned as a result.
pub(crate) fn result(returned: isize) -> Result<usize, Errno> {
    usize::try_from(returned)
        .map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

/// Waits for descriptors of the kernel's; `None` waits forever. The mask holds while it waits (ppoll(2)).
pub(crate) fn ppoll(
    descriptors: &mut [libc::pollfd],
    timeout: Option<Nanos>,
    mask: Option<&libc::sigset_t>,
) -> Result<usize, Errno> {
    let timeout = timeout.map(timespec);
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let mask = mask.map_or(std::ptr::null(), std::ptr::from_ref);
    let ppoll = real!(ppoll: fn(*mut libc::pollfd, libc::nfds_t, *const libc::timespec, *const libc::sigset_t) -> c_int);
    // SAFETY: the slice is writable for its length; the other two are null or point to values that outlive the call.
    result(
        unsafe { ppoll(descriptors.as_mut_ptr(), descriptors.len() as libc::nfds_t, timeout, mask) } as isize
    )
}

/// Takes what an epoll instance of the kernel's has ready, without waiting.
pub(crate) fn epoll_take(set: RawFd, room: &mut [libc::epoll_event]) -> Result<usize, Errno> {
    let wait = real!(epoll_wait: fn(c_int, *mut libc::epoll_event, c_int, c_int) -> c_int);
    let most = c_int::try_from(room.len()).unwrap_or(c_int::MAX);
    // SAFETY: the slice is writable for its length.
    result(unsafe { wait(set, room.as_mut_ptr(), most, 0) } as isize)
}

/// Has an epoll instance of the kernel's watch a descriptor, change how, or stop.
pub(crate) fn epoll_control(
    set: RawFd,
    operation: c_int,
    fd: RawFd,
    event: Option<libc::epoll_event>,
) -> Result<(), Errno> {
    let control = real!(epoll_ctl: fn(c_int, c_int, c_int, *mut libc::epoll_event) -> c_int);
    let mut event = event;
    let event = event.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
    // SAFETY: null, or an event that outlives the call.
    result(unsafe { control(set, operation, fd, event) } as isize).map(drop)
}

/// The file that a descriptor names; `None` when it is not open.
pub(crate) fn file(fd: RawFd) -> Option<File> {
    if fd < 0 {
        return None;
    }
    // SAFETY: the number is only asked about, and the kernel answers for one that is not open, too.
    let descriptor = unsafe { BorrowedFd::borrow_raw(fd) };
    File::of(descriptor)
}

/// An option of a socket whose value is a plain number or structure; `None` when the kernel refuses.
pub(crate) fn option<T: Copy>(socket: RawFd, level: c_int, name: c_int, zero: T) -> Option<T> {
    let mut value = zero;
    let mut length = size_of::<T>() as libc::socklen_t;
    let get = real!(getsockopt: fn(c_int, c_int, c_int, *mut c_void, *mut libc::socklen_t) -> c_int);
    // SAFETY: value and length are writable, and the length is the value's.
    let got = unsafe { get(socket, level, name, (&raw mut value).cast(), &raw mut length) };
    (got == 0).then_some(value)
}

/// Whether a socket is TCP's.
pub(crate) fn is_tcp(socket: RawFd) -> bool {
    protocol(socket) == Some(libc::IPPROTO_TCP)
}

/// A socket's protocol; `None` for what is no socket.
pub(crate) fn protocol(fd: RawFd) -> Option<c_int> {
    option(fd, libc::SOL_SOCKET, libc::SO_PROTOCOL, 0)
}

/// Sets an option to a number; a kernel that does not know it leaves things as they were.
pub(crate) fn set_option(socket: RawFd, level: c_int, name: c_int, value: c_int) {
    set_value(socket, level, name, &value.to_ne_bytes());
}

/// Sets an option to a value of these bytes; a kernel that does not know it leaves things as they were.
pub(crate) fn set_value(socket: RawFd, level: c_int, name: c_int, value: &[u8]) {
    let set = real!(setsockopt: fn(c_int, c_int, c_int, *const c_void, libc::socklen_t) -> c_int);
    // SAFETY: the value is readable for its length.
    unsafe { set(socket, level, name, value.as_ptr().cast(), value.len() as libc::socklen_t) };
}

/// How long a blocking call may wait (`SO_RCVTIMEO` and `SO_SNDTIMEO` of socket(7)); `None` is forever.
pub(crate) fn patience(socket: RawFd, name: c_int) -> Option<Nanos> {
    let zero = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let value = option(socket, libc::SOL_SOCKET, name, zero)?;
    let nanos = value.tv_sec as u64 * 1_000_000_000 + value.tv_usec as u64 * 1000;
    (nanos > 0).then_some(Nanos(nanos))
}

/// A socket of the kernel that holds a descriptor's place.
pub(crate) fn placeholder(is_ipv6: bool, flags: c_int) -> Result<RawFd, Errno> {
    let family = if is_ipv6 { libc::AF_INET6 } else { libc::AF_INET };
    let socket = real!(socket: fn(c_int, c_int, c_int) -> c_int);
    // SAFETY: no pointers.
    result(unsafe { socket(family, libc::SOCK_STREAM | flags, 0) } as isize).map(|fd| fd as RawFd)
}

/// A system call that not every C library has a function for, of numbers alone; returns as syscall(2) does.
pub(crate) fn system_call(number: c_long, [a, b, c]: [usize; 3]) -> c_long {
    let syscall = real!(syscall: fn(c_long, usize, usize, usize) -> c_long);
    // SAFETY: no pointers.
    unsafe { syscall(number, a, b, c) }
}

/// Closes a descriptor.
pub(crate) fn close(fd: RawFd) -> c_int {
    let close = real!(close: fn(c_int) -> c_int);
    // SAFETY: the program asked for it, or it is ours.
    unsafe { close(fd) }
}

/// Raises SIGPIPE, by which a program is told that it wrote to a broken connection (signal(7)).
pub(crate) fn raise_pipe() {
    // SAFETY: no pointers; the handler is the program's.
    unsafe { libc::raise(libc::SIGPIPE) };
}

/// Holds signals back while it lives.
pub(crate) struct Held {
    /// The mask before.
    pub(crate) before: libc::sigset_t,
}

impl Held {
    pub(crate) fn new() -> Self {
        // SAFETY: a signal set is plain bits, and both are writable. A signal that tells of a fault of this very thread is
        // delivered all the same (signal(7)).
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self { before }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the set was filled in when this was made.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// The calling thread is not cancelled while it lives (pthread_setcancelstate(3)).
pub(crate) struct Uncancelled {
    before: c_int,
}

/// `PTHREAD_CANCEL_DISABLE`, in every C library of Linux.
const DISABLE: c_int = 1;

impl Uncancelled {
    pub(crate) fn new() -> Self {
        let mut before = 0;
        let set = real!(pthread_setcancelstate: fn(c_int, *mut c_int) -> c_int);
        // SAFETY: the place is writable.
        unsafe { set(DISABLE, &raw mut before) };
        Self { before }
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        let set = real!(pthread_setcancelstate: fn(c_int, *mut c_int) -> c_int);
        let mut ours = DISABLE;
        // SAFETY: the place is writable.
        unsafe { set(self.before, &raw mut ours) };
    }
}

/// A word that is 0 in a child of fork(2) until that writes it, however the child was made, and shared with one of vfork(2)
/// (`MADV_WIPEONFORK` of madvise(2)). None before Linux 4.14.
pub(crate) fn witness_of_fork() -> Option<&'static AtomicU32> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new memory, wherever there is room, that is never given back; it is zero and aligned to a page.
    unsafe {
        let page = libc::mmap(std::ptr::null_mut(), size_of::<AtomicU32>(), access, kind, -1, 0);
        let is_wiped = page != libc::MAP_FAILED
            && libc::madvise(page, size_of::<AtomicU32>(), libc::MADV_WIPEONFORK) == 0;
        is_wiped.then(|| &*page.cast::<AtomicU32>())
    }
}

pub(crate) fn timespec(span: Nanos) -> libc::timespec {
    libc::timespec { tv_sec: (span.0 / 1_000_000_000) as i64, tv_nsec: (span.0 % 1_000_000_000) as i64 }
}
