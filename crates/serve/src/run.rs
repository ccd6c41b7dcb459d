//! The reference server on several CPUs: one thread each, which share the port and nothing else.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use assay_engine::{Engine, Statistics, TlsStatistics};
use assay_host::memory;
use assay_tcp::{Make, Work};
use assay_tls::Terms;
use assay_wire::requests::RequestCount;

use crate::config::{Config, ServeError};
use crate::files::Folder;
use crate::route::Files;
use crate::server::Server;
use crate::site::Site;
use crate::threads::{Ready, Stand, ThreadPlace, on_each_cpu};

/// What a server did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The memory of its process; absent where the kernel does not tell.
    pub memory: Option<Memory>,
    /// What each thread did, in the order of [`Config::cpus`].
    pub threads: Vec<ThreadSummary>,
}

/// What one thread did.
#[derive(Clone, Copy, Debug)]
pub struct ThreadSummary {
    /// The CPU it was pinned to.
    pub cpu: u32,
    /// Requests whose head was whole and valid.
    pub requests: u64,
    /// Messages of WebSockets that were given back.
    pub messages: u64,
    /// Requests and messages refused for their form, size or slowness.
    pub refused: u64,
    /// The most connections it had at the same time.
    pub most_connections: usize,
    /// Counters of its engine.
    pub engine: Statistics,
}

/// Resident memory of the server's process: what the program itself keeps, not what the kernel keeps for its sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// When every thread was ready and before the first connection, in bytes.
    pub start_bytes: u64,
    /// At the most, in bytes.
    pub peak_bytes: u64,
}

impl Summary {
    /// Requests whose head was whole and valid, of all threads.
    pub fn requests(&self) -> u64 {
        self.threads.iter().map(|thread| thread.requests).sum()
    }

    /// Messages of WebSockets that were given back, of all threads.
    pub fn messages(&self) -> u64 {
        self.threads.iter().map(|thread| thread.messages).sum()
    }

    /// Connections accepted, of all threads.
    pub fn accepted(&self) -> u64 {
        self.threads.iter().map(|thread| thread.engine.accepted).sum()
    }

    /// The most connections at the same time: the sum over the threads, whose peaks may have come at different times.
    pub fn most_connections(&self) -> usize {
        self.threads.iter().map(|thread| thread.most_connections).sum()
    }

    /// Bytes that the process grew by, for each connection of [`most_connections`](Self::most_connections): shared
    /// buffers that were touched for the first time are in it, so it means something for many connections only.
    pub fn bytes_per_connection(&self) -> Option<u64> {
        let grown = self.memory.map(|memory| memory.peak_bytes.saturating_sub(memory.start_bytes))?;
        grown.checked_div(self.most_connections() as u64)
    }

    /// Requests and messages refused for their form, size or slowness, of all threads.
    pub fn refused(&self) -> u64 {
        self.threads.iter().map(|thread| thread.refused).sum()
    }

    /// Bytes taken from all clients.
    pub fn received_bytes(&self) -> u64 {
        self.threads.iter().map(|thread| thread.engine.received_bytes).sum()
    }

    /// Bytes given to all clients.
    pub fn sent_bytes(&self) -> u64 {
        self.threads.iter().map(|thread| thread.engine.sent_bytes).sum()
    }

    /// What securing the connections took, of all threads; absent where they are not secured.
    pub fn tls(&self) -> Option<TlsStatistics> {
        let each = self.threads.iter().filter_map(|thread| thread.engine.tls);
        each.reduce(|all, one| TlsStatistics {
            full: all.full + one.full,
            resumed: all.resumed + one.resumed,
            failed: all.failed + one.failed,
            sent_bytes: all.sent_bytes + one.sent_bytes,
            received_bytes: all.received_bytes + one.received_bytes,
        })
    }

    /// Accepts that failed for want of descriptors or memory, of all threads.
    pub fn accept_errors(&self) -> u64 {
        self.threads.iter().map(|thread| thread.engine.accept_errors).sum()
    }
}

/// Serves until `stop` is set, and then until the responses under way are out or their time is over. Calls `ready`
/// with the address, port included, when every thread accepts connections.
///
/// Raises the process's soft limit on open files to the hard one, which connections need.
///
/// # Errors
/// See [`ServeError`]. When one thread fails, the others stop.
pub fn run(
    config: &Config,
    stop: &AtomicBool,
    ready: impl FnOnce(SocketAddr),
) -> Result<Summary, ServeError> {
    let address = SocketAddr::new(config.address, config.port);
    let mut start_bytes = None;
    let ready = |address| {
        start_bytes = memory::own().map(|memory| memory.now_bytes);
        ready(address);
    };
    let terms = config.tls.as_ref().map(|server| Terms::from(server.with_http2()));
    let serving = Serving { config, address, stop, ready: Box::new(ready) };
    let threads = assay_tls::carry_out(&config.stack, terms.as_ref(), serving)?;
    let memory = start_bytes
        .zip(memory::own())
        // The kernel counts on each CPU apart, so its peak may be a little less than what it said before.
        .map(|(start_bytes, now)| Memory { start_bytes, peak_bytes: now.peak_bytes.max(start_bytes) });
    Ok(Summary { memory, threads })
}

struct Serving<'a> {
    config: &'a Config,
    address: SocketAddr,
    stop: &'a AtomicBool,
    ready: Ready<'a>,
}

impl Work for Serving<'_> {
    type Outcome = Result<Vec<ThreadSummary>, ServeError>;

    fn on<E: Engine>(self, make: impl Make<E>) -> Self::Outcome {
        let Self { config, address, stop, ready } = self;
        let limits = assay_engine::Config { max_connections: config.limits.connections };
        let stand = Stand {
            cpus: &config.cpus,
            address,
            is_kernel: config.stack.is_kernel(),
            shares_port: config.shares_port,
        };
        on_each_cpu(stand, stop, ready, |place| {
            serve(config, place, make(limits, place.thread, config.cpus.len())?)
        })
    }
}

fn files(config: &Config) -> Files {
    match config.root {
        None => Files::Nowhere,
        Some(_) if config.hello => Files::BelowRoot,
        Some(_) => Files::Everywhere,
    }
}

impl<E: Engine> Server<E> {
    /// A server on this engine alone, which listens where its user lets it. Address, CPUs and stack of the configuration are not
    /// used.
    ///
    /// # Errors
    /// The folder of static files cannot be opened, or an answer not be prepared.
    pub fn on(config: &Config, engine: E) -> Result<Self, ServeError> {
        let open = |path: &PathBuf| {
            Folder::open(path, config.dot_files)
                .map_err(|source| ServeError::Root { path: path.clone(), source })
        };
        let folder = config.root.as_ref().map(open).transpose()?;
        Ok(Self::new(engine, Site::new(config.limits, files(config))?, folder))
    }
}

fn serve<E: Engine>(
    config: &Config,
    place: &ThreadPlace<'_>,
    engine: E,
) -> Result<ThreadSummary, ServeError> {
    let mut server = Server::on(config, engine)?;
    if let Some(path) = &config.requests {
        let count = RequestCount::open(path, place.thread);
        server.count_in(count.map_err(|source| ServeError::Requests { path: path.clone(), source })?);
    }
    place.listen(&mut server.engine)?;
    server.serve(|| place.stopped())?;
    let Site { requests, messages, refused, .. } = server.site;
    let most_connections = server.peers.most();
    Ok(ThreadSummary {
        cpu: place.cpu,
        requests,
        messages,
        refused,
        most_connections,
        engine: *server.engine.statistics(),
    })
}
