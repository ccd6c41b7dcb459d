//! The reference server: its rate is what this machine can serve, so it is as fast as we can make it, and correct.
//!
//! Invariants
//! - One thread per CPU, pinned, each with its own engine and listener; threads share nothing but the stop flag.
//! - The protocol does no I/O: a session takes bytes and time and appends responses to a buffer.
//! - Responses leave in the order of their requests; one request never has two.
//! - The answer does not depend on how the request was split, but for one thing: a chunked echo has its own chunks,
//!   and one that turns out malformed after a part of it was answered ends short instead of being refused.
//! - A plain request costs no allocation and no dynamic call.
//! - Of the static files only what lies below their folder is opened, whatever a path or a link says; the kernel sees to
//!   that, or where it cannot, no link is followed.
//! - Everything is bounded, and each bound has a name in [`Limits`] or beside its use.
//!
//! [`stub`] is a second server on the same seam: the oracle that load generators are tested against. [`wrong`] are servers that do
//! one thing wrongly each, on blocking sockets: the oracle of explanations.
//!
//! Must not know: who measures it, what a contender is, how results are printed.
#![forbid(unsafe_code)]

mod answer;
mod blocks;
mod coding;
mod config;
mod connection;
mod content;
mod files;
mod http2;
mod media;
mod open_files;
mod pattern;
mod peers;
mod route;
mod run;
mod server;
mod session;
mod site;
mod sized;
mod spoken;
pub mod stub;
mod threads;
mod validators;
pub mod wrong;

pub use config::{Config, HEAD_BYTES_MAX, Limits, ServeError, TARGET_BYTES_MAX};
pub use route::hidden_by_routes;
pub use run::{Memory, Summary, ThreadSummary, run};
pub use server::Server;
