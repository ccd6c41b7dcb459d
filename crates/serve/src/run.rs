//! A server on several CPUs: one thread each, which share the port and nothing else.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};

use assay_engine::{Engine, EngineError, EngineKind, Epoll, Statistics, Uring};
use assay_host::cpuset::{CpuSet, pin_current_thread};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::{Config, ServeError};
use crate::files::Folder;
use crate::server::Server;
use crate::site::Site;

/// What a server did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
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
    /// Requests refused for their form, size or slowness.
    pub refused: u64,
    /// Counters of its engine.
    pub engine: Statistics,
}

impl Summary {
    /// Requests whose head was whole and valid, of all threads.
    pub fn requests(&self) -> u64 {
        self.threads.iter().map(|thread| thread.requests).sum()
    }

    /// Requests refused for their form, size or slowness, of all threads.
    pub fn refused(&self) -> u64 {
        self.threads.iter().map(|thread| thread.refused).sum()
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
    if config.cpus.is_empty() {
        return Err(ServeError::NoCpu);
    }
    let mut address = SocketAddr::new(config.address, config.port);
    check_port_is_free(address)?;
    raise_file_limit();
    let halt = AtomicBool::new(false);
    let flags = Flags { stop, halt: &halt };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut outcome = Ok(());
        for cpu in config.cpus.iter() {
            match start(scope, config, cpu, address, flags) {
                // The first thread has learnt the port when the system chose it.
                Ok((thread, bound)) => {
                    address = bound;
                    threads.push(thread);
                }
                Err(error) => {
                    outcome = Err(error);
                    halt.store(true, Ordering::Relaxed);
                    break;
                }
            }
        }
        if outcome.is_ok() {
            ready(address);
        }
        let summaries: Result<Vec<_>, _> = threads.into_iter().map(join).collect();
        outcome.and(summaries).map(|threads| Summary { threads })
    })
}

type Thread<'scope> = ScopedJoinHandle<'scope, Result<ThreadSummary, ServeError>>;

#[derive(Clone, Copy)]
struct Flags<'f> {
    /// Set by the caller.
    stop: &'f AtomicBool,
    /// Set when a thread has failed.
    halt: &'f AtomicBool,
}

impl Flags<'_> {
    fn stopped(self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.halt.load(Ordering::Relaxed)
    }
}

/// Starts a thread and waits until it listens; returns where.
fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    config: &'env Config,
    cpu: u32,
    address: SocketAddr,
    flags: Flags<'env>,
) -> Result<(Thread<'scope>, SocketAddr), ServeError> {
    let (sender, receiver): (Sender<SocketAddr>, Receiver<SocketAddr>) = channel();
    let thread = std::thread::Builder::new()
        .name(format!("serve-{cpu}"))
        .spawn_scoped(scope, move || {
            let outcome = serve_on(config, cpu, address, flags, &sender);
            if outcome.is_err() {
                flags.halt.store(true, Ordering::Relaxed);
            }
            outcome
        })
        .map_err(ServeError::Thread)?;
    match receiver.recv() {
        Ok(bound) => Ok((thread, bound)),
        // It ended before it listened, so it has an error to tell.
        Err(_) => {
            Err(join(thread).err().unwrap_or_else(|| ServeError::Defect("a thread ended early".into())))
        }
    }
}

fn join(thread: Thread<'_>) -> Result<ThreadSummary, ServeError> {
    thread.join().unwrap_or_else(|_| Err(ServeError::Defect("a thread panicked".into())))
}

fn serve_on(
    config: &Config,
    cpu: u32,
    address: SocketAddr,
    flags: Flags<'_>,
    bound: &Sender<SocketAddr>,
) -> Result<ThreadSummary, ServeError> {
    pin_current_thread(&CpuSet::from_iter([cpu]))?;
    let folder = match &config.root {
        Some(path) => {
            Some(Folder::open(path).map_err(|source| ServeError::Root { path: path.clone(), source })?)
        }
        None => None,
    };
    let site = Site::new(config.limits, folder.is_some())?;
    let limits = assay_engine::Config { max_connections: config.limits.connections };
    let place = Place { cpu, address, flags, bound };
    match config.engine {
        EngineKind::Epoll => place.serve(Epoll::new(limits)?, site, folder),
        EngineKind::IoUring => place.serve(Uring::new(limits)?, site, folder),
    }
}

/// Where a thread serves, and whom it tells.
struct Place<'p> {
    cpu: u32,
    address: SocketAddr,
    flags: Flags<'p>,
    bound: &'p Sender<SocketAddr>,
}

impl Place<'_> {
    fn serve<E: Engine>(
        self,
        mut engine: E,
        site: Site,
        folder: Option<Folder>,
    ) -> Result<ThreadSummary, ServeError> {
        let listening = engine.listen(self.address).map_err(|error| cannot_listen(self.address, error))?;
        let mut server = Server::new(engine, site, folder);
        // The caller is gone only if another thread failed; then this one is told to halt.
        let _ = self.bound.send(listening);
        server.serve(|| self.flags.stopped())?;
        let Site { requests, refused, .. } = server.site;
        Ok(ThreadSummary { cpu: self.cpu, requests, refused, engine: *server.engine.statistics() })
    }
}

/// Our listeners share their port with any other program of this user that shares it too (`SO_REUSEPORT`), and the
/// kernel would divide the clients between them. A listener that does not share finds out.
fn check_port_is_free(address: SocketAddr) -> Result<(), ServeError> {
    let probe = TcpListener::bind(address).map_err(|source| ServeError::Listen { address, source })?;
    drop(probe);
    Ok(())
}

fn cannot_listen(address: SocketAddr, error: EngineError) -> ServeError {
    match error {
        EngineError::System { source, .. } => ServeError::Listen { address, source },
        other => ServeError::Engine(other),
    }
}

fn raise_file_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Raising the soft limit to the hard one is always allowed; should it fail, accepting pauses when files run out.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
