//! The suite against servers: ours, which keeps every rule, and many that each break one.
#![allow(clippy::expect_used, clippy::panic, reason = "tests and their helpers")]

/// A thousand slow clients and their server are in one process here.
fn room_for_slow_clients() {
    assay_host::limits::raise_nofile().expect("the soft limit of open files can be raised to the hard one");
}

mod faults;
mod faulty;
mod http2;
mod others;
mod ours;
mod serving;
mod slow;
mod strict;
