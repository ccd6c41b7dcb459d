//! Where a thread ends another.

use std::ffi::c_int;

use crate::host::{Uncancelled, real};
use crate::process;

/// `pthread_cancel(3)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    // Looked up here, for a handler cannot.
    drop(Uncancelled::new());
    process::expect_cancellation();
    let cancel = real!(pthread_cancel: fn(libc::pthread_t) -> c_int);
    // SAFETY: the caller's promise.
    unsafe { cancel(thread) }
}
