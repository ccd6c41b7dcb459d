//! `cargo xtask bench serve`: the reference server with both engines beside nginx, h2o and Apache httpd, each with one
//! worker on one CPU.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_host::sampler::tree_usage;
use assay_model::generator::GeneratorName;
use assay_model::load::Arrival;
use assay_stats::robust::median;
use clap::{Args, ValueEnum};

use super::blocks::{Sample, Series, measure_in_blocks, middle, ratio, sample};
use super::pairs::ours_and;
use super::{Length, command_line, every, table};
use crate::measure::client::{self, Client, Engine, Load};
use crate::measure::server::{self, Apache, H2o, HELLO, JSON, Nginx, Server, Started};
use crate::measure::{Testbed, under_way, workload};

/// Of the static file, at `/files/65536`.
const FILE_BYTES: usize = 64 << 10;
/// Connections of the latency measurement, so that none waits for a connection.
const LATENCY_CONNECTIONS: u32 = 200;
/// Connections that are held idle while memory is weighed.
const IDLE_CONNECTIONS: usize = 9000;
/// A server that accepted a connection answers it within this, or the weighing ends.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    length: Length,
    /// What is asked for
    #[arg(long, value_enum, value_delimiter = ',')]
    work: Vec<Work>,
    /// Connections
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    connections: Vec<u32>,
    /// The tables wanted [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    tables: Vec<Table>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Answers per second
    Speed,
    /// The 99th percentile at half of the capacity
    Latency,
    /// Memory per idle connection
    Memory,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Work {
    /// Five bytes from memory
    Hello,
    /// A small JSON text from memory
    Json,
    /// 64 KiB from a file
    File,
    /// Hello, 16 requests in flight on each connection
    Pipelined,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Json => "json",
            Self::File => "64 KiB file",
            Self::Pipelined => "hello, 16 deep",
        }
    }

    fn load(
        self,
        server: &Started,
        connections: u32,
        seconds: u32,
        testbed: &Testbed,
    ) -> Result<Load, String> {
        let (path, body) = match self {
            Self::Hello | Self::Pipelined => ("/hello".to_owned(), HELLO.as_bytes().to_vec()),
            Self::Json => ("/json".to_owned(), JSON.as_bytes().to_vec()),
            Self::File => (format!("/files/{FILE_BYTES}"), server::body(FILE_BYTES)),
        };
        let body = String::from_utf8(body).map_err(|error| error.to_string())?;
        let workload: Option<PathBuf> = Some(workload::write(testbed, &[&path], Some(&body))?);
        let pipeline = if self == Self::Pipelined { 16 } else { 1 };
        Ok(Load { pipeline, workload, ..Load::closed(server.url(&path), connections, seconds) })
    }
}

pub(super) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let testbed = options.length.testbed(root)?;
    let servers = installed();
    println!("`{}`; {}.", command_line(), testbed.statement);
    for table in options.length.choose(&options.tables, &every(), &every()) {
        println!();
        match table {
            Table::Speed => measure_speed(&servers, options, &testbed)?,
            Table::Latency => measure_latency(&servers, options, &testbed)?,
            Table::Memory => weigh_idle_connections(&servers, &testbed)?,
        }
    }
    Ok(())
}

fn measure_speed(servers: &Servers, options: &Options, testbed: &Testbed) -> Result<(), String> {
    let clients = clients();
    table::head(&columns());
    for work in options.length.choose(&options.work, &[Work::Hello, Work::File], &every()) {
        for connections in options.length.choose(&options.connections, &[50], &[50, 500, 10_000]) {
            measure(work, connections, servers, &clients, options, testbed)?;
        }
    }
    Ok(())
}

type Servers = Vec<Box<dyn Server>>;

/// Ours and the others that are there; those that are not are named.
fn installed() -> Servers {
    let all = ours_and(vec![Box::new(Nginx), Box::new(H2o), Box::new(Apache)]);
    let (here, absent): (Servers, Servers) = all.into_iter().partition(|server| server.is_here());
    absent.iter().filter_map(|server| server.tool()).for_each(|tool| eprintln!("{}", tool.advice()));
    here
}

/// Ours on its faster engine, and wrk.
fn clients() -> Vec<Client> {
    let mut clients = client::with_ours(&[GeneratorName::Wrk]);
    clients.retain(|client| client.title() != client::ours(Engine::Epoll).title());
    clients
}

fn columns() -> Vec<String> {
    let mut columns =
        ["asked for", "connections", "client", "peer", "peer's req/s"].map(String::from).to_vec();
    columns.extend(Engine::ALL.map(|engine| format!("{}: req/s", engine.name())));
    columns
}

/// One cell: every server afresh in every round, driven by every client.
fn measure(
    work: Work,
    connections: u32,
    servers: &Servers,
    clients: &[Client],
    options: &Options,
    testbed: &Testbed,
) -> Result<(), String> {
    let words = [work.name().to_owned(), connections.to_string()];
    let runs = measure_in_blocks(options.length.rounds(), &words, servers, |server| {
        let server = server::start(&**server, testbed)?;
        let load = work.load(&server, connections, options.length.seconds(), testbed)?;
        clients.iter().map(|client| sample(*client, &load, testbed)).collect::<Result<Vec<_>, _>>()
    })?;
    let ours = Engine::ALL.len();
    for (index, client) in clients.iter().enumerate() {
        let rates: Vec<Series> = runs.iter().map(|rounds| rates_of(index, rounds)).collect();
        for (server, (theirs, rounds)) in servers.iter().zip(rates.iter().zip(&runs)).skip(ours) {
            let failed: u64 = rounds.iter().filter_map(|samples| samples[index]).map(|s| s.failed).sum();
            let failures = if failed > 0 { format!(" ({failed} failed)") } else { String::new() };
            let mut row = vec![
                work.name().to_owned(),
                connections.to_string(),
                client.title().to_owned(),
                format!("{}{failures}", server.name()),
                table::rate(middle(theirs)),
            ];
            row.extend(rates[..ours].iter().map(|ours| ratio(ours, theirs)));
            table::row(&row);
        }
    }
    Ok(())
}

/// What one client saw of one server, by round.
fn rates_of(client: usize, rounds: &[Vec<Option<Sample>>]) -> Series {
    rounds.iter().map(|samples| samples[client].map(|sample| sample.per_second)).collect()
}

/// A table of the response time's 99th percentile at half of each server's own capacity, under Poisson arrivals.
fn measure_latency(servers: &Servers, options: &Options, testbed: &Testbed) -> Result<(), String> {
    table::head(&["server", "half of its capacity, req/s", "p99 of the response time, ms", "least and most"]);
    let client = client::ours(Engine::Uring);
    let seconds = options.length.seconds();
    let words = ["latency".to_owned()];
    let runs = measure_in_blocks(options.length.rounds(), &words, servers, |server| {
        let server = server::start(&**server, testbed)?;
        let full = Work::Hello.load(&server, 50, seconds, testbed)?;
        let capacity = client::run(client, &full, testbed)?.told.per_second();
        let arrival = Arrival::Poisson { per_second: (capacity / 2.0).round() };
        let half = Load { arrival, connections: LATENCY_CONNECTIONS, ..full };
        let told = client::run(client, &half, testbed)?.told;
        Ok((capacity / 2.0, told.percentile(0.99).map_or(f64::NAN, |p99| p99.as_secs_f64() * 1e3)))
    })?;
    for (server, rounds) in servers.iter().zip(runs) {
        let (rates, p99s): (Vec<f64>, Vec<f64>) = rounds.into_iter().unzip();
        let (least, most) =
            p99s.iter().fold((f64::INFINITY, 0f64), |(least, most), p99| (least.min(*p99), most.max(*p99)));
        table::row(&[
            server.name().to_owned(),
            table::rate(median(&rates).ok()),
            table::number(median(&p99s).ok(), 3),
            format!("{least:.3}–{most:.3}"),
        ]);
    }
    Ok(())
}

/// A table of what a connection costs that has been answered once and is idle since.
fn weigh_idle_connections(servers: &Servers, testbed: &Testbed) -> Result<(), String> {
    let weighed = format!("resident KiB per idle connection, of {IDLE_CONNECTIONS}");
    table::head(&["server".to_owned(), weighed]);
    for server in servers {
        under_way(&format!("memory: {}", server.name()));
        let started = server::start(&**server, testbed)?;
        let resident = || tree_usage(started.pid()).map(|usage| usage.rss_bytes as f64);
        // The first connection pays for what is made once.
        let first = converse(started.address).map_err(|error| error.to_string())?;
        let before = resident().map_err(|error| error.to_string())?;
        let held = hold(started.address, testbed)?;
        let after = resident().map_err(|error| error.to_string())?;
        drop((first, held));
        let kib = (after - before) / IDLE_CONNECTIONS as f64 / 1024.0;
        table::row(&[server.name().to_owned(), format!("{kib:.2}")]);
    }
    Ok(())
}

fn hold(address: SocketAddr, testbed: &Testbed) -> Result<Vec<TcpStream>, String> {
    let mut held = Vec::with_capacity(IDLE_CONNECTIONS);
    for _ in 0..IDLE_CONNECTIONS {
        testbed.go_on()?;
        let connected = converse(address);
        held.push(connected.map_err(|error| format!("after {} idle connections: {error}", held.len()))?);
    }
    Ok(held)
}

/// A connection on which one request was answered.
fn converse(address: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.write_all(b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let (mut answer, mut piece) = (Vec::new(), [0; 1024]);
    while !answer.ends_with(HELLO.as_bytes()) {
        match stream.read(&mut piece)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            length => answer.extend_from_slice(&piece[..length]),
        }
    }
    Ok(stream)
}
