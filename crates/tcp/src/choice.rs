//! The choice of a stack: the kernel's with one of its engines, or our own over a wire. Whoever is generic over the engine is given one here.

use std::io;
use std::path::PathBuf;

use assay_engine::{Engine, EngineError, EngineKind, Epoll, Uring};
use assay_wire::stats_page::StatsPage;
use assay_wire::{AnyWire, End, Spec};

use crate::address::Cidr;
use crate::config::Config;
use crate::stack::UserStack;

/// A stack to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stack {
    /// The kernel's.
    Kernel(EngineKind),
    /// Our own, in the program's own threads.
    User(Link),
}

/// A wire, and who we are on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The wire.
    pub wire: Spec,
    /// Our end of it.
    pub end: End,
    /// Our addresses; those that are usual on the wire when there are none.
    pub addresses: Vec<Cidr>,
    /// The file in which others can read what our stacks count.
    pub stats_page: Option<PathBuf>,
}

/// Work for which an engine of any kind will do.
pub trait Work {
    /// What comes of it.
    type Outcome;

    /// Works with engines that `make` makes; it is called by each thread with its number and what it needs, and is told how many
    /// threads there are.
    fn on<E: Engine>(self, make: impl Make<E>) -> Self::Outcome;
}

/// A way for a thread to make its engine: from what it is to be made for, the thread's number and the number of threads.
pub trait Make<E>:
    Fn(assay_engine::Config, usize, usize) -> Result<E, EngineError> + Copy + Send + Sync
{
}
impl<E, F: Fn(assay_engine::Config, usize, usize) -> Result<E, EngineError> + Copy + Send + Sync> Make<E>
    for F
{
}

impl Stack {
    /// Does the work on this stack.
    pub fn carry_out<W: Work>(&self, work: W) -> W::Outcome {
        match self {
            Self::Kernel(EngineKind::Epoll) => work.on(|config, _, _| Epoll::new(config)),
            Self::Kernel(EngineKind::IoUring) => work.on(|config, _, _| Uring::new(config)),
            Self::User(link) => work.on(|config, thread, threads| link.open(config, thread, threads)),
        }
    }

    /// Name of the stack in reports: the kernel's engine, or `user`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kernel(engine) => engine.name(),
            Self::User(_) => "user",
        }
    }

    /// Whether connections are descriptors and ports of the kernel's.
    pub fn is_kernel(&self) -> bool {
        matches!(self, Self::Kernel(_))
    }
}

impl From<EngineKind> for Stack {
    fn from(engine: EngineKind) -> Self {
        Self::Kernel(engine)
    }
}

impl Link {
    /// The stack of one thread: each has a queue of the wire to itself.
    ///
    /// # Errors
    /// The wire cannot be had, or our addresses are not ones that a stack can have.
    fn open(
        &self,
        engine: assay_engine::Config,
        thread: usize,
        threads: usize,
    ) -> Result<UserStack<AnyWire>, EngineError> {
        let failed = |source| EngineError::System { call: format!("wire {}", self.wire), source };
        let [queue, queues] = [thread, threads].map(|n| u16::try_from(n).unwrap_or(u16::MAX));
        let (wire, station) = assay_wire::open(&self.wire, self.end, queue, queues)
            .map_err(|error| failed(io::Error::other(error)))?;
        let usual = station.addresses.iter().map(|&(address, prefix)| Cidr { address, prefix });
        let addresses = if self.addresses.is_empty() { usual.collect() } else { self.addresses.clone() };
        let usual = Config::new(engine.max_connections, addresses);
        let memory_bytes = usual.memory_bytes / threads.max(1);
        let config = Config { hardware: station.hardware, memory_bytes, ..usual };
        let mut stack = UserStack::new(wire, config).map_err(|error| failed(io::Error::other(error)))?;
        if let Some(path) = &self.stats_page {
            let call = || format!("stats page {}", path.display());
            stack.publish_in(
                StatsPage::open(path, queue)
                    .map_err(|source| EngineError::System { call: call(), source })?,
            );
        }
        Ok(stack)
    }
}
