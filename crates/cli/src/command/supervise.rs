//! `assay supervise`: the process that ends everything a contender started.

use std::ffi::OsString;

use assay_lab::Exit;
use assay_lab::supervisor::{self, SupervisorOptions};

use crate::failure::Failure;

pub(crate) fn run(rest: Vec<OsString>) -> Result<Exit, Failure> {
    let options = SupervisorOptions::from_arguments(rest).map_err(Failure::usage)?;
    supervisor::run(&options, &mut std::io::stdout())?;
    Ok(Exit::Ok)
}
