//! The lab with real processes, networks and databases: one program, one file per theme.
#![allow(clippy::expect_used, clippy::panic, reason = "tests and their helpers")]

#[path = "../common/mod.rs"]
mod common;

mod agent;
mod database;
mod link;
mod run;
mod supervisor;
