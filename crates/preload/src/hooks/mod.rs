//! The functions that stand before those of the C library, by family.
//!
//! Each looks whether a descriptor is the stack's. If not it calls the function behind it; else it asks the core and answers as
//! the function's page in the manual says. Their types are those of the C library, and so is what their callers promise:
//! that a pointer they hand over is null or points to as much memory as the function is documented to use. The safety comments
//! below call this the caller's promise.

mod address;
mod bell;
mod calls;
mod descriptors;
mod early;
mod epoll;
mod handlers;
mod inherited;
mod io;
mod messages;
mod options;
mod poll;
mod processes;
mod sockets;
mod stdio;
mod syscalls;
mod threads;
