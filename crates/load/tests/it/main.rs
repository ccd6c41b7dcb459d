//! The generator against real sockets.

// What clippy.toml allows in test functions is as right in the functions that help them.
#![allow(clippy::unwrap_used)]

mod bodies;
mod faults;
mod placeholders;
mod right;
mod seconds;
mod support;
mod turns;
