//! The engine that the settings ask for.

use assay_engine::{Config, EngineError, Epoll};

use crate::settings::{self, Kind};

/// The one engine of this process.
pub(crate) type Stack = Epoll;

/// Makes it.
pub(crate) fn make() -> Result<Stack, EngineError> {
    let max_connections = settings::get().map_or(0, |s| s.connections);
    match settings::get().map(|s| s.kind) {
        Some(Kind::Epoll) | None => Epoll::new(Config { max_connections }),
    }
}

/// Whether the engine opens sockets of the kernel, which then share their ports with those that hold our descriptors.
pub(crate) fn shares_ports() -> bool {
    settings::get().is_some_and(|s| s.kind == Kind::Epoll)
}
