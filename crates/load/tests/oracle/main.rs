//! The oracle (docs/method/oracle.md): the load generator against a server whose truth is known.
//!
//! Counts are exact and always asserted. Times are asserted with the tolerances of docs/method/oracle.md#tolerances ×
//! 5, and upwards with a slack for machines that have other things to do; noise only ever adds, so the lower limits
//! have none. A run whose times fail is repeated a few times: a generator that is wrong fails every time. Rates and
//! lengths are small enough for a debug build on two CPUs; the shapes of the distributions do not depend on them.
//! `cargo xtask oracle` runs the full ones.
//!
//! One test at a time: they are about time, and two at once would measure each other.

// What clippy.toml allows in test functions is as right in the functions that help them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod faults;
mod framing;
mod settling;
mod support;
mod times;
