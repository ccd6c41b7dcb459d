//! What an agent on another host is asked first, whatever its host is there for.

use std::path::{Path, PathBuf};

use assay_host::cpuset::CpuSet;
use assay_model::doctor::Diagnosis;
use assay_model::lab::LabHost;

use super::asking::Agent as _;
use super::message::{Answer, Request};
use super::session::Session;
use crate::host_error::HostError;

/// What the machine of `session`'s host is, and the CPUs of it that are to be used: those that the lab file names, or all that are allowed.
/// It is waited for while that is `wanted`.
pub(super) fn machine(
    session: &Session,
    host: &LabHost,
    wanted: &mut dyn FnMut() -> bool,
) -> Result<(Box<Diagnosis>, CpuSet), HostError> {
    let (diagnosis, allowed) = match session.ask_while(Request::Machine, wanted)? {
        Answer::Machine { diagnosis, cpus, .. } => (diagnosis, cpus),
        other => return Err(session.unexpected(&other)),
    };
    let allowed: CpuSet =
        allowed.parse().map_err(|_| session.refused(format!("its CPUs are `{allowed}`")))?;
    let given = host.cpus.as_ref().and_then(|cpus| cpus.parse().ok());
    let cpus: CpuSet = given.unwrap_or_else(|| allowed.clone());
    if !cpus.is_subset(&allowed) {
        let problem = format!("it allows the CPUs {allowed} and is to use {cpus}; mend its `cpus`");
        return Err(session.refused(problem));
    }
    Ok((diagnosis, cpus))
}

/// Where the log of job `number` is to be on another host: in the agent's own folder `work`.
pub(super) fn log_there(work: &Path, number: u64) -> PathBuf {
    work.join(format!("{number}.log"))
}
