//! The server over real sockets, on each engine: std clients on loopback, everything bounded by time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, also in its helpers")]
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says what it skips and what it measured"
)]

/// Makes tests of functions that take an engine: one on each.
macro_rules! on_each_engine {
    ($($test:ident),* $(,)?) => {
        mod epoll {
            $(#[test] fn $test() { super::$test(assay_engine::EngineKind::Epoll) })*
        }
        mod io_uring {
            $(#[test] fn $test() { $crate::support::where_allowed(super::$test) })*
        }
    };
}

mod bodies;
mod files;
mod life;
mod limits;
mod requests;
mod sockets;
mod support;
