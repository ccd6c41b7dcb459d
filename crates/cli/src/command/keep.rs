//! `assay keep`: the process that ends everything a contender started.

use std::ffi::OsString;

use assay_lab::Exit;
use assay_lab::keeper::{KeepOptions, keep};

use crate::failure::Failure;

pub(crate) fn run(rest: Vec<OsString>) -> Result<Exit, Failure> {
    let options = KeepOptions::from_arguments(rest).map_err(Failure::usage)?;
    keep(&options, &mut std::io::stdout())?;
    Ok(Exit::Ok)
}
