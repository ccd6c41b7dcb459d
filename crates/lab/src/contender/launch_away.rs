//! The start of a contender on another host: its folder travels there, and its agent starts it.

use assay_model::record::{NotRun, Stage};

use super::StartOrder;
use super::environment::{Environment, Told};
use super::inherited::Inherited;
use super::launch::{FirstProcess, Held, LOG_BYTES, failure};
use super::server_process::ServerProcess;
use crate::hosts::away::{Away, Surroundings};
use crate::hosts::session::HostError;
use crate::subject::Process;
use crate::supervisor::SupervisorOptions;

/// Starts the process of a contender there, before the server at `upstream` if it is a proxy.
pub(super) fn launch_away(
    process: &Process,
    order: &StartOrder<'_>,
    away: &Away,
    upstream: Option<&str>,
) -> Result<Held, NotRun> {
    if let Some(unfit) = unfit(process, order, away) {
        return Err(unfit);
    }
    let lost = |error: HostError| failed(order, away, &error);
    let port = away.free_port(process.port).map_err(lost)?;
    let scratch = away.path(&format!("scratch-{port}"));
    let environment = Environment::new(&Told {
        address: &away.address().to_string(),
        port,
        cpus: &away.cpus().to_string(),
        workers: away.cpus().len(),
        scratch: &scratch,
        tools: away.tools(),
        database: None,
        stack: None,
        tls: None,
        protocol: Some(order.protocol),
        upstream,
    });
    let (command, variables) = environment
        .launching(&process.run)
        .map_err(|error| failure(order, error.to_string(), "mend contender.toml"))?;
    let mut options = SupervisorOptions::new(scratch.join("log"), command);
    options.cpus = Some(away.cpus().clone());
    options.log_limit_bytes = LOG_BYTES;
    options.scratch = vec![scratch.clone()];
    let folder = away.bring(&process.folder).map_err(lost)?;
    let around = Surroundings {
        folder: &folder,
        inherited: names(&process.inherited),
        is_building: false,
        variables,
        log: &order.log,
    };
    let process = ServerProcess::There(away.start(options, around).map_err(lost)?);
    let address = away.address().to_string();
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
fn unfit(process: &Process, order: &StartOrder<'_>, away: &Away) -> Option<NotRun> {
    let reasons = [
        (process.container.is_some(), "it runs in a container"),
        (order.user.is_some(), "it is to be on the user-space stack"),
        (order.tls.is_some(), "it is to be measured over TLS"),
        (order.database.is_some(), "it needs a database"),
    ];
    let (_, what) = reasons.into_iter().find(|(is_so, _)| *is_so)?;
    Some(NotRun {
        stage: Stage::Needs,
        reason: format!("{what}, which a server on another host ({}) cannot have yet", away.name()),
        remedy: Some("leave it out, or leave --server out".to_owned()),
        log_tail: Vec::new(),
    })
}

fn failed(order: &StartOrder<'_>, away: &Away, error: &HostError) -> NotRun {
    failure(
        order,
        error.to_string(),
        &format!("mend the command, or install what it needs on {}", away.name()),
    )
}
