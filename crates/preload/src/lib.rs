//! A preload library (ld.so(8), `LD_PRELOAD`) that gives the TCP sockets of an unmodified program to one of our engines.
//!
//! Invariants
//! - Without `ASSAY_STACK` in the environment, and for every descriptor that is not the stack's, each call is what it was.
//! - A process has one stack, made when it first waits; a child of fork(2) makes its own.
//! - While a program makes calls on its sockets, its peers are heard, whether it waits or not.
//! - A call that cannot be carried fails with an error number and one line that says why; nothing is left out silently.
//! - What the program writes to a file does not go to the network: a number is checked before it is believed to be ours.
//! - No call unwinds into the program. A signal ends a call's wait, or the call goes on after it, as in the kernel (signal(7)).
//! - Who leaves a wait and does not come back (a handler that jumps, a cancelled thread) holds up nobody else.
//! - `unsafe` is in `heap`, `hooks`, `host`, `lock`, `process` and `signals`; what they call is safe.
//!
//! Must not know: HTTP, measurement, which program it is in.
//!
//! A descriptor of the stack is a real one: a socket of the kernel that never connects or listens holds its number, keeps its
//! options and its bound address, and is what a child or another process inherits.
//!
//! | where | what |
//! |---|---|
//! | `settings` | the environment, and which addresses are the stack's |
//! | `stack` | the engine that the settings ask for |
//! | `core` | descriptors, listeners, connections, epoll instances; no call of the system |
//! | `table` | every call of Linux on descriptors, and what is done about it; read by the tests |
//! | `marks` | which descriptors are the stack's, and whether a number still names what it did |
//! | `process` | the one core of this process, threads, fork |
//! | `lock`, `signals` | the lock of that core, and handlers of signals that wait for it |
//! | `heap` | memory that is not the program's |
//! | `waiting` | waiting for the core and the kernel at once, with signals and several threads |
//! | `fdinfo` | what the kernel tells of an epoll instance |
//! | `hooks` | the functions that stand before those of the C library |
//! | `host` | the functions of the C library that are behind them |

#![cfg_attr(
    test,
    allow(dead_code, reason = "the hooks, which use the rest, are not in the tests' own program")
)]

#[deny(unsafe_code)]
mod core;
#[deny(unsafe_code)]
mod fdinfo;
// The tests of this crate call the C library's functions, not ours.
#[cfg(not(test))]
mod heap;
#[cfg(not(test))]
mod hooks;
#[cfg(not(test))]
mod host;
mod lock;
#[deny(unsafe_code)]
mod log;
#[cfg(not(test))]
mod marks;
#[cfg(not(test))]
mod process;
#[deny(unsafe_code)]
mod settings;
mod signals;
#[cfg(not(test))]
mod stack;
#[cfg(not(test))]
mod waiting;
