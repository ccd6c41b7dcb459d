//! The lab with real processes, networks and databases: one program, one file per theme.

#[path = "../common/mod.rs"]
mod common;

mod agent;
mod database;
mod link;
mod run;
mod supervisor;
