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

use super::blocks::{measure_in_blocks, sample};
use super::pairs::{CLIENTS, of_clients, of_servers};
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
/// Seconds of load before a server is measured: Java and JavaScript serve a fraction of their rate while it is being compiled.
const WARM_UP_S: u32 = 10;

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
    let cells = cells(options, kind);
    println!("`{}`; {}.", command_line(), testbed.statement);
    if kind == Kind::Grpc {
        println!();
        compare_clients(options, &testbed, &cells)?;
    }
    let mut servers: Vec<Box<dyn Server>> =
        Engine::ALL.map(|engine| Box::new(AssayServer(engine)) as _).into();
    servers.extend(Guest::built(root, &testbed, kind.workload(), &options.contenders)?);
    println!();
    compare_servers(options, &testbed, &cells, &servers)
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
    /// The words of a row that say which it is.
    fn words(&self) -> Vec<String> {
        vec![table::size(self.bytes), format!("{}×{}", self.connections, self.in_flight)]
    }

    /// The message, as a workload has it.
    fn body(&self) -> String {
        let text = "a".repeat(self.bytes);
        if self.kind == Kind::Grpc { format!("1: \"{text}\"") } else { text }
    }

    fn start(&self, server: &dyn Server, testbed: &Testbed) -> Result<Started, String> {
        server::start_speaking(server, testbed, None, self.kind.protocol())
    }

    fn load(&self, server: &Started, options: &Options, testbed: &Testbed) -> Result<Load, String> {
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
            ..Load::closed(server.url(path), self.connections, options.length.seconds())
        })
    }
}

fn compare_servers(
    options: &Options,
    testbed: &Testbed,
    cells: &[Cell],
    servers: &[Box<dyn Server>],
) -> Result<(), String> {
    let head = ["text", "in flight", "peer", "peer's messages/s", "ours", "messages/s"];
    table::head(&head.map(String::from));
    for cell in cells {
        let runs = measure_in_blocks(options.length.rounds(), &cell.words(), servers, |server| {
            let server = cell.start(&**server, testbed)?;
            let load = cell.load(&server, options, testbed)?;
            let client = client::ours(Engine::Uring);
            sample(client, &Load { seconds: WARM_UP_S, ..load.clone() }, testbed)?;
            Ok(sample(client, &load, testbed)?.map(|sample| sample.per_second))
        })?;
        for row in of_servers(servers, &runs) {
            table::row(&[cell.words(), row].concat());
        }
    }
    Ok(())
}

fn compare_clients(options: &Options, testbed: &Testbed, cells: &[Cell]) -> Result<(), String> {
    let head = [&["text", "in flight"][..], &CLIENTS].concat();
    table::head(&head.into_iter().map(String::from).collect::<Vec<_>>());
    for cell in cells {
        let clients = clients(cell, testbed)?;
        let server = cell.start(&AssayServer(Engine::Uring), testbed)?;
        let load = cell.load(&server, options, testbed)?;
        let measure = |client: &Client| sample(*client, &load, testbed);
        let runs = measure_in_blocks(options.length.rounds(), &cell.words(), &clients, measure)?;
        for row in of_clients(&clients, &runs) {
            table::row(&[cell.words(), row].concat());
        }
    }
    Ok(())
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
