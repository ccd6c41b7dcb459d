//! The suite against servers: ours, which keeps every rule, and many that each break one.
#![allow(clippy::expect_used, clippy::panic, reason = "tests and their helpers")]

mod faults;
mod faulty;
mod ours;
