//! What is asked of an agent alike, whatever its host is there for: what the machine is, and the start of a command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_host::cpuset::CpuSet;
use assay_model::doctor::Diagnosis;
use assay_model::lab::LabHost;

use super::message::{Answer, Request, Start};
use super::session::{HostError, Session};
use crate::supervisor::SupervisorOptions;

/// Longest wait for the start of a job, or its end with its grace.
pub(super) const JOB_PATIENCE: Duration = Duration::from_secs(60);

/// What a job is given beside its command.
pub(super) struct Given<'a> {
    /// Its working folder there.
    pub(super) folder: &'a Path,
    /// Names of variables of that host's environment that it is given beside those that all are; all when absent.
    pub(super) inherited: Option<Vec<String>>,
    /// Whether it builds or probes.
    pub(super) is_building: bool,
    /// Variables of its own.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// Whether it is spoken to.
    pub(super) is_spoken_to: bool,
}

/// What the machine of `session`'s host is, and the CPUs of it that are to be used: those that the lab file names, or all that are allowed.
pub(super) fn machine(session: &Session, host: &LabHost) -> Result<(Box<Diagnosis>, CpuSet), HostError> {
    let refused = |problem: String| HostError::Refused { host: host.name.clone(), problem };
    let (diagnosis, allowed) = match session.ask(Request::Machine)? {
        Answer::Machine { diagnosis, cpus, .. } => (diagnosis, cpus),
        other => return Err(session.unexpected(&other)),
    };
    let allowed: CpuSet = allowed.parse().map_err(|_| refused(format!("its CPUs are `{allowed}`")))?;
    let given = host.cpus.as_ref().and_then(|cpus| cpus.parse().ok());
    let cpus: CpuSet = given.unwrap_or_else(|| allowed.clone());
    if !cpus.is_subset(&allowed) {
        return Err(refused(format!("it allows the CPUs {allowed} and is to use {cpus}; mend its `cpus`")));
    }
    Ok((diagnosis, cpus))
}

/// Where the log of job `number` is to be on its host: in the agent's own folder.
pub(super) fn log_there(session: &Session, number: u64) -> PathBuf {
    session.work.join(format!("{number}.log"))
}

/// Starts a command as job `number`.
pub(super) fn start(
    session: &Session,
    number: u64,
    options: &SupervisorOptions,
    given: Given<'_>,
) -> Result<(), HostError> {
    let text = |word: OsString| {
        word.into_string().map_err(|word| HostError::Refused {
            host: session.host.clone(),
            problem: format!("`{}` is no text, and only text travels", word.to_string_lossy()),
        })
    };
    let arguments = options.to_arguments().into_iter().map(text).collect::<Result<_, _>>()?;
    let variables = given.variables.into_iter().map(|(name, value)| Ok((text(name)?, text(value)?)));
    let start = Start {
        job: number,
        arguments,
        folder: given.folder.to_owned(),
        inherited: given.inherited,
        is_building: given.is_building,
        variables: variables.collect::<Result<_, _>>()?,
        is_spoken_to: given.is_spoken_to,
    };
    match session.ask_with(Request::Start(start), Vec::new(), JOB_PATIENCE)? {
        (Answer::Started { .. }, _) => Ok(()),
        (other, _) => Err(session.unexpected(&other)),
    }
}
