//! The nouns of assay: experiments, contenders, workloads, records and verdicts, as pure data.
//!
//! Invariants
//! - Data only: no I/O, no clock, no statistics; the only functions are conversions and checks of a value's own form
//!   ([`template`] writes a request's numbers, [`shape`] and [`html`] say whether a text has a form).
//! - Every quantity carries its unit in its field name (`window_ns`, `rss_peak_bytes`, `per_second`); no formatted text.
//! - What is written to disk is versioned ([`record::RECORD_SCHEMA`], [`load::LOAD_SCHEMA`]) and its JSON schema is
//!   generated from these types into `schemas/`.
//!
//! Must not know: sockets, processes, files, terminals, how anything is measured or drawn.
#![forbid(unsafe_code)]

/// What types derive of which JSON schemas are generated; nothing comes of it without the feature `schemas`, and in
/// the tests in here, which need none and compile faster.
#[cfg(any(not(feature = "schemas"), test))]
pub use assay_no_schema::JsonSchema;
/// What types derive of which JSON schemas are generated; nothing comes of it without the feature `schemas`, and in
/// the tests in here, which need none and compile faster.
#[cfg(all(feature = "schemas", not(test)))]
pub use schemars::JsonSchema;

pub mod arrival;
pub mod cause;
pub mod comparison;
pub mod conformance;
pub mod contender;
pub mod core_hour;
pub mod cpuset;
pub mod cross_check;
pub mod database;
pub mod design;
pub mod doctor;
pub mod energy;
pub mod error_class;
pub mod evidence;
pub mod experiment;
pub mod fleet;
pub mod foreign;
pub mod generator;
pub mod generator_window;
pub mod host;
pub mod host_link;
pub mod hosts;
pub mod html;
pub mod identity;
pub mod imported;
pub mod interval;
pub mod judged;
pub mod lab;
pub mod learnt;
pub mod link;
pub mod load;
pub mod message;
pub mod network;
pub mod not_run;
pub mod offered;
pub mod outlook;
pub mod own_command;
pub mod part;
pub mod profile;
pub mod profiling;
pub mod program;
pub mod protocol;
pub mod published;
pub mod rate;
pub mod record;
pub mod requests;
pub mod rule;
pub mod run_hosts;
pub mod running;
pub mod setting;
pub mod shape;
pub mod slo;
pub mod speed;
pub mod state;
pub mod stats_page;
pub mod template;
pub mod throttled;
pub mod tls;
pub mod turn;
pub mod units;
pub mod upstream;
pub mod usage;
pub mod verdict;
pub mod warmup;
pub mod why;
pub mod workload;

// A check holds what it found, and what is withheld holds a check, so they are one module; `check` is its short name.
pub use evidence::check;
pub use workload::family;
