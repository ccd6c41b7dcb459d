//! One thread on each CPU, pinned; they share a port and nothing else.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};

use assay_engine::{Engine, EngineError};
use assay_host::cpuset::{CpuSet, pin_current_thread};
use assay_host::limits::raise_nofile;

use crate::config::ServeError;

/// Where a thread serves, when it is to stop, and whom it tells that it listens.
pub(crate) struct ThreadPlace<'p> {
    pub(crate) cpu: u32,
    /// Number of the thread, from 0.
    pub(crate) thread: usize,
    address: SocketAddr,
    flags: Flags<'p>,
    bound: Sender<SocketAddr>,
}

impl ThreadPlace<'_> {
    /// Accepts connections at the address that all threads share.
    pub(crate) fn listen(&self, engine: &mut impl Engine) -> Result<(), ServeError> {
        let listening = engine.listen(self.address).map_err(|error| cannot_listen(self.address, error))?;
        // The caller is gone only if another thread failed; then this one is told to stop.
        let _ = self.bound.send(listening);
        Ok(())
    }

    /// Whether the thread is to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.flags.stop.load(Ordering::Relaxed) || self.flags.halt.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Copy)]
struct Flags<'f> {
    /// Set by the caller.
    stop: &'f AtomicBool,
    /// Set when a thread has failed.
    halt: &'f AtomicBool,
}

/// What is called with the address when every thread listens. Of no type of its own: whoever serves would otherwise compile all of it
/// once more, for every engine, and with the optimisation of its own crate.
pub(crate) type Ready<'a> = Box<dyn FnOnce(SocketAddr) + 'a>;

/// Where all threads serve.
#[derive(Clone, Copy)]
pub(crate) struct Stand<'s> {
    /// One thread is pinned to each of these.
    pub(crate) cpus: &'s CpuSet,
    /// Where they listen.
    pub(crate) address: SocketAddr,
    /// Addresses and descriptors are the kernel's.
    pub(crate) is_kernel: bool,
    /// Others may serve there too.
    pub(crate) shares_port: bool,
}

/// Runs `serve` on a thread on each CPU and returns what they return, in the order of the CPUs. Calls `ready` with the
/// address, port included, when every thread listens.
///
/// # Errors
/// The first that a thread ends with. When one fails, the others are told to stop.
pub(crate) fn on_each_cpu<T: Send>(
    stand: Stand<'_>,
    stop: &AtomicBool,
    ready: Ready<'_>,
    serve: impl Fn(&ThreadPlace<'_>) -> Result<T, ServeError> + Sync,
) -> Result<Vec<T>, ServeError> {
    let Stand { cpus, mut address, is_kernel, shares_port } = stand;
    if cpus.is_empty() {
        return Err(ServeError::NoCpu);
    }
    if is_kernel {
        if !shares_port {
            check_port_is_free(address)?;
        }
        // Should it fail, accepting pauses when files run out.
        let _ = raise_nofile();
    }
    let halt = AtomicBool::new(false);
    let flags = Flags { stop, halt: &halt };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut outcome = Ok(());
        for (thread, cpu) in cpus.iter().enumerate() {
            match start(scope, (thread, cpu), address, flags, &serve) {
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
        let results: Result<Vec<_>, _> = threads.into_iter().map(join).collect();
        outcome.and(results)
    })
}

type Thread<'scope, T> = ScopedJoinHandle<'scope, Result<T, ServeError>>;

/// Starts a thread and waits until it listens; returns where.
fn start<'scope, 'env, T: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    (number, cpu): (usize, u32),
    address: SocketAddr,
    flags: Flags<'env>,
    serve: &'scope (impl Fn(&ThreadPlace<'_>) -> Result<T, ServeError> + Sync),
) -> Result<(Thread<'scope, T>, SocketAddr), ServeError> {
    let (bound, receiver): (Sender<SocketAddr>, Receiver<SocketAddr>) = channel();
    let thread = std::thread::Builder::new()
        .name(format!("serve-{cpu}"))
        .spawn_scoped(scope, move || {
            let place = ThreadPlace { cpu, thread: number, address, flags, bound };
            let outcome = pin_current_thread(&CpuSet::from_iter([cpu])).map_err(ServeError::from);
            let outcome = outcome.and_then(|()| serve(&place));
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

fn join<T>(thread: Thread<'_, T>) -> Result<T, ServeError> {
    thread.join().unwrap_or_else(|_| Err(ServeError::Defect("a thread panicked".into())))
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
