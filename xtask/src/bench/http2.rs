//! `cargo xtask bench h2`: generator and reference server over HTTP/2, without TLS and over it, beside h2load, nghttpd and nginx.

use std::path::Path;

use assay_model::generator::GeneratorName;
use assay_model::protocol::Protocol;
use clap::{Args, ValueEnum};

use super::blocks::{measure_in_blocks, sample};
use super::pairs::{CLIENTS, driven, load_of, of_clients, of_servers};
use super::{Length, command_line, every, table};
use crate::measure::Testbed;
use crate::measure::client::{self, Client, Engine, Load};
use crate::measure::server::{self, AssayServer, Nghttpd, Nginx, Pair, Server, Started};

/// Connections, unless others are asked for.
const CONNECTIONS: u32 = 16;
/// Streams in flight on each, unless others are asked for.
const STREAMS: u32 = 10;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    length: Length,
    /// Connections
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    connections: Vec<u32>,
    /// Streams in flight on each
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    streams: Vec<u32>,
    /// Sizes of the body in bytes: 0, 1024, 65536, 1048576
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    bodies: Vec<usize>,
    /// The tables wanted [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    tables: Vec<Table>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Answers per second, and per second of the client's CPU time
    Client,
    /// Requests of servers
    Server,
}

/// What is asked for, and over what.
#[derive(Clone, Copy)]
struct Cell<'p> {
    /// Who the servers are, over TLS.
    pair: Option<&'p Pair>,
    body_bytes: usize,
    connections: u32,
    streams: u32,
}

pub(super) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let testbed = options.length.testbed(root)?;
    let pair = Pair::make(&testbed)?;
    println!("`{}`; {}.", command_line(), testbed.statement);
    let cells = cells(options, &pair);
    for table in options.length.choose(&options.tables, &every(), &every()) {
        println!();
        match table {
            Table::Client => compare_clients(options, &testbed, &cells)?,
            Table::Server => compare_servers(options, &testbed, &cells)?,
        }
    }
    Ok(())
}

fn cells<'p>(options: &Options, pair: &'p Pair) -> Vec<Cell<'p>> {
    let bodies = options.length.choose(&options.bodies, &[1 << 10], &[0, 1 << 10, 64 << 10]);
    let connections = options.length.choose(&options.connections, &[CONNECTIONS], &[CONNECTIONS]);
    let streams = options.length.choose(&options.streams, &[STREAMS], &[1, STREAMS]);
    let mut cells = Vec::new();
    for pair in [None, Some(pair)] {
        for &body_bytes in &bodies {
            for &connections in &connections {
                cells.extend(streams.iter().map(|&streams| Cell { pair, body_bytes, connections, streams }));
            }
        }
    }
    cells
}

impl Cell<'_> {
    /// The words of a row that say which it is.
    fn words(&self) -> Vec<String> {
        vec![
            self.protocol().to_string(),
            table::size(self.body_bytes),
            format!("{}×{}", self.connections, self.streams),
        ]
    }

    fn start(&self, server: &dyn Server, testbed: &Testbed) -> Result<Started, String> {
        server::start_speaking(server, testbed, self.pair, self.protocol())
    }

    fn protocol(&self) -> Protocol {
        Protocol::of(true, self.pair.is_some())
    }

    fn load(&self, server: &Started, options: &Options, testbed: &Testbed) -> Result<Load, String> {
        let load = load_of(server, self.body_bytes, self.connections, options.length.seconds(), testbed)?;
        Ok(Load { http2: true, pipeline: self.streams, ..load })
    }
}

/// Ours with both engines first, then those of others that are there.
fn servers() -> Vec<Box<dyn Server>> {
    let mut servers: Vec<Box<dyn Server>> =
        Engine::ALL.map(|engine| Box::new(AssayServer(engine)) as _).into();
    servers.extend([Box::new(Nghttpd) as Box<dyn Server>, Box::new(Nginx)]);
    server::installed(servers)
}

fn compare_clients(options: &Options, testbed: &Testbed, cells: &[Cell<'_>]) -> Result<(), String> {
    let clients = client::with_ours(&[GeneratorName::H2load]);
    let head = [&["server", "protocol", "body", "in flight"][..], &CLIENTS].concat();
    table::head(&head.into_iter().map(String::from).collect::<Vec<_>>());
    for driven in driven() {
        for cell in cells {
            let server = cell.start(&*driven, testbed)?;
            let load = cell.load(&server, options, testbed)?;
            let measure = |client: &Client| sample(*client, &load, testbed);
            let words = [vec![driven.name().to_owned()], cell.words()].concat();
            let runs = measure_in_blocks(options.length.rounds(), &words, &clients, measure)?;
            for row in of_clients(&clients, &runs) {
                table::row(&[words.clone(), row].concat());
            }
        }
    }
    Ok(())
}

fn compare_servers(options: &Options, testbed: &Testbed, cells: &[Cell<'_>]) -> Result<(), String> {
    let servers = servers();
    let head = ["protocol", "body", "in flight", "peer", "peer's req/s", "ours", "req/s"];
    table::head(&head.map(String::from));
    for cell in cells {
        let runs = measure_in_blocks(options.length.rounds(), &cell.words(), &servers, |server| {
            let server = cell.start(&**server, testbed)?;
            let load = cell.load(&server, options, testbed)?;
            Ok(sample(client::ours(Engine::Uring), &load, testbed)?.map(|sample| sample.per_second))
        })?;
        for row in of_servers(&servers, &runs) {
            table::row(&[cell.words(), row].concat());
        }
    }
    Ok(())
}
