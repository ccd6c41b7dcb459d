//! `cargo xtask bench h2`: generator and reference server over HTTP/2, without TLS and over it, beside h2load, nghttpd and nginx.

use std::path::Path;

use assay_model::generator::GeneratorName;
use assay_model::protocol::Protocol;
use clap::{Args, ValueEnum};

use super::pairs::{Bench, Task, load_of, ours_and};
use super::{Length, command_line, every, table};
use crate::measure::Testbed;
use crate::measure::client::{self, Load};
use crate::measure::server::{self, Nghttpd, Nginx, Pair, Server, Started};

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
    /// Certificate and key of the servers, over TLS.
    pair: Option<&'p Pair>,
    body_bytes: usize,
    connections: u32,
    streams: u32,
}

pub(super) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let testbed = options.length.testbed(root)?;
    let pair = Pair::make(&testbed)?;
    println!("`{}`; {}.", command_line(), testbed.statement);
    let (bench, cells) = (Bench { length: &options.length, testbed: &testbed }, cells(options, &pair));
    for table in options.length.choose(&options.tables, &every(), &every()) {
        println!();
        match table {
            Table::Client => bench.compare_clients(&cells, &client::with_ours(&[GeneratorName::H2load]))?,
            Table::Server => bench.compare_servers(&cells, &servers())?,
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
    fn protocol(&self) -> Protocol {
        Protocol::of(true, self.pair.is_some())
    }
}

impl Task for Cell<'_> {
    const HEADS: &'static [&'static str] = &["protocol", "body", "in flight"];

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

    fn load(&self, server: &Started, seconds: u32, testbed: &Testbed) -> Result<Load, String> {
        let load = load_of(server, self.body_bytes, self.connections, seconds, testbed)?;
        Ok(Load { http2: true, pipeline: self.streams, ..load })
    }
}

fn servers() -> Vec<Box<dyn Server>> {
    server::installed(ours_and(vec![Box::new(Nghttpd), Box::new(Nginx)]))
}
