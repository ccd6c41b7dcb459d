//! `cargo xtask bench load`: our generator with both engines beside those of others.

use std::path::Path;

use assay_model::generator::GeneratorName;
use clap::{Args, ValueEnum};

use super::blocks::{Sample, measure_in_blocks, middle, ratio, sample, series};
use super::pairs::load_of;
use super::{Length, command_line, every, probe, table};
use crate::measure::client::{self, Client, Engine, Load};
use crate::measure::server::{self, AssayServer, Nginx, SIZES, Server};
use crate::measure::{Testbed, under_way};

/// Connections at which system calls are counted: enough for a batching client to batch.
const PROBE_CONNECTIONS: u32 = 64;
/// Between these two numbers of connections the growth of memory is measured.
const MEMORY_CONNECTIONS: [u32; 2] = [16, 4096];

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    length: Length,
    /// Servers that are driven
    #[arg(long, value_enum, value_delimiter = ',')]
    servers: Vec<Driven>,
    /// Sizes of the body in bytes: 0, 1024, 65536, 1048576
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    bodies: Vec<usize>,
    /// Requests in flight on one connection
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pipelines: Vec<u32>,
    /// Connections
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    connections: Vec<u32>,
    /// The tables wanted [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    tables: Vec<Table>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Answers per second, and per second of CPU time
    Speed,
    /// System calls per answer
    Calls,
    /// Memory per connection
    Memory,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Driven {
    Assay,
    Nginx,
}

impl Driven {
    fn server(self) -> Box<dyn Server> {
        match self {
            Self::Assay => Box::new(AssayServer(Engine::Uring)),
            Self::Nginx => Box::new(Nginx),
        }
    }
}

/// One row of the table, times the peers.
struct Cell {
    driven: Driven,
    body_bytes: usize,
    pipeline: u32,
    connections: u32,
}

/// Generators of others that measure one server on one core.
const PEERS: [GeneratorName; 3] = [GeneratorName::Wrk, GeneratorName::H2load, GeneratorName::Ab];

pub(super) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let testbed = options.length.testbed(root)?;
    let clients = client::with_ours(&PEERS);
    println!("`{}`; {}.", command_line(), testbed.statement);
    for table in options.length.choose(&options.tables, &every(), &every()) {
        println!();
        match table {
            Table::Speed => measure_speed(&clients, options, &testbed)?,
            Table::Calls => count_system_calls(&clients, options, &testbed)?,
            Table::Memory => weigh_connections(&clients, &testbed)?,
        }
    }
    Ok(())
}

fn measure_speed(clients: &[Client], options: &Options, testbed: &Testbed) -> Result<(), String> {
    let cells = cells(options)?;
    table::head(&columns());
    cells.iter().try_for_each(|cell| measure(cell, clients, options, testbed))
}

fn cells(options: &Options) -> Result<Vec<Cell>, String> {
    let length = &options.length;
    let bodies = length.choose(&options.bodies, &[0, 64 << 10], &SIZES);
    if let Some(body) = bodies.iter().find(|body| !SIZES.contains(body)) {
        return Err(format!("no body of {body} bytes is served; there are {SIZES:?}"));
    }
    let pipelines = length.choose(&options.pipelines, &[1, 16], &[1, 16]);
    let connections = length.choose(&options.connections, &[256], &[16, 256, 4096]);
    let mut cells = Vec::new();
    for driven in length.choose(&options.servers, &[Driven::Assay], &every()) {
        for &body_bytes in &bodies {
            for &pipeline in &pipelines {
                for &connections in &connections {
                    cells.push(Cell { driven, body_bytes, pipeline, connections });
                }
            }
        }
    }
    cells.retain(|cell| cell.driven.server().is_here());
    Ok(cells)
}

fn columns() -> Vec<String> {
    let mut columns =
        ["server", "body", "pipeline", "connections", "peer", "peer's req/s"].map(String::from).to_vec();
    for engine in Engine::ALL {
        columns.push(format!("{}: req/s", engine.name()));
        columns.push(format!("{}: answers per CPU-second", engine.name()));
    }
    columns
}

fn measure(cell: &Cell, clients: &[Client], options: &Options, testbed: &Testbed) -> Result<(), String> {
    let server = server::start(&*cell.driven.server(), testbed)?;
    let load = cell.load(&server, options.length.seconds(), testbed)?;
    let able: Vec<Client> =
        clients.iter().copied().filter(|client| client.refusal(&load).is_none()).collect();
    let measure = |client: &Client| sample(*client, &load, testbed);
    let runs = measure_in_blocks(options.length.rounds(), &cell.words(), &able, measure)?;
    let (ours, theirs) = runs.split_at(Engine::ALL.len());
    for (client, samples) in able[Engine::ALL.len()..].iter().zip(theirs) {
        table::row(&cell.row(client.title(), samples, ours));
    }
    Ok(())
}

impl Cell {
    fn load(&self, server: &server::Started, seconds: u32, testbed: &Testbed) -> Result<Load, String> {
        let load = load_of(server, self.body_bytes, self.connections, seconds, testbed)?;
        Ok(Load { pipeline: self.pipeline, ..load })
    }

    /// The words of a row that say which it is.
    fn words(&self) -> Vec<String> {
        vec![
            self.driven.server().name().to_owned(),
            table::size(self.body_bytes),
            self.pipeline.to_string(),
            self.connections.to_string(),
        ]
    }

    fn row(&self, peer: &str, theirs: &[Option<Sample>], ours: &[Vec<Option<Sample>>]) -> Vec<String> {
        let failed: u64 = theirs.iter().flatten().map(|sample| sample.failed).sum();
        let peer = if failed > 0 { format!("{peer} ({failed} failed)") } else { peer.to_owned() };
        let their_rate = series(theirs, |sample| sample.per_second);
        let their_economy = series(theirs, |sample| sample.per_cpu_second);
        let mut row = self.words();
        row.extend([peer, table::rate(middle(&their_rate))]);
        for samples in ours {
            row.push(ratio(&series(samples, |sample| sample.per_second), &their_rate));
            row.push(ratio(&series(samples, |sample| sample.per_cpu_second), &their_economy));
        }
        row
    }
}

/// A table of system calls per answer, by kind of load and client.
fn count_system_calls(clients: &[Client], options: &Options, testbed: &Testbed) -> Result<(), String> {
    let names = clients.iter().map(|client| client.title().to_owned());
    table::head(
        &[format!("system calls per answer at {PROBE_CONNECTIONS} connections")]
            .into_iter()
            .chain(names)
            .collect::<Vec<_>>(),
    );
    let server = server::start(&AssayServer(Engine::Uring), testbed)?;
    for (body_bytes, pipeline) in [(0, 1), (0, 16), (64 << 10, 1)] {
        let cell = Cell { driven: Driven::Assay, body_bytes, pipeline, connections: PROBE_CONNECTIONS };
        let load = cell.load(&server, options.length.seconds(), testbed)?;
        let words = format!("{}, pipeline {pipeline}", table::size(body_bytes));
        let mut row = vec![words.clone()];
        for client in clients {
            under_way(&format!("system calls, {words}: {}", client.title()));
            row.push(table::number(probe::system_calls(*client, &load, testbed)?, 2));
        }
        table::row(&row);
    }
    Ok(())
}

/// A table of memory per connection by client.
fn weigh_connections(clients: &[Client], testbed: &Testbed) -> Result<(), String> {
    let [few, many] = MEMORY_CONNECTIONS;
    table::head(&["client".to_owned(), format!("resident KiB per connection, from {few} to {many}")]);
    let server = server::start(&AssayServer(Engine::Uring), testbed)?;
    for client in clients {
        under_way(&format!("memory: {}", client.title()));
        let load = |connections| Load::closed(server.url("/hello"), connections, 2);
        let bytes = probe::bytes_per_connection(*client, &load(few), &load(many), testbed)?;
        table::row(&[client.title().to_owned(), table::number(bytes.map(|bytes| bytes / 1024.0), 2)]);
    }
    Ok(())
}
