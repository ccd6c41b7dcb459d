//! Load generators on the client's CPU, run as the lab runs them: ours on each engine, and those of other projects.

use assay_lab::contender::Tools;
use assay_lab::generator::{LoadError, Manner, Site, foreign};
use assay_lab::secrets::Secrets;
use assay_link::Link;
use assay_model::generator::GeneratorName;

pub(crate) use assay_lab::generator::{
    FOREIGN, Finished, KernelEngine as Engine, Load, LoadGenerator, Own, Sessions,
};

use super::Testbed;

/// A generator of a table.
pub(crate) type Client = &'static dyn LoadGenerator;

/// Ours on each engine, in the order of [`Engine::ALL`].
pub(crate) const OURS: [Client; 2] =
    [&Own { engine: Some(Engine::Uring) }, &Own { engine: Some(Engine::Epoll) }];

/// Ours on an engine.
pub(crate) fn ours(engine: Engine) -> Client {
    match engine {
        Engine::Uring => OURS[0],
        Engine::Epoll => OURS[1],
    }
}

/// Ours, and those of the others that are installed; one that is not is named.
pub(crate) fn with_ours(others: &[GeneratorName]) -> Vec<Client> {
    let others: Vec<Client> = others.iter().filter_map(|name| foreign(*name)).collect();
    let (here, absent): (Vec<Client>, Vec<Client>) = others.into_iter().partition(|client| client.is_here());
    absent
        .iter()
        .filter_map(|client| client.tool())
        .for_each(|tool| eprintln!("{}; left out", tool.advice()));
    [OURS.to_vec(), here].concat()
}

/// Puts a load on a server; also says what it cost.
///
/// # Errors
/// When the client fails, or says something that is not understood; or when a person asks to end.
pub(crate) fn run(client: Client, load: &Load, testbed: &Testbed) -> Result<Finished, String> {
    run_as(client, load, &Manner::default(), testbed)
}

/// Puts a load on a server in another manner.
///
/// # Errors
/// As for [`run`].
pub(crate) fn run_as(
    client: Client,
    load: &Load,
    manner: &Manner,
    testbed: &Testbed,
) -> Result<Finished, String> {
    let secrets = Secrets::default();
    let tools =
        Tools { assay: testbed.assay.clone(), files: testbed.scratch().to_owned(), preload: None, secrets };
    let (link, cpus, work) = (Link::loopback(), &testbed.client_cpu, testbed.scratch());
    let site = Site { tools: &tools, link: &link, cpus, work };
    assay_lab::generator::run(client, load, &site, manner, &mut || testbed.go_on().is_ok()).map_err(|error| {
        match error {
            LoadError::Unwanted => error.to_string(),
            LoadError::Failed { problem, log_tail } => [vec![problem], log_tail].concat().join("\n"),
        }
    })
}
