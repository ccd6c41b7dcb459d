//! `assay agent`: does on its host what a lab on another one asks for.

use std::ffi::OsString;
use std::path::PathBuf;

use assay_lab::Exit;
use assay_lab::hosts::agent::{self, AgentPart};
use assay_lab::hosts::carrier;

use crate::failure::Failure;

pub(crate) fn run(inner: Option<(u32, PathBuf)>) -> Result<Exit, Failure> {
    let part = inner.map_or(AgentPart::Outer, |(parent, work)| AgentPart::Inner { parent, work });
    agent::run(part, env!("CARGO_PKG_VERSION")).map_err(Failure::Agent)?;
    Ok(Exit::Ok)
}

/// Ends as the transport's command does; returns only why that could not be started.
pub(crate) fn carry(command: &[OsString]) -> Result<Exit, Failure> {
    Err(Failure::Machine(format!("its transport did not start: {}", carrier::run(command))))
}
