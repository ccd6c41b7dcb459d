//! The load generator: offers a load over HTTP/1.1, HTTP/2 or what runs over them, checks every answer, and accounts for every request.
//!
//! Invariants
//! - The books balance: each request that was due ends as exactly one of answered, failed with one class, or censored.
//! - An answer counts only if it was validated against the workload's definition; a failure never counts as throughput.
//! - A latency runs from the request's submission, under an open model also from its intended time; nothing is corrected
//!   afterwards and nothing is dropped.
//! - One thread per CPU, each with its own engine, connections and recorder. Nothing is shared on the hot path, where
//!   nothing is allocated and nothing dispatched dynamically.
//! - Protocol, schedule and recorder take bytes and times as arguments; only the worker and its thread read a clock, and it is
//!   their engine's. Whoever watches over the threads lives in real time.
//!
//! Must not know: how servers are started, experiments, rounds, comparisons, how anything is printed.
//!
//! A thread, from the outside in: `thread` (its life) → `worker` (engine and session in turn) → `session` (its connections, the
//! requests in flight on them) → `protocol` (the seam to what is spoken: `h1`, `h2`) → `inspection` and `judge` (one answer), with
//! `schedule` (what is due) and `recorder` (what was seen).
#![forbid(unsafe_code)]

mod alone;
pub mod arrivals;
mod checks;
mod dialler;
mod error;
mod flow;
mod h1;
mod h2;
mod handshakes;
mod inspection;
mod judge;
mod mix;
mod order;
mod outcome_counts;
mod plan;
mod protocol;
mod recorder;
mod report;
mod room;
mod run;
mod schedule;
mod seconds;
mod session;
mod signals;
mod slot;
mod thread;
mod traffic;
mod usage;
mod worker;
mod writing;
mod ws;

pub use alone::run_on;
pub use error::LoadError;
pub use plan::{Http, LoadPlan, MAX_CONNECTIONS, MAX_PIPELINE, Reuse, Span};
pub use room::sources;
pub use run::{WindowOrder, check, run, run_windows};
pub use seconds::{Second, Seconds};
pub use signals::{News, Progress};
