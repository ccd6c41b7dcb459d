//! `assay stub`: the server with programmed behaviour, against which load generators are tested. Its counts are the result.

use std::net::SocketAddr;

use assay_host::cpuset::{self, CpuSet};
use assay_lab::Exit;
use assay_serve::stub::{self, Program, Site};
use assay_serve::wrong::{self, Fault};

use super::sweep;
use crate::args::{EngineName, StubArguments};
use crate::failure::Failure;
use crate::{output, signals};

pub(crate) fn run(arguments: &StubArguments) -> Result<Exit, Failure> {
    let listening = &arguments.listening;
    let address = SocketAddr::new(listening.address(), listening.port);
    let allowed = cpuset::allowed();
    if let Some(fault) = arguments.wrong {
        return run_wrong(address, listening.cpus.as_ref().unwrap_or(&allowed), fault);
    }
    let site = Site {
        address,
        cpus: listening.cpus.clone().unwrap_or_else(|| allowed.iter().last().into_iter().collect()),
        stack: listening.stack(EngineName::Epoll)?,
        tls: listening.tls.server(listening.address())?,
    };
    let program = Program {
        discipline: arguments.discipline.discipline(),
        service: arguments.service.clone(),
        warming: arguments.warming,
        stall: arguments.stall,
        faults: arguments.faults,
        work: arguments.work,
        seed: arguments.seed,
    };
    sweep::behind_stack(&site.stack)?;
    let stop = signals::flag()?;
    let counts = stub::run(&site, &program, &stop, |at| {
        output::note(format_args!("a stub at {}://{at} on CPUs {}", listening.tls.scheme(), site.cpus))
    })?;
    let text = serde_json::to_string(&counts).map_err(|e| Failure::Bug(e.to_string()))?;
    output::result(&(text + "\n"));
    Ok(Exit::Ok)
}

fn run_wrong(address: SocketAddr, cpus: &CpuSet, fault: Fault) -> Result<Exit, Failure> {
    let stop = signals::flag()?;
    wrong::run(address, cpus, fault, &stop, |at| {
        output::note(format_args!("a server with a fault ({}) at http://{at} on CPUs {cpus}", fault.name()))
    })?;
    Ok(Exit::Ok)
}
