//! Where a process ends, or begins another program: what was written leaves before, as it would from the kernel.
//!
//! Connections of the stack are in the memory of their process, and go with it: also those that execve(2) would leave open.

use std::ffi::{c_char, c_int};

use crate::host::real;
use crate::process;

/// Arguments or variables, as execve(2) takes them.
type Words = *const *const c_char;

/// `execve(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn execve(path: *const c_char, arguments: Words, variables: Words) -> c_int {
    process::send_all();
    let execve = real!(execve: fn(*const c_char, Words, Words) -> c_int);
    // SAFETY: the caller's promise.
    unsafe { execve(path, arguments, variables) }
}

/// `execv(3)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn execv(path: *const c_char, arguments: Words) -> c_int {
    process::send_all();
    let execv = real!(execv: fn(*const c_char, Words) -> c_int);
    // SAFETY: the caller's promise.
    unsafe { execv(path, arguments) }
}

/// `execvp(3)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn execvp(name: *const c_char, arguments: Words) -> c_int {
    process::send_all();
    let execvp = real!(execvp: fn(*const c_char, Words) -> c_int);
    // SAFETY: the caller's promise.
    unsafe { execvp(name, arguments) }
}

/// `execvpe(3)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn execvpe(name: *const c_char, arguments: Words, variables: Words) -> c_int {
    process::send_all();
    let execvpe = real!(execvpe: fn(*const c_char, Words, Words) -> c_int);
    // SAFETY: the caller's promise.
    unsafe { execvpe(name, arguments, variables) }
}

/// `fexecve(3)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn fexecve(file: c_int, arguments: Words, variables: Words) -> c_int {
    process::send_all();
    let fexecve = real!(fexecve: fn(c_int, Words, Words) -> c_int);
    // SAFETY: the caller's promise.
    unsafe { fexecve(file, arguments, variables) }
}

/// `execveat(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: Words,
    variables: Words,
    flags: c_int,
) -> c_int {
    process::send_all();
    let execveat = real!(execveat: fn(c_int, *const c_char, Words, Words, c_int) -> c_int);
    // SAFETY: the caller's promise.
    unsafe { execveat(folder, path, arguments, variables, flags) }
}

/// `_exit(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn _exit(status: c_int) -> ! {
    process::finish();
    let exit = real!(_exit: fn(c_int) -> ());
    // SAFETY: no pointers.
    unsafe { exit(status) };
    std::process::abort()
}

extern "C" fn at_exit() {
    process::finish();
}

/// Run when the program ends in the ordinary way (ELF, `DT_FINI_ARRAY`).
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
