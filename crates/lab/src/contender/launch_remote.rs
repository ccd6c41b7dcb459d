//! The start of a contender on another host: its folder travels there, and its agent starts it.

use assay_model::record::{NotRun, Stage};

use super::StartOrder;
use super::environment::{Environment, Told};
use super::inherited::Inherited;
use super::launch::{FirstProcess, Held, LOG_BYTES, failure, with_arguments};
use super::server_process::ServerProcess;
use crate::database::Observed;
use crate::hosts::remote_host::{RemoteHost, Surroundings};
use crate::hosts::session::HostError;
use crate::subject::Process;
use crate::supervisor::SupervisorOptions;
use crate::tls::served;

/// Starts the process of a contender there, before the server at `upstream` if it is a proxy.
pub(super) fn launch_remote(
    process: &Process,
    order: &StartOrder<'_>,
    remote: &RemoteHost,
    upstream: Option<&str>,
) -> Result<Held, NotRun> {
    if let Some(unfit) = unfit(process, order, remote) {
        return Err(unfit);
    }
    let lost = |error: HostError| failed(order, remote, &error);
    let port = remote.free_port(process.port).map_err(lost)?;
    let scratch = remote.path(&format!("scratch-{port}"));
    let tls = order.tls.map(|tls| remote.bring(&tls.folder)).transpose().map_err(lost)?;
    let tls = tls.map(|folder| served(&folder));
    let environment = Environment::new(&Told {
        address: &remote.address().to_string(),
        port,
        cpus: &remote.cpus().to_string(),
        workers: remote.cpus().len(),
        scratch: &scratch,
        tools: remote.tools(),
        database: order.database.map(|access| (access.kind, access.url.as_str())),
        stack: None,
        tls: tls.as_ref().map(|(certificate, key)| (&**certificate, &**key)),
        protocol: Some(order.protocol),
        upstream,
    });
    let run = with_arguments(&process.run, false, order)?;
    let (command, variables) = environment
        .launching(&run)
        .map_err(|error| failure(order, error.to_string(), "mend contender.toml"))?;
    let job = remote.new_job();
    let mut options = SupervisorOptions::new(job.log.clone(), command);
    options.cpus = Some(remote.cpus().clone());
    options.log_limit_bytes = LOG_BYTES;
    options.scratch = vec![scratch.clone()];
    let folder = remote.bring(&process.folder).map_err(lost)?;
    let around = Surroundings {
        folder: &folder,
        inherited: names(&process.inherited),
        is_building: false,
        variables,
        log: &order.log,
    };
    let process = ServerProcess::There(remote.start(&job, &options, around).map_err(lost)?);
    let address = remote.address().to_string();
    Ok(Held::new(process, order, port, address, FirstProcess::Started, scratch))
}

/// Names of variables of the environment there that it is given.
pub(super) fn names(inherited: &Inherited) -> Option<Vec<String>> {
    match inherited {
        Inherited::All => None,
        Inherited::Listed(names) => Some(names.clone()),
    }
}

/// What is measured on this host alone so far.
fn unfit(process: &Process, order: &StartOrder<'_>, remote: &RemoteHost) -> Option<NotRun> {
    // One of our own on this host listens there alone; others are where their URL says.
    let has_ours = order.database.is_some_and(|access| matches!(access.seen, Observed::Here(_)));
    let leave_out = "leave it out, or leave --server out";
    let start_one = "give a host of the lab the role database, or start one that both hosts reach, and name it with --database URL";
    let reasons = [
        (process.container.is_some(), "it runs in a container", leave_out),
        (order.user.is_some(), "it is to be on the user-space stack", leave_out),
        (has_ours, "it needs a database that assay starts", start_one),
    ];
    let (_, what, remedy) = reasons.into_iter().find(|(is_so, ..)| *is_so)?;
    Some(NotRun {
        stage: Stage::Needs,
        reason: format!("{what}, which a server on another host ({}) cannot have yet", remote.name()),
        remedy: Some(remedy.to_owned()),
        log_tail: Vec::new(),
    })
}

fn failed(order: &StartOrder<'_>, remote: &RemoteHost, error: &HostError) -> NotRun {
    failure(
        order,
        error.to_string(),
        &format!("mend the command, or install what it needs on {}", remote.name()),
    )
}
