//! `assay serve`: the reference server.

use assay_host::cpuset::CpuSet;
use assay_lab::Exit;
use assay_serve::{Config, Limits};

use crate::args::ServeArguments;
use crate::failure::Failure;
use crate::{output, signals};

pub(crate) fn run(arguments: &ServeArguments) -> Result<Exit, Failure> {
    let config = Config {
        address: arguments.address,
        port: arguments.port,
        cpus: arguments.cpus.clone().unwrap_or_else(CpuSet::allowed),
        engine: arguments.engine.kind(),
        root: arguments.root.clone(),
        limits: Limits::default(),
    };
    let stop = signals::flag()?;
    let summary = assay_serve::run(&config, &stop, |at| {
        output::note(format_args!("serving http://{at} on CPUs {}", config.cpus))
    })?;
    output::note(format_args!("served {} requests, refused {}", summary.requests(), summary.refused()));
    Ok(Exit::Ok)
}
