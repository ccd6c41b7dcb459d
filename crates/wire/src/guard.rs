//! A file that is cut short while it is mapped: who touches a page beyond its end is sent SIGBUS (mmap(2)), and would die of what
//! another process did. The signal's handler puts private memory of zeros in the place of such a mapping and notes that it did, so
//! that the access is repeated and its owner finds out.
//!
//! A sealed memfd cannot be cut short (memfd_create(2)), but has no name that outlives its maker and that two programs can be told
//! of beforehand; files of tmpfs take no seals. A lock does not keep others from ftruncate(2).
//!
//! Limits. A program that sets a handler of its own for SIGBUS later, or blocks the signal, is not guarded. Any other SIGBUS goes to
//! the handler that was there before.

use std::io;
use std::mem::zeroed;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Mappings that are guarded at once.
const MOST_PLACES: usize = 1024;
/// The start of a place that somebody is about to use; nothing is mapped there.
const RESERVED: usize = 1;

/// A mapping, for the handler to read.
struct Place {
    /// The first address; 0 for a place that nobody uses.
    start: AtomicUsize,
    bytes: AtomicUsize,
    is_cut: AtomicBool,
}

static PLACES: [Place; MOST_PLACES] = [const {
    Place { start: AtomicUsize::new(0), bytes: AtomicUsize::new(0), is_cut: AtomicBool::new(false) }
}; MOST_PLACES];

/// What SIGBUS did before; `None` when the handler could not be set.
static PREVIOUS: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// Guards a mapping until it is dropped, which must be before the mapping is undone.
#[derive(Debug)]
pub(crate) struct Guard(&'static Place);

impl std::fmt::Debug for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:#x}", self.start.load(Ordering::Relaxed))
    }
}

impl Guard {
    /// # Errors
    /// There are too many mappings, or the handler cannot be set.
    pub(crate) fn over(base: NonNull<u8>, bytes: usize) -> io::Result<Self> {
        if PREVIOUS.get_or_init(set_handler).is_none() {
            return Err(io::Error::other("no handler can be set for SIGBUS"));
        }
        let full = || io::Error::other(format!("more than {MOST_PLACES} shared files are mapped"));
        let place = PLACES.iter().find(|place| place.reserve()).ok_or_else(full)?;
        place.bytes.store(bytes, Ordering::Relaxed);
        place.is_cut.store(false, Ordering::Relaxed);
        place.start.store(base.as_ptr() as usize, Ordering::Release);
        Ok(Self(place))
    }

    /// Whether the file was found too short. All of the mapping is private memory since then.
    pub(crate) fn is_cut(&self) -> bool {
        self.0.is_cut.load(Ordering::Relaxed)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.start.store(0, Ordering::Release);
    }
}

fn set_handler() -> Option<libc::sigaction> {
    // SAFETY: structures of integers and an optional function, for which zero is valid.
    let (mut action, mut before): (libc::sigaction, libc::sigaction) = unsafe { (zeroed(), zeroed()) };
    action.sa_sigaction = on_bus_error as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: both live during the call, and the handler has the signature that SA_SIGINFO asks for.
    let done = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before) };
    (done == 0).then_some(before)
}

/// Calls nothing but what may be called here (signal-safety(7)): system calls, and loads and stores of atomics.
extern "C" fn on_bus_error(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands over a structure that lives until we return, with an address for this signal (sigaction(2)).
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let is_missing_page = code == libc::BUS_ADRERR;
    let place = PLACES.iter().find(|place| is_missing_page && place.holds(address));
    if !place.is_some_and(Place::replace) {
        pass_on(signal, info, context);
    }
}

impl Place {
    /// Whether it was free, and is the caller's now.
    fn reserve(&self) -> bool {
        self.start.compare_exchange(0, RESERVED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn holds(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        start > RESERVED && address.wrapping_sub(start) < self.bytes.load(Ordering::Relaxed)
    }

    /// Puts private memory there. Whether that was possible.
    fn replace(&self) -> bool {
        let start = self.start.load(Ordering::Relaxed) as *mut libc::c_void;
        let bytes = self.bytes.load(Ordering::Relaxed);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the range is a mapping of ours that is not undone before its guard is dropped; all that is read and written there
        // are atomics, for which any bytes are valid. The caller's error number is kept.
        let is_mapped = unsafe {
            let error = *libc::__errno_location();
            let mapped = libc::mmap(start, bytes, access, kind, -1, 0);
            *libc::__errno_location() = error;
            mapped == start
        };
        self.is_cut.store(is_mapped, Ordering::Relaxed);
        is_mapped
    }
}

/// Does what was done before there was this handler.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type WithInfo = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
    type Plain = extern "C" fn(i32);
    // SAFETY: zero means the default action.
    let previous = PREVIOUS.get().copied().flatten().unwrap_or_else(|| unsafe { zeroed() });
    match previous.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: zero means the default action; the access is repeated and ends the process.
            unsafe {
                let default: libc::sigaction = zeroed();
                libc::sigaction(signal, &raw const default, null_mut());
            }
        }
        // SAFETY: a handler that was set with this signature.
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => unsafe {
            std::mem::transmute::<usize, WithInfo>(handler)(signal, info, context);
        },
        // SAFETY: likewise, without SA_SIGINFO.
        handler => unsafe { std::mem::transmute::<usize, Plain>(handler)(signal) },
    }
}
