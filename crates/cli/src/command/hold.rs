//! `assay hold`: the process that holds the namespaces of a link.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use assay_lab::Exit;

use crate::failure::Failure;

pub(crate) fn run(bits_per_second: Option<u64>) -> Result<Exit, Failure> {
    let failed = |error: std::io::Error| Failure::Bug(format!("the holder of a link: {error}"));
    let control = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    assay_link::hold(bits_per_second, UnixStream::from(control)).map_err(failed)?;
    Ok(Exit::Ok)
}
