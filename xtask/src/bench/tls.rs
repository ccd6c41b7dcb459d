//! `cargo xtask bench tls`: generator and reference server over TLS beside wrk and nginx, all with the same certificate.

use std::path::Path;

use assay_host::sampler::tree_usage;
use assay_model::generator::GeneratorName;
use clap::{Args, ValueEnum};

use super::blocks::{measure_in_blocks, sample};
use super::pairs::{CLIENTS, driven, load_of, of_clients, of_servers};
use super::{Length, command_line, every, table};
use crate::measure::client::{self, Client, Engine, Load, Sessions};
use crate::measure::server::{self, AssayServer, HELLO, Nginx, Pair, Server};
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

pub(super) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let testbed = options.length.testbed(root)?;
    let pair = Pair::make(&testbed)?;
    println!("`{}`; {}.", command_line(), testbed.statement);
    for table in options.length.choose(&options.tables, &every(), &every()) {
        println!();
        match table {
            Table::Client => compare_clients(options, &testbed, &pair)?,
            Table::Server => compare_servers(options, &testbed, &pair)?,
            Table::Handshakes => compare_handshakes(options, &testbed, &pair)?,
        }
    }
    Ok(())
}

/// Ours with both engines first, then those of others that are there.
fn servers() -> Vec<Box<dyn Server>> {
    let mut servers: Vec<Box<dyn Server>> =
        Engine::ALL.map(|engine| Box::new(AssayServer(engine)) as _).into();
    servers.push(Box::new(Nginx));
    server::installed(servers)
}

fn cells(options: &Options) -> Vec<(usize, u32)> {
    let bodies = options.length.choose(&options.bodies, &[1 << 10], &[0, 1 << 10, 64 << 10]);
    let connections = options.length.choose(&options.connections, &[KEPT], &[KEPT]);
    bodies.iter().flat_map(|body| connections.iter().map(|n| (*body, *n))).collect()
}

fn compare_clients(options: &Options, testbed: &Testbed, pair: &Pair) -> Result<(), String> {
    let clients = client::with_ours(&[GeneratorName::Wrk]);
    let head = [&["server", "body", "connections"][..], &CLIENTS].concat();
    table::head(&head.into_iter().map(String::from).collect::<Vec<_>>());
    for driven in driven() {
        for (body_bytes, connections) in cells(options) {
            let server = server::start_over(&*driven, testbed, Some(pair))?;
            let load = load_of(&server, body_bytes, connections, options.length.seconds(), testbed)?;
            let measure = |client: &Client| sample(*client, &load, testbed);
            let words = [driven.name().to_owned(), table::size(body_bytes), connections.to_string()];
            let runs = measure_in_blocks(options.length.rounds(), &words, &clients, measure)?;
            for row in of_clients(&clients, &runs) {
                table::row(&[words.to_vec(), row].concat());
            }
        }
    }
    Ok(())
}

fn compare_servers(options: &Options, testbed: &Testbed, pair: &Pair) -> Result<(), String> {
    let servers = servers();
    table::head(&["body", "connections", "peer", "peer's req/s", "ours", "req/s"].map(String::from));
    for (body_bytes, connections) in cells(options) {
        let words = [table::size(body_bytes), connections.to_string()];
        let runs = measure_in_blocks(options.length.rounds(), &words, &servers, |server| {
            let server = server::start_over(&**server, testbed, Some(pair))?;
            let load = load_of(&server, body_bytes, connections, options.length.seconds(), testbed)?;
            Ok(sample(client::ours(Engine::Uring), &load, testbed)?.map(|sample| sample.per_second))
        })?;
        for row in of_servers(&servers, &runs) {
            table::row(&[words.to_vec(), row].concat());
        }
    }
    Ok(())
}

fn compare_handshakes(options: &Options, testbed: &Testbed, pair: &Pair) -> Result<(), String> {
    let servers = servers();
    let head = ["handshakes", "peer", "peer's per CPU-second", "ours", "handshakes per server CPU-second"];
    table::head(&head.map(String::from));
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
