//! `assay agent`: does on its host what a lab on another one asks for.

use std::path::PathBuf;

use assay_lab::Exit;
use assay_lab::hosts::agent::{self, AgentPart};

use crate::failure::Failure;

pub(crate) fn run(inner: Option<(u32, PathBuf)>) -> Result<Exit, Failure> {
    let part = inner.map_or(AgentPart::Outer, |(parent, work)| AgentPart::Inner { parent, work });
    agent::run(part, env!("CARGO_PKG_VERSION")).map_err(Failure::Agent)?;
    Ok(Exit::Ok)
}
