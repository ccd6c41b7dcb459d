//! The oracle: a server whose behaviour is programmed and which keeps its own counts, so that what a load generator says
//! can be held against the truth (docs/method/oracle.md).
//!
//! It answers every method with [`BODY`] after a programmed time. A path may ask for a time of its own (`/10ms`) or for
//! a form of response that is hard to read (`shape.rs` has the list: `/trickle`, `/split`, `/chunked` …). A body is read and passed
//! over, and its request has arrived when it ends. What is spoken its first
//! bytes tell: HTTP/1.1, which may become a WebSocket, or HTTP/2. Messages and calls of gRPC are given back (`socket.rs`, `streams.rs`).
//!
//! Invariants
//! - A response's due time is computed from its request's arrival alone; being late with one delays no other.
//! - Every request ends in exactly one counter of [`Counts`].
//! - Precision before CPU time: the thread spins shortly before a response is due.

mod agenda;
mod counts;
mod faults;
mod frames;
mod peer;
mod reply;
mod request;
mod server;
mod service;
mod shape;
mod socket;
mod streams;
mod timing;
mod upload;
mod warming;

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use assay_engine::Engine;
use assay_host::cpuset::CpuSet;
use assay_tcp::{Make, Stack, Work};
use assay_tls::Terms;

pub use counts::Counts;
pub use faults::Faults;
pub use server::Stub;
pub use service::Service;
pub use timing::{Discipline, Stall};
pub use warming::Warming;

use crate::config::ServeError;
use crate::threads::{Ready, Stand, ThreadPlace, on_each_cpu};

/// The body of a right answer.
pub const BODY: &str = "as programmed";

/// Longest body of a request, and longest message, that is taken.
const BODY_BYTES: u64 = 16 << 20;

/// Connections of a thread at most.
const MAX_CONNECTIONS: usize = 16 * 1024;

/// What follows a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Keep,
    Close,
    Reset,
}

/// Where the stub listens.
#[derive(Clone, Debug)]
pub struct Site {
    /// Address to listen at; port 0 lets the system choose.
    pub address: SocketAddr,
    /// One thread is pinned to each of these. A single queue needs a single thread: each has its own.
    pub cpus: CpuSet,
    /// What carries the connections.
    pub stack: Stack,
    /// Certificate and key, where the connections are secured; absent for plain HTTP.
    pub tls: Option<assay_tls::Server>,
}

/// What the stub does.
#[derive(Clone, Debug)]
pub struct Program {
    /// Whether requests wait for each other.
    pub discipline: Discipline,
    /// How long a request is served.
    pub service: Service,
    /// How much longer at first.
    pub warming: Option<Warming>,
    /// When nothing leaves.
    pub stall: Option<Stall>,
    /// The answers that are spoilt.
    pub faults: Faults,
    /// Steps of arithmetic that are done for each request: CPU time, where [`Self::service`] only waits.
    pub work: u32,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Program {
    /// Serves every request at once and alike.
    pub fn new(service: Service) -> Self {
        let (discipline, faults) = (Discipline::Parallel, Faults::default());
        Self { discipline, service, warming: None, stall: None, faults, work: 0, seed: 0 }
    }
}

/// Serves until `stop` is set and returns what was counted. Calls `ready` with the address when it listens.
///
/// # Errors
/// See [`ServeError`].
pub fn run(
    site: &Site,
    program: &Program,
    stop: &AtomicBool,
    ready: impl FnOnce(SocketAddr),
) -> Result<Counts, ServeError> {
    let terms = site.tls.as_ref().map(|server| Terms::from(server.with_http2()));
    let serving = Serving { site, program, stop, ready: Box::new(ready) };
    let counts = assay_tls::carry_out(&site.stack, terms.as_ref(), serving)?;
    Ok(counts.into_iter().sum())
}

struct Serving<'a> {
    site: &'a Site,
    program: &'a Program,
    stop: &'a AtomicBool,
    ready: Ready<'a>,
}

impl Work for Serving<'_> {
    type Outcome = Result<Vec<Counts>, ServeError>;

    fn on<E: Engine>(self, make: impl Make<E>) -> Self::Outcome {
        let Self { site, program, stop, ready } = self;
        let limits = assay_engine::Config { max_connections: MAX_CONNECTIONS };
        let stand = Stand {
            cpus: &site.cpus,
            address: site.address,
            is_kernel: site.stack.is_kernel(),
            shares_port: false,
        };
        on_each_cpu(stand, stop, ready, |place| {
            serve(program, place, make(limits, place.thread, site.cpus.len())?)
        })
    }
}

fn serve<E: Engine>(program: &Program, place: &ThreadPlace<'_>, mut engine: E) -> Result<Counts, ServeError> {
    // Timers are otherwise rounded by 50 us (prctl(2), PR_SET_TIMERSLACK). Where that is forbidden, the spin is longer.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    place.listen(&mut engine)?;
    Ok(Stub::new(engine, program, u64::from(place.cpu)).serve(|| place.stopped())?)
}
