//! Experiments: contenders found, built, started and stopped; rounds scheduled and measured; evidence stored.
//!
//! Invariants
//! - Every process that the lab starts runs under a [`supervisor`], which outlives nobody: whatever happens to assay, nothing
//!   it started stays behind.
//! - What befalls a contender (missing toolchain, failed build, wrong answers, sudden death) is recorded and never ends
//!   the run of the others; only what befalls the run as a whole is a [`LabError`].
//! - The record on disk is whole after every round. What it means is [`assay_verdict`]'s to say; the lab asks it whether to go
//!   on, and with which load.
//! - Random choices follow from one seed, which is in the record.
//!
//! Must not know: how load is generated (it starts `assay load` and reads its report), what a record means, terminals, how
//! results are drawn.
#![forbid(unsafe_code)]

mod access;
pub mod catalogue;
pub mod clean;
pub mod conformance;
pub mod contender;
pub mod database;
pub mod design;
mod error;
mod event;
pub mod generator;
mod groups;
mod host_error;
pub mod hosts;
mod in_use;
mod inherited;
pub mod log;
mod marks;
mod names;
mod network;
mod outlook;
mod owner;
mod pipe;
mod plan;
mod port;
mod postgresql;
mod prediction;
pub mod rounds;
pub mod running;
pub mod schedule;
mod scratch;
pub mod secrets;
mod shared_file;
pub mod side;
pub mod stack;
mod stand_in;
pub mod starter;
mod stop;
pub mod store;
mod subject;
pub mod supervisor;
pub mod techempower;
mod tls;
mod tools;
mod trusted;
mod url;
mod version;
mod warning;

pub use contender::Upstream;
pub use error::{Exit, LabError, SourcePlace};
pub use event::{Event, Observer};
pub use host_error::HostError;
pub use inherited::Inherited;
pub use plan::{RunPlan, database_of};
pub use prediction::Prediction;
pub use stop::Stop;
pub use subject::{Launch, Process, Subject};
pub use url::{Scheme, Url};
