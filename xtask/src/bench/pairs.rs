//! Ours beside those of others: what both are asked for, and a row for each pair of them. A protocol's tables of clients and of servers
//! differ in their [`Task`] alone.

use super::blocks::{Sample, Series, measure_in_blocks, middle, ratio, sample, series};
use super::{Length, table};
use crate::measure::client::{self, Client, Engine, Load};
use crate::measure::server::{self, AssayServer, Nginx, Server, Started};
use crate::measure::{Testbed, workload};

/// What a server is asked for in the rows of a table.
pub(super) trait Task {
    /// The heads of the columns that say which it is.
    const HEADS: &'static [&'static str];
    /// What a table of servers counts.
    const COUNTED: &'static str = "req/s";
    /// Seconds of load before a server is measured, where it needs any.
    const WARM_UP_S: Option<u32> = None;

    /// The words below [`Self::HEADS`].
    fn words(&self) -> Vec<String>;

    /// Starts a server that can do it.
    ///
    /// # Errors
    /// As for [`server::start`].
    fn start(&self, server: &dyn Server, testbed: &Testbed) -> Result<Started, String>;

    /// The load for so many seconds.
    ///
    /// # Errors
    /// When its workload cannot be written.
    fn load(&self, server: &Started, seconds: u32, testbed: &Testbed) -> Result<Load, String>;
}

/// Where everything is measured, how long and how often.
#[derive(Clone, Copy)]
pub(super) struct Bench<'b> {
    pub(super) length: &'b Length,
    pub(super) testbed: &'b Testbed,
}

impl Bench<'_> {
    /// Prints a table of clients on each of the servers that clients are compared on.
    ///
    /// # Errors
    /// When a server does not start, or a person asks to end.
    pub(super) fn compare_clients<T: Task>(self, tasks: &[T], clients: &[Client]) -> Result<(), String> {
        table::head(&[&["server"][..], T::HEADS, &CLIENTS].concat());
        for driven in driven() {
            for task in tasks {
                let words = [vec![driven.name().to_owned()], task.words()].concat();
                self.compare_clients_on(&*driven, task, &words, clients)?;
            }
        }
        Ok(())
    }

    /// Prints the rows of clients on one server, each behind `words`.
    ///
    /// # Errors
    /// As for [`Self::compare_clients`].
    pub(super) fn compare_clients_on<T: Task>(
        self,
        driven: &dyn Server,
        task: &T,
        words: &[String],
        clients: &[Client],
    ) -> Result<(), String> {
        let server = task.start(driven, self.testbed)?;
        let load = task.load(&server, self.length.seconds(), self.testbed)?;
        let measure = |client: &Client| sample(*client, &load, self.testbed);
        let runs = measure_in_blocks(self.length.rounds(), words, clients, measure)?;
        for row in of_clients(clients, &runs) {
            table::row(&[words, &row].concat());
        }
        Ok(())
    }

    /// Prints a table of servers, all driven by our faster client.
    ///
    /// # Errors
    /// As for [`Self::compare_clients`].
    pub(super) fn compare_servers<T: Task>(
        self,
        tasks: &[T],
        servers: &[Box<dyn Server>],
    ) -> Result<(), String> {
        let theirs = format!("peer's {}", T::COUNTED);
        table::head(&[T::HEADS, &["peer", &theirs, "ours", T::COUNTED]].concat());
        for task in tasks {
            let words = task.words();
            let rounds = self.length.rounds();
            let runs = measure_in_blocks(rounds, &words, servers, |server| self.speed(&**server, task))?;
            for row in of_servers(servers, &runs) {
                table::row(&[&words[..], &row].concat());
            }
        }
        Ok(())
    }

    /// How fast a server is, started afresh.
    fn speed<T: Task>(self, server: &dyn Server, task: &T) -> Result<Option<f64>, String> {
        let server = task.start(server, self.testbed)?;
        let load = task.load(&server, self.length.seconds(), self.testbed)?;
        let client = client::ours(Engine::Uring);
        if let Some(seconds) = T::WARM_UP_S {
            sample(client, &Load { seconds, ..load.clone() }, self.testbed)?;
        }
        Ok(sample(client, &load, self.testbed)?.map(|sample| sample.per_second))
    }
}

/// Our server on both engines first, then those of others.
pub(super) fn ours_and(others: Vec<Box<dyn Server>>) -> Vec<Box<dyn Server>> {
    let ours = Engine::ALL.map(|engine| Box::new(AssayServer(engine)) as Box<dyn Server>);
    ours.into_iter().chain(others).collect()
}

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
fn driven() -> Vec<Box<dyn Server>> {
    server::installed(vec![Box::new(AssayServer(Engine::Uring)), Box::new(Nginx)])
}

/// The heads of [`of_clients`], behind those that say what was measured.
pub(super) const CLIENTS: [&str; 5] = ["peer", "peer's req/s", "ours", "req/s", "answers per CPU-second"];

/// Each of our clients, which stand first, beside each of others'.
fn of_clients(clients: &[Client], runs: &[Vec<Option<Sample>>]) -> Vec<Vec<String>> {
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
