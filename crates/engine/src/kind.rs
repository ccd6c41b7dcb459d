//! Which engine: a choice that people make and records name.

use crate::{Config, Uring};

/// The engines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// epoll(7); runs everywhere.
    Epoll,
    /// io_uring(7); needs a kernel that has it and a policy that allows it.
    IoUring,
}

impl EngineKind {
    /// io_uring where kernel and policy allow it, else epoll.
    pub fn best() -> Self {
        match Uring::new(Config { max_connections: 1 }) {
            Ok(_) => Self::IoUring,
            Err(_) => Self::Epoll,
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        }
    }
}
