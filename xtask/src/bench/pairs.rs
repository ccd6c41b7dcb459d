//! Ours beside those of others: what both are asked for, and a row for each pair of them.

use super::blocks::{Sample, Series, middle, ratio, series};
use super::table;
use crate::measure::client::{Client, Engine, Load};
use crate::measure::server::{self, AssayServer, Nginx, Server, Started};
use crate::measure::{Testbed, workload};

/// A closed loop over kept connections for a body of so many bytes, each answer compared with it.
///
/// # Errors
/// When the workload cannot be written.
pub(super) fn load_of(
    server: &Started,
    body_bytes: usize,
    connections: u32,
    seconds: u32,
    testbed: &Testbed,
) -> Result<Load, String> {
    let path = format!("/bytes/{body_bytes}");
    let body = String::from_utf8(server::body(body_bytes)).map_err(|error| error.to_string())?;
    let workload = Some(workload::write(testbed, &[&path], Some(&body))?);
    Ok(Load { workload, ..Load::closed(server.url(&path), connections, seconds) })
}

/// The servers that clients are compared on: ours, which a client drives as fast as the client can, and nginx, for whose answers it waits
/// one by one.
pub(super) fn driven() -> Vec<Box<dyn Server>> {
    server::installed(vec![Box::new(AssayServer(Engine::Uring)), Box::new(Nginx)])
}

/// The heads of [`of_clients`], behind those that say what was measured.
pub(super) const CLIENTS: [&str; 5] = ["peer", "peer's req/s", "ours", "req/s", "answers per CPU-second"];

/// Each of our clients, which stand first, beside each of others'.
pub(super) fn of_clients(clients: &[Client], runs: &[Vec<Option<Sample>>]) -> Vec<Vec<String>> {
    let title = |client: &Client| client.title().to_owned();
    let of = |own: &[Option<Sample>], theirs: &[Option<Sample>], figure: fn(Sample) -> f64| {
        ratio(&series(own, figure), &series(theirs, figure))
    };
    pairs(clients, runs, |(peer, theirs), (client, own)| {
        vec![
            title(peer),
            table::rate(middle(&series(theirs, |sample| sample.per_second))),
            title(client),
            of(own, theirs, |sample| sample.per_second),
            of(own, theirs, |sample| sample.per_cpu_second),
        ]
    })
}

/// Each of our servers, which stand first, beside each of others'.
pub(super) fn of_servers(servers: &[Box<dyn Server>], runs: &[Series]) -> Vec<Vec<String>> {
    pairs(servers, runs, |(peer, theirs), (server, own)| {
        vec![
            peer.name().to_owned(),
            table::rate(middle(theirs)),
            server.name().to_owned(),
            ratio(own, theirs),
        ]
    })
}

/// A row for each of ours, one for each engine, beside each of others'.
fn pairs<S, R>(
    subjects: &[S],
    runs: &[R],
    row: impl Fn((&S, &R), (&S, &R)) -> Vec<String>,
) -> Vec<Vec<String>> {
    let all: Vec<(&S, &R)> = subjects.iter().zip(runs).collect();
    let (ours, others) = all.split_at(Engine::ALL.len().min(all.len()));
    others.iter().flat_map(|peer| ours.iter().map(|own| row(*peer, *own))).collect()
}
