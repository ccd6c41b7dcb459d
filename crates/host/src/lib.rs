//! What this machine is and what it does: facts, CPU sets, samplers of processes, control groups and the whole
//! system, and two instruments for its speed: a probe beside windows and a gauge within them.
//!
//! Invariants
//! - It only looks, but for six named acts: pinning the calling thread ([`cpuset::pin_current_thread`]), the
//!   limit of open files ([`limits::raise_nofile`]), binding a port for a moment ([`limits::free_port`]), connections of the
//!   process to itself, on which own threads, with the highest priority they may have, do a little work ([`gauge`]), a mount
//!   that one thread alone sees and that ends with it ([`tracepoint::number`]), and control groups
//!   ([`group::Group`]), whose members the kernel ends when it is told so. It sends no signal.
//! - What the kernel does not tell is absent, never zero in its place, except where a field says so.
//! - Files under `/proc` and `/sys` are read at the edge; what they mean is decided by pure functions on
//!   their text.
//! - CPU times say which kernel interface they came from, because that decides their resolution.
//!
//! Must not know: contenders, workloads, rounds, which number makes a run void, terminals.
#![forbid(unsafe_code)]

pub mod accounting;
pub mod addresses;
mod arm;
pub mod census;
pub mod cgroup;
pub mod counters;
pub mod cpuset;
pub mod doctor;
pub mod energy;
pub mod exit_watch;
pub mod facts;
pub mod gauge;
pub mod group;
pub mod isolation;
pub mod limits;
pub mod listener;
pub mod memory;
pub mod names;
pub mod probe;
pub mod process;
pub mod sampler;
pub mod snapshot;
pub mod system;
mod text;
pub mod topology;
pub mod tracepoint;
pub mod window;
