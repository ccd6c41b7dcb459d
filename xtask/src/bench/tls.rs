//! `cargo xtask bench tls`: generator and reference server over TLS beside wrk and nginx, all with the same certificate.

use std::path::Path;

use assay_host::sampler::tree_usage;
use assay_model::generator::GeneratorName;
use clap::{Args, ValueEnum};

use super::blocks::measure_in_blocks;
use super::pairs::{Bench, Task, load_of, of_servers, ours_and};
use super::{Length, command_line, every, table};
use crate::measure::client::{self, Engine, Load, Sessions};
use crate::measure::server::{self, HELLO, Nginx, Pair, Server, Started};
use crate::measure::{Testbed, workload};

/// Connections that are kept, unless others are asked for.
const KEPT: u32 = 64;
/// Connections in their handshakes at once.
const HANDSHAKING: u32 = 32;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    length: Length,
    /// Connections that are kept
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    connections: Vec<u32>,
    /// Sizes of the body in bytes: 0, 1024, 65536, 1048576
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    bodies: Vec<usize>,
    /// The tables wanted [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    tables: Vec<Table>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Answers per second, and per second of the client's CPU time, on connections that are kept
    Client,
    /// Handshakes and requests of servers
    Server,
    /// Handshakes per second of the server's CPU time
    Handshakes,
}

/// What is asked for on connections that are kept.
struct Cell<'p> {
    /// Certificate and key of the servers.
    pair: &'p Pair,
    body_bytes: usize,
    connections: u32,
}

pub(super) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let testbed = options.length.testbed(root)?;
    let pair = Pair::make(&testbed)?;
    println!("`{}`; {}.", command_line(), testbed.statement);
    let (bench, cells) = (Bench { length: &options.length, testbed: &testbed }, cells(options, &pair));
    for table in options.length.choose(&options.tables, &every(), &every()) {
        println!();
        match table {
            Table::Client => bench.compare_clients(&cells, &client::with_ours(&[GeneratorName::Wrk]))?,
            Table::Server => bench.compare_servers(&cells, &servers())?,
            Table::Handshakes => compare_handshakes(options, &testbed, &pair)?,
        }
    }
    Ok(())
}

fn cells<'p>(options: &Options, pair: &'p Pair) -> Vec<Cell<'p>> {
    let bodies = options.length.choose(&options.bodies, &[1 << 10], &[0, 1 << 10, 64 << 10]);
    let counts = options.length.choose(&options.connections, &[KEPT], &[KEPT]);
    let mut cells = Vec::new();
    for &body_bytes in &bodies {
        cells.extend(counts.iter().map(|&connections| Cell { pair, body_bytes, connections }));
    }
    cells
}

impl Task for Cell<'_> {
    const HEADS: &'static [&'static str] = &["body", "connections"];

    fn words(&self) -> Vec<String> {
        vec![table::size(self.body_bytes), self.connections.to_string()]
    }

    fn start(&self, server: &dyn Server, testbed: &Testbed) -> Result<Started, String> {
        server::start_over(server, testbed, Some(self.pair))
    }

    fn load(&self, server: &Started, seconds: u32, testbed: &Testbed) -> Result<Load, String> {
        load_of(server, self.body_bytes, self.connections, seconds, testbed)
    }
}

fn servers() -> Vec<Box<dyn Server>> {
    server::installed(ours_and(vec![Box::new(Nginx)]))
}

fn compare_handshakes(options: &Options, testbed: &Testbed, pair: &Pair) -> Result<(), String> {
    let servers = servers();
    table::head(&["handshakes", "peer", "peer's per CPU-second", "ours", "handshakes per server CPU-second"]);
    for (name, sessions) in [("full", Sessions::Forgotten), ("resumed", Sessions::Resumed)] {
        let words = [format!("{name} handshakes")];
        let runs = measure_in_blocks(options.length.rounds(), &words, &servers, |server| {
            handshakes(&**server, sessions, options, testbed, pair)
        })?;
        for row in of_servers(&servers, &runs) {
            table::row(&[vec![name.to_owned()], row].concat());
        }
    }
    Ok(())
}

/// Connections of one request each, per second of the server's CPU time: handshake, answer and end.
fn handshakes(
    server: &dyn Server,
    sessions: Sessions,
    options: &Options,
    testbed: &Testbed,
    pair: &Pair,
) -> Result<Option<f64>, String> {
    let server = server::start_over(server, testbed, Some(pair))?;
    let path = "/hello";
    let workload = Some(workload::write(testbed, &[path], Some(HELLO))?);
    let load = Load::closed(server.url(path), HANDSHAKING, options.length.seconds());
    let load = Load { fresh: Some(sessions), workload, ..load };
    let cpu = || tree_usage(server.pid()).map(|usage| usage.cpu_ns()).map_err(|error| error.to_string());
    let before = cpu()?;
    let told = client::run(client::ours(Engine::Epoll), &load, testbed)?.told;
    let used = (cpu()? - before).as_secs_f64();
    Ok((used > 0.0).then(|| told.right as f64 / used))
}
