//! The arguments of `assay load`: familiar to hands that know wrk (`-c -t -d`) and ab (`-n -c -k`).

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use assay_host::cpuset::CpuSet;
use assay_model::experiment::ArrivalModel;
use assay_model::load::Checking;
use assay_model::units::Nanos;
use clap::{Args, Parser as _, ValueEnum};

use super::socket::SocketArguments;
use super::stack::StackArguments;
use super::tls::TlsArguments;
use super::{Arguments, Command, EngineName, Progress, RequestArguments, value};
use crate::destination::Consent;
use crate::failure::Failure;

/// What stands behind the flags.
const NOTES: &str = "Placeholders in the path, in header values and in bodies, new for each request:
  ${random:1..500}      a random number
  ${sequence}           1, 2, 3 and so on; ${sequence:1000} starts at 1000
  ${id=random:1..500}   a random number that ${id} repeats, also in --expect-body
  ${token}              what the command of --before printed as token=…
Quote them for the shell: '/users/${sequence}'. $${ stands for a literal ${.

A message of gRPC is written field by field, as `protoc --decode_raw` prints it:
  --body '1: \"hello\" 2: 150 3 { 1: \"inner\" }'   and likewise in --expect-body
A file of --body-file is the message itself.

Of a flag that is given twice the last one counts; -H adds a field each time.";

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HttpName {
    /// HTTP/1.1
    #[value(name = "1.1")]
    One,
    /// HTTP/2
    #[value(name = "2")]
    Two,
}

/// Drive one URL with the load generator.
#[derive(Args)]
#[command(args_override_self = true, after_help = NOTES)]
pub(crate) struct LoadArguments {
    /// http://, https://, h2c://, ws:// or wss://host[:port][/path]; h2c is HTTP/2 without TLS. For gRPC, grpc:// or, over TLS,
    /// grpcs://host[:port]/package.Service/Method
    pub(crate) url: String,

    /// Connections held open
    #[arg(short, long, value_name = "N", default_value = "64", value_parser = value::connections, help_heading = "Load")]
    pub(crate) connections: u32,
    /// Connections held open beside these, on which nothing is asked
    #[arg(long, value_name = "N", default_value = "0", value_parser = value::idle, help_heading = "Load")]
    pub(crate) idle: u32,
    /// Offered load in requests per second, whatever the answers do; `max` waits for each answer
    #[arg(short, long, short_alias = 'R', value_name = "RATE", default_value = "max", help_heading = "Load")]
    pub(crate) rate: String,
    /// How requests arrive at a given rate
    #[arg(long, value_enum, default_value = "poisson", help_heading = "Load")]
    pub(crate) arrival: ArrivalName,
    /// Requests in flight on one connection of HTTP/1.1
    #[arg(long, value_name = "N", default_value = "1", value_parser = value::connections, help_heading = "Load")]
    pub(crate) pipeline: u32,
    /// Version of HTTP [default: 1.1, and 2 for h2c:// and gRPC]; over TLS the server must choose it (ALPN), else it is spoken at once
    #[arg(long, value_enum, value_name = "VERSION", help_heading = "Load")]
    pub(crate) http: Option<HttpName>,
    /// Streams in flight on one connection of HTTP/2; with gRPC, calls
    #[arg(long, value_name = "N", value_parser = value::connections, conflicts_with = "pipeline", help_heading = "Load")]
    pub(crate) streams: Option<u32>,
    /// Length of the measurement
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = value::span, help_heading = "Load")]
    pub(crate) duration: Nanos,
    /// Measure this many requests instead of a length of time
    #[arg(short = 'n', long, value_name = "N", value_parser = value::count, conflicts_with = "duration", help_heading = "Load")]
    pub(crate) requests: Option<u64>,
    /// Load before the measurement
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = value::span, help_heading = "Load")]
    pub(crate) warmup: Nanos,
    /// Longest wait for a connection or a response
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = value::span, help_heading = "Load")]
    pub(crate) timeout: Nanos,
    /// Close each connection after this many requests
    #[arg(long, alias = "per-connection", value_name = "N", value_parser = value::connections, help_heading = "Load")]
    pub(crate) requests_per_connection: Option<u32>,
    /// Close each connection after one request
    #[arg(long, conflicts_with = "requests_per_connection", help_heading = "Load")]
    pub(crate) close: bool,
    /// Keep connections alive; accepted for hands that know ab, as this is what happens anyway
    #[arg(short, long, conflicts_with_all = ["requests_per_connection", "close"], help_heading = "Load")]
    pub(crate) keep_alive: bool,

    #[command(flatten)]
    pub(crate) request: RequestArguments,
    /// How bodies of 16 KiB and more are checked against the expected one
    #[arg(long, value_enum, value_name = "HOW", default_value = "full", help_heading = "Request")]
    pub(crate) check: CheckName,
    /// Workload of the catalogue, or a file (./mine.toml) with one of your own, instead of a single request
    #[arg(short, long, value_name = "NAME|FILE", conflicts_with_all = ["method", "headers", "body", "body_file", "expect_status", "expect_body", "expect_shape"], help_heading = "Request")]
    pub(crate) workload: Option<PathBuf>,
    /// Folder that holds workloads/ [default: as for `run`]
    #[arg(long, value_name = "DIR", env = "ASSAY_CATALOGUE", help_heading = "Request")]
    pub(crate) catalogue: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) socket: SocketArguments,

    #[command(flatten)]
    pub(crate) tls: TlsArguments,

    /// Threads, each pinned to a CPU of its own [default: as many as a ring has queues that is there already, else as CPUs]
    #[arg(short, long, value_name = "N", conflicts_with = "cpus", help_heading = "Machine")]
    pub(crate) threads: Option<usize>,
    /// Generators, each a process with its part of the load and of the CPUs; they begin together, and one report tells of all
    #[arg(long, value_name = "N", default_value = "1", value_parser = value::generators, help_heading = "Machine")]
    pub(crate) generators: u32,
    /// Hosts of a lab from which the load comes: a generator on each, with its part of it (docs/fleet.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["generators", "cpus", "threads", "sources"], help_heading = "Machine")]
    pub(crate) lab: Option<PathBuf>,
    /// Those of its hosts, or ssh:me@box2 without a lab [default: those whose role is generator]
    #[arg(
        long,
        value_name = "HOST,…",
        value_delimiter = ',',
        conflicts_with_all = ["generators", "cpus", "threads", "sources"],
        help_heading = "Machine"
    )]
    pub(crate) from: Vec<String>,
    /// Take part in a load that somebody else leads, over standard input and output
    #[arg(long, hide = true)]
    pub(crate) participant: bool,
    /// CPUs, one thread each, such as 0-3,8 [default: all that are allowed, but for those of a server on this machine]
    #[arg(long, value_name = "LIST", help_heading = "Machine")]
    pub(crate) cpus: Option<CpuSet>,
    /// Event engine of the kernel's stack
    #[arg(long, value_enum, default_value = "auto", help_heading = "Machine")]
    pub(crate) engine: EngineName,
    #[command(flatten)]
    pub(crate) stack: StackArguments,
    /// Local addresses to connect from, in turn [default: on loopback, as many as the connections need]
    #[arg(
        long = "source",
        alias = "sources",
        value_name = "ADDRESS,…",
        value_delimiter = ',',
        help_heading = "Machine"
    )]
    pub(crate) sources: Vec<IpAddr>,
    /// Where to connect in place of what the URL's name resolves to; the name is sent as the host all the same
    #[arg(long, value_name = "ADDRESS:PORT", hide = true)]
    pub(crate) at: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Machine")]
    pub(crate) seed: u64,

    /// Exit with 12 when the numbers are void
    #[arg(long, help_heading = "Output")]
    pub(crate) strict: bool,
    /// Print the report as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write a line of JSON each second; `-` is standard output, and the summary then goes to standard error
    #[arg(long, alias = "ndjson", value_name = "FILE", help_heading = "Output")]
    pub(crate) stream: Option<PathBuf>,
    /// Write the times of each second as an HdrHistogram log (.hlog)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) hdr: Option<PathBuf>,
    /// Measure a window for each line of standard input, `SETTLE_NS LENGTH_NS`, on the same connections; a line of JSON tells of
    /// each, and the last one is the report of all
    #[arg(long, hide = true, requires = "json", conflicts_with_all = ["requests", "stream", "hdr"], help_heading = "Output")]
    pub(crate) on_request: bool,
    /// Print percentiles; accepted for hands that know wrk, as this is what happens anyway
    #[arg(long, help_heading = "Output")]
    pub(crate) latency: bool,
    /// Stay within ASCII
    #[arg(long, help_heading = "Output")]
    pub(crate) ascii: bool,
    /// How far the load is: the last second in figures on a terminal, or a line each second (nothing of it where standard error is no
    /// terminal, unless it is asked for)
    #[arg(long, value_enum, value_name = "HOW", default_value = "auto", help_heading = "Output")]
    pub(crate) progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckName {
    /// All to their end
    Full,
    /// The first on each connection and one in 16 to their end, the others by head, length and first bytes
    Sampled,
}

impl CheckName {
    /// The rule that is meant.
    pub(crate) fn rule(self) -> Checking {
        match self {
            Self::Full => Checking::Full,
            Self::Sampled => Checking::Sampled,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalName {
    /// Exponentially distributed gaps, as many independent users make them
    Poisson,
    /// Even gaps
    Constant,
}

impl ArrivalName {
    /// The model that is meant.
    pub(crate) fn model(self) -> ArrivalModel {
        match self {
            Self::Poisson => ArrivalModel::Poisson,
            Self::Constant => ArrivalModel::Constant,
        }
    }
}

impl LoadArguments {
    /// Arguments from somebody else's command line, without the program's name.
    pub(crate) fn of_words(words: &[String]) -> Result<Self, Failure> {
        let line = std::iter::once("assay").chain(words.iter().map(String::as_str));
        match Arguments::try_parse_from(line).map(|arguments| arguments.command) {
            Ok(Command::Load(arguments)) => Ok(arguments),
            Ok(_) => Err(Failure::usage("who leads is no `assay load`")),
            Err(error) => Err(Failure::usage(error)),
        }
    }
}
