//! The kinds of engine: a choice that people make and records name.

use crate::{Config, Obstacle, Uring};

/// The engines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// epoll(7); runs everywhere.
    Epoll,
    /// io_uring(7); needs a kernel that has it and a policy that allows it.
    IoUring,
}

impl EngineKind {
    /// io_uring where kernel and policy allow it, else epoll and what is in io_uring's way. Finds out by setting one up.
    pub fn best() -> (Self, Option<Obstacle>) {
        match Uring::on_this_kernel(Config { max_connections: 1 }) {
            Ok(_) => (Self::IoUring, None),
            Err(obstacle) => (Self::Epoll, Some(obstacle)),
        }
    }

    /// Name of the engine in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        }
    }
}
