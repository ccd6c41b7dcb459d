//! Experiments: contenders found, built, started and stopped; rounds scheduled and measured; evidence stored and judged.
//!
//! Invariants
//! - Every process that the lab starts runs under a [`keeper`], which outlives nobody: whatever happens to assay, nothing
//!   it started stays behind.
//! - What befalls a contender (missing toolchain, failed build, wrong answers, sudden death) is recorded and never ends
//!   the run of the others; only what befalls the run as a whole is a [`LabError`].
//! - The record on disk is whole after every round. Judgements are computed from it ([`verdict::judge`]), never stored.
//! - Random choices follow from one seed, which is in the record.
//!
//! Must not know: how load is generated (it starts `assay load` and reads its report), terminals, how results are drawn.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod clean;
pub mod compare;
pub mod conformance;
pub mod contender;
pub mod database;
mod error;
pub mod generator;
pub mod keeper;
mod network;
mod plan;
mod redline;
pub mod rounds;
pub mod schedule;
pub mod stack;
mod stop;
pub mod store;
mod subject;
pub mod techempower;
#[cfg(test)]
mod testing;
pub mod verdict;

pub use error::{Exit, LabError, Place};
pub use plan::{Plan, Prediction, database_of};
pub use stop::Stop;
pub use subject::{Launch, Process, Subject, split_url};
