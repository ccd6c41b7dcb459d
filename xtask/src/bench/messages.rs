//! `cargo xtask bench ws` and `bench grpc`: messages given back by the reference server and by contenders of the catalogue, and calls
//! made by the generator beside h2load, which posts the same bytes and looks at no status of gRPC.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_grpc::message::{MEDIA_TYPE, frame};
use assay_lab::generator::{Site, Tool};
use assay_model::generator::{GeneratorName, Told};
use assay_model::message;
use assay_model::protocol::Protocol;
use assay_model::workload::{Expect, MessageKind, RequestKind, Workload};
use clap::Args;

use super::pairs::{Bench, CLIENTS, Task, ours_and};
use super::{Length, command_line, table};
use crate::measure::client::{self, Client, Engine, Load, LoadGenerator};
use crate::measure::server::{self, AssayServer, Guest, Server, Started};
use crate::measure::{Testbed, workload};

/// Connections, unless others are asked for.
const CONNECTIONS: u32 = 64;
/// Bytes of a text, unless others are asked for.
const BYTES: usize = 64;
/// Calls in flight on a connection, unless others are asked for.
const CALLS: u32 = 10;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    length: Length,
    /// Connections
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    connections: Vec<u32>,
    /// Messages in flight on each
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    in_flight: Vec<u32>,
    /// Bytes of a text
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    bytes: Vec<usize>,
    /// Contenders [default: all of the catalogue that answer]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    contenders: Vec<String>,
}

/// In what messages travel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    WebSocket,
    Grpc,
}

/// What is asked for.
#[derive(Clone, Copy)]
struct Cell {
    kind: Kind,
    bytes: usize,
    connections: u32,
    in_flight: u32,
}

pub(super) fn run(root: &Path, options: &Options, kind: Kind) -> Result<(), String> {
    let testbed = options.length.testbed(root)?;
    let (bench, cells) = (Bench { length: &options.length, testbed: &testbed }, cells(options, kind));
    println!("`{}`; {}.", command_line(), testbed.statement);
    if kind == Kind::Grpc {
        println!();
        compare_clients(bench, &cells)?;
    }
    let servers = ours_and(Guest::built(root, &testbed, kind.workload(), &options.contenders)?);
    println!();
    bench.compare_servers(&cells, &servers)
}

/// A table of clients on our server alone, each of which makes the calls in its own way.
fn compare_clients(bench: Bench<'_>, cells: &[Cell]) -> Result<(), String> {
    table::head(&[Cell::HEADS, &CLIENTS].concat());
    for cell in cells {
        let clients = clients(cell, bench.testbed)?;
        bench.compare_clients_on(&AssayServer(Engine::Uring), cell, &cell.words(), &clients)?;
    }
    Ok(())
}

fn cells(options: &Options, kind: Kind) -> Vec<Cell> {
    let length = &options.length;
    let several = if kind == Kind::Grpc { CALLS } else { 1 };
    let all_bytes = length.choose(&options.bytes, &[BYTES], &[BYTES, 16 << 10]);
    let connections = length.choose(&options.connections, &[CONNECTIONS], &[CONNECTIONS]);
    let in_flight = length.choose(&options.in_flight, &[several], &[1, several.max(4)]);
    let mut cells = Vec::new();
    for &bytes in &all_bytes {
        for &connections in &connections {
            cells.extend(in_flight.iter().map(|&in_flight| Cell { kind, bytes, connections, in_flight }));
        }
    }
    cells
}

impl Kind {
    fn protocol(self) -> Protocol {
        match self {
            Self::WebSocket => Protocol::Ws,
            Self::Grpc => Protocol::Grpc,
        }
    }

    /// The workload of the catalogue whose contenders ours is compared with.
    fn workload(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::Grpc => "grpc",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::WebSocket => "/ws",
            Self::Grpc => "/assay.Echo/Say",
        }
    }
}

impl Cell {
    /// The message, as a workload has it.
    fn body(&self) -> String {
        let text = "a".repeat(self.bytes);
        if self.kind == Kind::Grpc { format!("1: \"{text}\"") } else { text }
    }
}

impl Task for Cell {
    const HEADS: &'static [&'static str] = &["text", "in flight"];
    const COUNTED: &'static str = "messages/s";
    /// Java and JavaScript serve a fraction of their rate while it is being compiled.
    const WARM_UP_S: Option<u32> = Some(10);

    fn words(&self) -> Vec<String> {
        vec![table::size(self.bytes), format!("{}×{}", self.connections, self.in_flight)]
    }

    fn start(&self, server: &dyn Server, testbed: &Testbed) -> Result<Started, String> {
        server::start_speaking(server, testbed, None, self.kind.protocol())
    }

    fn load(&self, server: &Started, seconds: u32, testbed: &Testbed) -> Result<Load, String> {
        let (path, is_grpc) = (self.kind.path(), self.kind == Kind::Grpc);
        let expect = Expect { body: Some(self.body()), ..Expect::default() };
        let request = RequestKind { body: Some(self.body()), expect, ..RequestKind::get(path) };
        let file = workload::save(
            testbed,
            &Workload {
                name: "xtask".into(),
                about: "Messages that are given back.".into(),
                requests: vec![request],
                websocket: (!is_grpc).then_some(MessageKind::Text),
                grpc: is_grpc,
                ..Workload::default()
            },
        )?;
        let fields = [("content-type", MEDIA_TYPE), ("te", "trailers")];
        let fields = fields.into_iter().filter(|_| is_grpc);
        Ok(Load {
            http2: is_grpc,
            pipeline: self.in_flight,
            workload: Some(file),
            headers: fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            ..Load::closed(server.url(path), self.connections, seconds)
        })
    }
}

/// Ours, and h2load where it is installed, which posts the call's bytes.
fn clients(cell: &Cell, testbed: &Testbed) -> Result<Vec<Client>, String> {
    let (mut message, mut call) = (Vec::new(), Vec::new());
    message::encode(&cell.body(), &mut message).map_err(|error| error.to_string())?;
    frame(&message, &mut call);
    let file = testbed.scratch().join(format!("call-{}", cell.bytes));
    std::fs::write(&file, call).map_err(|error| format!("{}: {error}", file.display()))?;
    let here = client::with_ours(&[GeneratorName::H2load]);
    let (ours, others) = here.split_at(client::OURS.len());
    // They are few, and wanted as long as the command runs.
    let posting =
        |inner: &Client| -> Client { Box::leak(Box::new(Posting { inner: *inner, file: file.clone() })) };
    Ok(ours.iter().copied().chain(others.iter().map(posting)).collect())
}

/// h2load with a body.
struct Posting {
    inner: Client,
    file: PathBuf,
}

impl LoadGenerator for Posting {
    fn name(&self) -> GeneratorName {
        self.inner.name()
    }

    fn tool(&self) -> Option<Tool> {
        self.inner.tool()
    }

    fn refusal(&self, load: &Load) -> Option<String> {
        self.inner.refusal(load)
    }

    fn command(&self, load: &Load, site: &Site<'_>) -> std::io::Result<Vec<OsString>> {
        let mut command = self.inner.command(load, site)?;
        command.splice(1..1, ["-d".into(), self.file.clone().into()]);
        Ok(command)
    }

    fn read(&self, printed: &str) -> Result<Told, String> {
        self.inner.read(printed)
    }
}
