//! The oracle (docs/method/oracle.md): the load generator against a server whose truth is known.
//!
//! Generator and stub run as they are, on a network in virtual time (`assay-sim`), where a time is right to the nanosecond or
//! wrong. What is drawn at random, such as a queue, is held against its formula within the error of its sample. A run that fails
//! prints its seed; `ASSAY_SIM_SEED=17 cargo test -p assay-load --test oracle NAME` runs that one again. `real.rs` is the same
//! pair on the engines of this machine, where only counts can be exact. `cargo xtask oracle` measures there at full length.

// What clippy.toml allows in test functions is as right in the functions that help them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod endings;
mod faults;
mod framing;
mod frozen;
mod http2;
mod layer;
mod queues;
mod real;
mod secured;
mod slices;
mod sockets;
mod spoken;
mod stamps;
mod support;
mod times;
mod weather;
