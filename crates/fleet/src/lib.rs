//! Several load generators as one, wherever they run: their clocks, their shares of a load, the common start, one report of all.
//!
//! Invariants
//! - Nobody steers anybody while a window is measured: from the start to its end each generator is on its own.
//! - The load of many is the load of one generator with all their threads ([`mod@slice`]).
//! - Counts are added and histograms merged, bucket by bucket; percentiles are taken of the sum and never merged.
//! - Whoever is lost is named, and what was measured without them is void.
//!
//! Must not know: processes, hosts, pipes, clocks. What is said comes in as values, with the time of its arrival; what is to be said
//! goes out as values.
#![forbid(unsafe_code)]

mod checks;
pub mod clock;
pub mod coordinator;
mod effect;
mod lag;
pub mod line;
mod merge;
pub mod slice;

pub use effect::host_effect;
pub use lag::{Late, lag};
pub use merge::{SAMPLES_PER_CLASS, Whole, merged, merged_turn};
