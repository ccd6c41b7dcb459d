//! The parts that a server's time is divided into.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// A part of what a server spends on an answer. Each moment of its CPU time belongs to exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The kernel's TCP and IP, for what arrives.
    Receive,
    /// The kernel's TCP and IP, for what leaves.
    Send,
    /// Interfaces, queues and filters below them.
    Network,
    /// Choosing who runs, waking and putting to sleep, changing from one to the other.
    Scheduling,
    /// Calls on sockets, epoll and io_uring, without what TCP does for them.
    Sockets,
    /// Entering and leaving the kernel.
    Entry,
    /// Copying between program and kernel.
    Copying,
    /// Page faults, and memory of the kernel's.
    Memory,
    /// Files and their names.
    Files,
    /// Encrypting and decrypting.
    Tls,
    /// The C library.
    Libc,
    /// The runtime of the program's language, except collecting and compiling.
    Runtime,
    /// Collecting memory that is no longer used.
    Collector,
    /// Code that was compiled while the program ran: JavaScript, Java.
    Jit,
    /// The program's own code, compiled ahead of time, with the libraries that it brings.
    Application,
    /// What nothing assigns.
    Unassigned,
}
