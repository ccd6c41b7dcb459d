//! Made-up runs in every format that people read: tables, sentences, pages and files.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper may fail as loudly as the test that calls it"
)]

#[path = "../support/again.rs"]
mod again;
#[path = "../support/exposition.rs"]
mod exposition;
#[path = "../support/hosts.rs"]
mod hosts;
#[path = "../support/latency.rs"]
mod latency;
#[path = "../support/networks.rs"]
mod networks;
#[path = "../support/planting.rs"]
mod planting;
#[path = "../support/profiled.rs"]
mod profiled;
#[path = "../support/published.rs"]
mod published;
#[path = "../support/mod.rs"]
mod support;

mod comparison;
mod csv;
mod formats;
mod given_up;
mod hostile;
mod index;
mod live;
mod on_hosts;
mod report;
mod since;
mod untold;
mod why;
mod words;
