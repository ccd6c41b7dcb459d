//! `assay hold-netns`: the process that holds the namespaces of a link.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use assay_lab::Exit;
use assay_link::Spec;

use crate::failure::Failure;

pub(crate) fn run(link: Spec, queues: u16) -> Result<Exit, Failure> {
    let Spec::Veth(cable) = link else { return Err(Failure::usage("loopback needs nobody to hold it")) };
    let failed = |error: std::io::Error| Failure::Bug(format!("the netns holder: {error}"));
    let control = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    assay_link::hold_netns(cable, queues, UnixStream::from(control)).map_err(failed)?;
    Ok(Exit::Ok)
}
