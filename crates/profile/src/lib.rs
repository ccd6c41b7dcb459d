//! Where the time of a server's processes goes, while somebody else loads it: the stacks on its CPUs, where its threads wait,
//! what TCP counts, what is waited for inside the runtimes of Go and Java ([`Sampling`]), and its system calls by name with their time
//! ([`Tracing`]).
//!
//! Invariants
//! - It only looks: nothing of the server is changed, stopped or asked.
//! - What cannot be looked at is told with its reason, and everything else stands.
//! - What is gathered has a limit; what is beyond it is counted as lost.
//! - Addresses become names after the load, while the processes live.
//!
//! Must not know: contenders, HTTP, what a function's time is spent for.
#![forbid(unsafe_code)]

mod calls;
mod gathered;
mod looking;
mod memory;
mod names;
mod naming;
mod program;
mod ring;
mod runtimes;
mod sampling;
mod target;
mod tcp;
mod tracing;
mod variables;
mod waits;
mod ways;

pub use sampling::Sampling;
pub use target::Target;
pub use tracing::Tracing;
