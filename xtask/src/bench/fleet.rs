//! `cargo xtask bench fleet`: two generators beside one, more connections than one process may have, starts on clocks that differ, and books
//! beside the server's.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use assay_host::cpuset::{self, CpuSet};
use assay_host::limits::free_port;
use assay_host::system::SystemSample;
use assay_lab::generator::{Site, Tool};
use assay_model::check::CheckOutcome;
use assay_model::generator::{GeneratorName, Told};
use assay_model::load::LoadReport;
use clap::{Args, ValueEnum};

use super::blocks::{Sample, measure_in_blocks, middle, ratio, sample, series};
use super::pairs::load_of;
use super::{Length, books, command_line, every, skew, table};
use crate::measure::cable::{CABLE, create_cable, ip};
use crate::measure::client::{Client, Engine, Load, LoadGenerator, Own};
use crate::measure::process::Running;
use crate::measure::server::{self, AssayServer};
use crate::measure::{Testbed, under_way, workload};

/// From the start of a server to its first accepted connection.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Connecting, draining and reporting take so long at most.
const GRACE: Duration = Duration::from_secs(120);
/// Addresses of a server on the user-space stack, and of generators, each of which has 28,000 ports to connect from.
const STACK: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const SOURCES: [&str; 4] = ["10.77.0.2", "10.77.0.3", "10.77.0.4", "10.77.0.5"];
/// Of 20,000 descriptors, a usual limit, what connections may take.
const CONNECTIONS_OF_A_SERVER: u32 = 19_000;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    length: Length,
    /// The tables wanted [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    tables: Vec<Table>,
    /// Connections that are held and loaded
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    connections: u32,
    /// Generators that hold them, and processes of the server
    #[arg(long, value_name = "N", default_value_t = 3)]
    processes: u32,
    /// Starts on clocks that differ, and loads whose books are compared
    #[arg(long, value_name = "N", default_value_t = 100)]
    starts: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Two generators beside one
    Split,
    /// More connections than one process may have
    Connections,
    /// As many, at one server on the user-space stack, which needs no descriptors for them (root)
    UserStack,
    /// Starts of three hosts whose clocks differ by ten seconds (root)
    Skew,
    /// The books of three generators beside the server's, with faults on both sides
    Books,
}

/// Ours as so many processes.
struct Several(u32);

static ONE: Several = Several(1);
static TWO: Several = Several(2);

impl LoadGenerator for Several {
    fn name(&self) -> GeneratorName {
        GeneratorName::Assay
    }

    fn title(&self) -> &'static str {
        if self.0 == 1 { "one generator" } else { "several generators" }
    }

    fn tool(&self) -> Option<Tool> {
        None
    }

    fn refusal(&self, _: &Load) -> Option<String> {
        None
    }

    fn command(&self, load: &Load, site: &Site<'_>) -> std::io::Result<Vec<OsString>> {
        let mut command = Own::default().command(load, site)?;
        command.extend(["--generators".into(), self.0.to_string().into()]);
        Ok(command)
    }

    fn exit_codes(&self) -> &'static [i32] {
        &[0, 11]
    }

    fn most_output_bytes(&self) -> u64 {
        Own::default().most_output_bytes()
    }

    fn read(&self, printed: &str) -> Result<Told, String> {
        Own::default().read(printed)
    }
}

pub(super) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let mut testbed = options.length.testbed(root)?;
    println!("`{}`; {}.", command_line(), testbed.statement);
    for table in options.length.choose(&options.tables, &every(), &every()) {
        println!();
        match table {
            Table::Connections => hold_connections(options, &testbed)?,
            Table::UserStack => hold_on_user_stack(options, &testbed)?,
            Table::Books => books::compare(options.starts, &testbed)?,
            Table::Skew => {
                let server = server::start(&AssayServer(Engine::Uring), &testbed)?;
                skew::starts(options.starts, &server.url("/hello"), &testbed)?;
            }
            Table::Split => {
                table::head(
                    &["generators' CPUs", "connections", "one: req/s", "two", "answers per CPU-second"]
                        .map(String::from),
                );
                compare(options, &testbed)?;
                testbed.client_cpu = cpuset::allowed();
                compare(options, &testbed)?;
            }
        }
    }
    Ok(())
}

/// Two generators beside one, on the same CPUs.
fn compare(options: &Options, testbed: &Testbed) -> Result<(), String> {
    for connections in options.length.choose(&[], &[64], &[64, 1024]) {
        let server = server::start(&AssayServer(Engine::Uring), testbed)?;
        let load = load_of(&server, 0, connections, options.length.seconds(), testbed)?;
        let clients: [Client; 2] = [&ONE, &TWO];
        let words = [testbed.client_cpu.to_string(), connections.to_string()];
        let measure = |client: &Client| sample(*client, &load, testbed);
        let runs = measure_in_blocks(options.length.rounds(), &words, &clients, measure)?;
        let of = |figure: fn(Sample) -> f64| [&runs[1], &runs[0]].map(|samples| series(samples, figure));
        let [[two, one], [two_by_cpu, one_by_cpu]] =
            [of(|sample| sample.per_second), of(|sample| sample.per_cpu_second)];
        let figures = [table::rate(middle(&one)), ratio(&two, &one), ratio(&two_by_cpu, &one_by_cpu)];
        table::row(&[&words[..], &figures[..]].concat());
    }
    Ok(())
}

/// Holds the connections and loads them, several generators against several processes at one port.
fn hold_connections(options: &Options, testbed: &Testbed) -> Result<(), String> {
    let port = free_port(Ipv4Addr::LOCALHOST.into()).map_err(|error| error.to_string())?;
    let _servers = (0..options.processes).map(|_| serve(port, testbed)).collect::<Result<Vec<_>, _>>()?;
    tell_held(&loaded(&format!("http://127.0.0.1:{port}"), &[], options, testbed)?);
    Ok(())
}

/// Holds the connections at one server on the user-space stack and loads them from several generators on the kernel's.
fn hold_on_user_stack(options: &Options, testbed: &Testbed) -> Result<(), String> {
    let held = || {
        create_cable()?;
        let [left, right] = CABLE;
        assay_wire::xdp::prepare_peer(right).map_err(|error| format!("{right}: {error}"))?;
        for source in SOURCES {
            ip(&format!("addr add {source}/24 dev {right}"))?;
        }
        let mut command = Command::new(&testbed.assay);
        let (wire, address) = (format!("xdp:{left}"), format!("{STACK}/24"));
        command.args(["serve", "--stack", "user", "--wire", &wire, "--wire-address", &address, "-p", "80"]);
        command.args(["--connections", &options.connections.to_string()]);
        let mut server = Running::start(&mut command, &testbed.server_cpu)?;
        await_serving(&mut server, testbed, || is_reached((STACK, 80).into()))?;
        let more = ["--yes", "--source", &SOURCES.join(",")];
        let report = loaded(&format!("http://{STACK}"), &more, options, testbed)?;
        // Of the network that this thread is in, where nobody else sends.
        let sent_again = SystemSample::take().tcp.map(|tcp| tcp.retransmitted_segments);
        println!(
            "Segments that the generators' kernel sent again: {}.\n",
            sent_again.map_or_else(|| "unknown".to_owned(), |count| count.to_string())
        );
        Ok(report)
    };
    // In a thread of its own, with which the network ends.
    let report = std::thread::scope(|scope| scope.spawn(held).join());
    tell_held(&report.unwrap_or_else(|_| Err("the attempt panicked".to_owned()))?);
    Ok(())
}

fn tell_held(report: &LoadReport) {
    table::head(
        &["connections", "made", "right", "failed", "unfinished", "req/s", "void", "busiest thread"]
            .map(String::from),
    );
    let busiest = report.thread_busy_shares.iter().copied().fold(0.0, f64::max);
    let void = report.checks.iter().filter(|check| check.outcome == CheckOutcome::Void);
    let void: Vec<&str> = void.map(|check| check.rule.name()).collect();
    table::row(&[
        report.connections.to_string(),
        report.books.connections_opened.to_string(),
        report.books.ok.to_string(),
        failed(report),
        report.books.censored.to_string(),
        table::rate(Some(report.window_ns.rate_of(report.window.ok))),
        if void.is_empty() { "–".to_owned() } else { void.join(", ") },
        table::number(Some(busiest), 2),
    ]);
}

/// Failed requests, with their classes.
fn failed(report: &LoadReport) -> String {
    let classes = report.books.errors.iter().map(|(class, count)| format!("{count} {class}"));
    let classes: Vec<String> = classes.collect();
    if classes.is_empty() { "0".to_owned() } else { classes.join(", ") }
}

/// One process of the server.
fn serve(port: u16, testbed: &Testbed) -> Result<Running, String> {
    let mut command = Command::new(&testbed.assay);
    command.args(["serve", "--share-port", "--engine", "epoll", "-p", &port.to_string()]);
    command.args(["--connections", &CONNECTIONS_OF_A_SERVER.to_string()]);
    let mut server = Running::start(&mut command, &testbed.server_cpu)?;
    await_serving(&mut server, testbed, || is_reached((Ipv4Addr::LOCALHOST, port).into()))?;
    Ok(server)
}

fn is_reached(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}

fn await_serving(
    server: &mut Running,
    testbed: &Testbed,
    is_reached: impl Fn() -> bool,
) -> Result<(), String> {
    let until = Instant::now() + READY_WITHIN;
    while !server.log().contains("serving http://") || !is_reached() {
        testbed.go_on()?;
        if server.has_ended() || Instant::now() > until {
            return Err(format!("a server does not serve: {}", server.log().trim()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn loaded(url: &str, more: &[&str], options: &Options, testbed: &Testbed) -> Result<LoadReport, String> {
    under_way(&format!("{} connections", options.connections));
    let seconds = options.length.seconds();
    let workload = workload::write(testbed, &["/hello"], Some(server::HELLO))?;
    let cpus: &CpuSet = &testbed.client_cpu;
    let numbers = [options.connections, options.processes].map(|number| number.to_string());
    let mut command = Command::new(&testbed.assay);
    command.args(["load", url, "--json", "-c", &numbers[0], "--generators", &numbers[1], "--timeout", "20s"]);
    command
        .args(more)
        .args(["-d", &format!("{seconds}s"), "--cpus", &cpus.to_string(), "--workload"])
        .arg(workload);
    let limit = Duration::from_secs(seconds.into()) + GRACE;
    let ended = Running::start(&mut command, cpus)?.finish(limit, testbed)?;
    let ended = ended.with_code(&[0, 11], "assay load")?;
    serde_json::from_str(&ended.stdout).map_err(|error| format!("assay load: no report: {error}"))
}
