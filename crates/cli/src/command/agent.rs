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

/// Becomes what the transport's command ends as.
pub(crate) fn carry(command: &[OsString]) -> Result<Exit, Failure> {
    match carrier::run(command) {
        Ok(never) => match never {},
        Err(error) => Err(Failure::Machine(format!("its transport did not start: {error}"))),
    }
}
