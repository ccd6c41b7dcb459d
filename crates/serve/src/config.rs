//! What a server is asked to do, and what it refuses to exceed.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use assay_engine::{EngineError, RECEIVE_VIEW_BYTES};
use assay_host::cpuset::{CpuSet, PinError};
use assay_model::units::Nanos;
use assay_tcp::Stack;

/// What to serve, where and on which CPUs.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address to listen at.
    pub address: IpAddr,
    /// Port to listen at; 0 lets the system choose.
    pub port: u16,
    /// Whether other processes of this user may serve at the same address (`SO_REUSEPORT`, socket(7)): the kernel divides the
    /// connections among all. Otherwise an address at which somebody serves is refused.
    pub shares_port: bool,
    /// One thread is pinned to each of these.
    pub cpus: CpuSet,
    /// What carries the connections.
    pub stack: Stack,
    /// Certificate and key, where the connections are secured; absent for plain HTTP.
    pub tls: Option<assay_tls::Server>,
    /// Folder of static files. With it, `/` is the folder's index and every path without a route of its own is
    /// looked up there; without it such paths are 404. A route wins over a file of its name
    /// ([`hidden_by_routes`](crate::hidden_by_routes)).
    pub root: Option<PathBuf>,
    /// Whether `/` is `hello` although there is a folder.
    pub hello: bool,
    /// Whether files and folders whose names begin with a dot are served; without it they are absent, all but
    /// `/.well-known/` (RFC 8615).
    pub dot_files: bool,
    /// The file in which others can read how many requests it has received; absent where nobody asks.
    pub requests: Option<PathBuf>,
    /// What the server refuses to exceed.
    pub limits: Limits,
}

/// The highest limit on heads: a head is looked at in one piece.
pub const HEAD_BYTES_MAX: u32 = RECEIVE_VIEW_BYTES as u32;
/// The highest limit on targets: a redirect, which repeats one, leaves in one step with other answers.
pub const TARGET_BYTES_MAX: u32 = 32 << 10;

/// What a server refuses to exceed. Times are spans; sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest request head, at most [`HEAD_BYTES_MAX`]; more is 431.
    pub head_bytes: u32,
    /// Longest request target, at most [`TARGET_BYTES_MAX`]; more is 414.
    pub target_bytes: u32,
    /// Longest request body; more is 413.
    pub body_bytes: u64,
    /// Connections at most, on each thread; more wait in the kernel until one is free.
    pub connections: usize,
    /// Responses to pipelined requests that are put together before they leave; what is pipelined beyond waits.
    pub pipeline: u32,
    /// Requests in progress on a connection of HTTP/2 at most; more are refused, and may be sent again.
    pub streams: u32,
    /// Frames in a row on such a connection that bring no request or body any further; more end it.
    pub idle_frames: u32,
    /// Requests on such a connection that are reset beyond those that were answered; more end it.
    pub resets: u32,
    /// A connection without a request is closed after this long.
    pub idle: Nanos,
    /// A head must be whole this long after its first byte; else 408.
    pub head_time: Nanos,
    /// How far a body may fall behind `body_rate` before 408.
    pub body_time: Nanos,
    /// Bytes per second which a body must bring on average; 0 counts as 1.
    pub body_rate: u64,
    /// Longest message of a WebSocket, where more is close code 1009, and of a call of gRPC, where more is status 8.
    pub message_bytes: u64,
    /// A WebSocket on which nothing is said is closed after this long, with close code 1001.
    pub socket_idle: Nanos,
    /// A peer that makes an answer wait so long for room is reset. An answer whose last 64 KiB are with the engine
    /// is no longer under way: those may stay until `idle` is over.
    pub send_time: Nanos,
    /// How long a refused peer's remaining bytes are read and dropped, so that it can read the refusal before its
    /// own unread bytes reset the connection (RFC 9112 §9.6).
    pub linger_time: Nanos,
    /// How long requests under way may take to finish once the server is told to stop.
    pub stop_time: Nanos,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 16 << 10,
            target_bytes: 8 << 10,
            body_bytes: 1 << 30,
            connections: 65_536,
            pipeline: 256,
            streams: 128,
            idle_frames: assay_h2::Limits::DEFAULT.idle_frames,
            resets: assay_h2::Limits::DEFAULT.resets,
            idle: Nanos::from_millis(75_000),
            head_time: Nanos::from_millis(20_000),
            body_time: Nanos::from_millis(20_000),
            body_rate: 500,
            message_bytes: 1 << 20,
            socket_idle: Nanos::from_millis(600_000),
            send_time: Nanos::from_millis(30_000),
            linger_time: Nanos::from_millis(2_000),
            stop_time: Nanos::from_millis(5_000),
        }
    }
}

impl Limits {
    /// When a body's time is over after so many more bytes of it: each buys it more, up to the allowance that it began with.
    pub(crate) fn grant(&self, deadline: Nanos, bytes: usize, now: Nanos) -> Nanos {
        let per_byte = 1_000_000_000 / self.body_rate.max(1);
        let granted = Nanos((bytes as u64).saturating_mul(per_byte));
        (deadline + granted).min(now + self.body_time)
    }

    pub(crate) fn http(&self) -> assay_http::Limits {
        assay_http::Limits {
            head_bytes: self.head_bytes.min(HEAD_BYTES_MAX),
            target_bytes: self.target_bytes.min(TARGET_BYTES_MAX),
            ..assay_http::Limits::DEFAULT
        }
    }
}

/// What to do where an address cannot be listened at.
fn remedy_for_listening(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrNotAvailable => {
            "it is no address of this machine; name one that is (`ip address` lists them)"
        }
        _ => "choose another port, or stop the program that holds it",
    }
}

/// Why a server could not start, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The set of CPUs is empty.
    #[error("no CPU to serve on; name at least one")]
    NoCpu,
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {source}; {}", remedy_for_listening(source))]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// A thread could not be pinned.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// The event engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The folder of static files cannot be opened.
    #[error(
        "cannot open the folder of static files {path}: {source}; name a folder that exists and may be read"
    )]
    Root {
        /// The folder asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file in which others can read how many requests there were cannot be used.
    #[error("cannot count requests in {path}: {source}; name a file that is yours alone, or none")]
    Requests {
        /// The file asked for.
        path: PathBuf,
        /// What is wrong with it.
        source: std::io::Error,
    },
    /// The file that a server with a slow disk writes to cannot be made.
    #[error("cannot make a file in {folder}: {source}; set TMPDIR to a folder of yours")]
    Ledger {
        /// The folder of temporary files.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}; the limit on processes (ulimit -u) may be reached")]
    Thread(std::io::Error),
    /// A prepared answer could not be rendered, or a thread panicked: a defect of assay.
    #[error("defect in the reference server: {0}")]
    Defect(String),
}
