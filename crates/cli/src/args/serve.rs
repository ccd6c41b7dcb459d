//! The arguments of `assay serve`, and what it shares with `assay stub`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use assay_host::cpuset::CpuSet;
use assay_model::units::Nanos;
use assay_serve::{HEAD_BYTES_MAX, Limits, TARGET_BYTES_MAX};
use assay_tcp::Stack;
use assay_wire::End;
use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::EngineName;
use super::stack::StackArguments;
use super::tls::TlsServing;
use super::value::span;
use crate::failure::Failure;

/// What is behind the paths; the same in the manual page.
const PATHS: &str = "Paths:
  /, /hello     hello (with --root, / is the folder's index)
  /plaintext    Hello, World!
  /json         {\"message\":\"Hello, World!\"}, serialised anew for every request
  /byte         a single byte
  /bytes/N      N bytes, up to 1073741824; to a POST, too
  /echo         POST: the body of the request, in its own framing
  /ws           a WebSocket that gives every message back
  /assay.Echo/Say, /assay.Echo/Hello
                gRPC: the text of field 1 back, or a greeting
  other paths   with --root, files: index.html for folders, ranges, conditions, and FILE.br, FILE.zst
                or FILE.gz in the place of FILE for clients that accept it
The paths above win over files of these names, with a warning at the start.

The first SIGTERM or Ctrl-C ends it in order: no new connections, responses under way are finished. The
second ends it at once.";

/// Where a server listens, and on which CPUs and engine it serves.
#[derive(Args)]
pub(crate) struct Listening {
    /// Address to listen at [default: 127.0.0.1; on our own stack all that it has]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<IpAddr>,
    /// Port to listen at; 0 lets the system choose
    #[arg(short, long, value_name = "PORT", default_value_t = 8080)]
    pub(crate) port: u16,
    /// CPUs to serve on, one thread each, such as 0-3,8 [default: all that are allowed; for the stub the last of them]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Event engine of the kernel's stack [default: auto; for the stub epoll]
    #[arg(long, value_enum)]
    pub(crate) engine: Option<EngineName>,
    #[command(flatten)]
    pub(crate) stack: StackArguments,
    /// File in which others can read what our own stack counts, while it works and after it was killed
    #[arg(
        long,
        alias = "tally",
        value_name = "FILE",
        env = "ASSAY_STACK_STATS",
        help_heading = "Stack",
        hide_env = true
    )]
    pub(crate) stats_page: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tls: TlsServing,
}

impl Listening {
    /// Where to listen.
    pub(crate) fn address(&self) -> IpAddr {
        // The unspecified address of IPv6 stands for those of both families.
        let usual =
            if self.stack.is_user() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::LOCALHOST.into() };
        self.address.unwrap_or(usual)
    }

    /// The stack that is meant, with this engine if it is the kernel's and none is named.
    pub(crate) fn stack(&self, usual: EngineName) -> Result<Stack, Failure> {
        self.stack.stack(End::First, self.stats_page.as_deref(), || self.engine.unwrap_or(usual).kind())
    }
}

#[derive(Args)]
#[command(after_help = PATHS)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) listening: Listening,
    /// Serve at a port together with other processes of yours that do so too; the kernel divides the connections among them
    #[arg(long)]
    pub(crate) share_port: bool,
    /// Folder of static files
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Answer / with hello although there is a folder
    #[arg(long, requires = "root")]
    pub(crate) hello: bool,
    /// Serve also files and folders whose names begin with a dot; without it only /.well-known/
    #[arg(long, requires = "root")]
    pub(crate) dot_files: bool,
    /// File in which others can read how many requests there were, while it serves and after it was killed
    #[arg(long, value_name = "FILE", env = "ASSAY_REQUEST_COUNT", hide_env = true)]
    pub(crate) request_count: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
}

/// What the server refuses to exceed: [`Limits`], each with a name.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArguments {
    /// Longest request head; more is 431
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().head_bytes,
          value_parser = RangedU64ValueParser::<u32>::new().range(64..=u64::from(HEAD_BYTES_MAX)))]
    head_bytes: u32,
    /// Longest request target; more is 414
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().target_bytes,
          value_parser = RangedU64ValueParser::<u32>::new().range(16..=u64::from(TARGET_BYTES_MAX)))]
    target_bytes: u32,
    /// Longest request body; more is 413
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().body_bytes)]
    body_bytes: u64,
    /// Connections at most, on each thread; more wait until one is free
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections as u32,
          value_parser = RangedU64ValueParser::<u32>::new().range(1..=1 << 20))]
    connections: u32,
    /// Responses to pipelined requests put together before they leave; what is pipelined beyond waits
    #[arg(long, value_name = "N", default_value_t = Limits::default().pipeline,
          value_parser = RangedU64ValueParser::<u32>::new().range(1..))]
    pipeline: u32,
    /// Requests in progress on a connection of HTTP/2 at most; more are refused, and may be sent again
    #[arg(long, value_name = "N", default_value_t = Limits::default().streams,
          value_parser = RangedU64ValueParser::<u32>::new().range(1..))]
    streams: u32,
    /// Frames in a row on a connection of HTTP/2 that bring nothing any further (PING, SETTINGS and so on); more end it
    #[arg(long, value_name = "N", default_value_t = Limits::default().idle_frames,
          value_parser = RangedU64ValueParser::<u32>::new().range(1..))]
    idle_frames: u32,
    /// Requests on a connection of HTTP/2 that are reset beyond those that were answered; more end it
    #[arg(long, value_name = "N", default_value_t = Limits::default().resets)]
    resets: u32,
    /// A connection without a request is closed after this long
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = span)]
    idle: Nanos,
    /// A head must be whole this long after its first byte; else 408
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = span)]
    head_time: Nanos,
    /// How far a body may fall behind --body-rate before 408
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = span)]
    body_time: Nanos,
    /// Bytes per second that a body must bring on average
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().body_rate,
          value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    body_rate: u64,
    /// Longest message of a WebSocket, where more closes it with code 1009, and of gRPC, where more is status 8
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().message_bytes)]
    message_bytes: u64,
    /// A WebSocket on which nothing is said is closed after this long
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = span)]
    socket_idle: Nanos,
    /// A client that takes nothing of its answer for so long is reset
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = span)]
    send_time: Nanos,
    /// How long a refused client is still listened to, so that it can read the refusal
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = span)]
    linger_time: Nanos,
    /// How long requests under way may take once the server is told to end
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = span)]
    stop_time: Nanos,
}

impl LimitArguments {
    /// The limits that were asked for.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            head_bytes: self.head_bytes,
            target_bytes: self.target_bytes,
            body_bytes: self.body_bytes,
            connections: self.connections as usize,
            pipeline: self.pipeline,
            streams: self.streams,
            idle_frames: self.idle_frames,
            resets: self.resets,
            idle: self.idle,
            head_time: self.head_time,
            body_time: self.body_time,
            body_rate: self.body_rate,
            message_bytes: self.message_bytes,
            socket_idle: self.socket_idle,
            send_time: self.send_time,
            linger_time: self.linger_time,
            stop_time: self.stop_time,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: ServeArguments,
    }

    #[test]
    fn without_arguments_the_limits_are_the_libraries_own() {
        let line = Line::try_parse_from(["serve"]).expect("defaults");
        assert_eq!(line.serve.limits.limits(), Limits::default());
    }

    #[test]
    fn every_limit_has_a_range() {
        for wrong in
            ["--head-bytes=1", "--target-bytes=1000000", "--connections=0", "--pipeline=0", "--idle=-1s"]
        {
            assert!(Line::try_parse_from(["serve", wrong]).is_err(), "{wrong}");
        }
        let line = Line::try_parse_from(["serve", "--idle", "250ms", "--pipeline", "16"]).expect("right");
        assert_eq!(line.serve.limits.limits().idle, Nanos::from_millis(250));
    }
}
