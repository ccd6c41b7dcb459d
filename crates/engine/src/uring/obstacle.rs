//! Why io_uring cannot be used here, and how to mend it.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// What `io_uring_setup` says and the administrator decides (kernel.org, admin-guide/sysctl/kernel.rst).
const POLICY: &str = "/proc/sys/kernel/io_uring_disabled";

/// Why io_uring cannot be used, as a sentence with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// The kernel lacks something that came with a later version.
    #[error(
        "kernel {release} lacks {missing}; io_uring as assay uses it needs Linux 6.1 or newer, built with CONFIG_IO_URING"
    )]
    Kernel {
        /// The running kernel.
        release: String,
        /// What it lacks.
        missing: &'static str,
    },
    /// Nobody may use it.
    #[error(
        "the system's policy forbids io_uring to all (kernel.io_uring_disabled = 2); `sysctl kernel.io_uring_disabled=0`, as root, \
         allows it"
    )]
    ForbiddenToAll,
    /// Only some may use it.
    #[error(
        "the system's policy allows io_uring only to the group in kernel.io_uring_group and to CAP_SYS_ADMIN \
         (kernel.io_uring_disabled = 1); join that group, or set kernel.io_uring_disabled=0 as root"
    )]
    ForbiddenToMost,
    /// A filter stands between this process and the kernel.
    #[error(
        "a filter forbids io_uring to this process, as the default seccomp profile of container runtimes does; allow \
         io_uring_setup, io_uring_enter and io_uring_register in the profile, or run outside the container"
    )]
    Filtered,
    /// The queues of io_uring do not fit into the memory that may be locked.
    #[error(
        "io_uring's queues need more locked memory than the limit of {limit_bytes} bytes; raise it with `ulimit -l`"
    )]
    LockedMemory {
        /// `RLIMIT_MEMLOCK`.
        limit_bytes: u64,
    },
    /// Descriptors have run out.
    #[error("io_uring needs more descriptors than the limit of {limit}; raise it with `ulimit -n`")]
    Descriptors {
        /// `RLIMIT_NOFILE`.
        limit: u64,
    },
    /// Something else.
    #[error("io_uring cannot be set up: {0}")]
    Other(io::Error),
}

/// What the system says of itself.
pub(super) struct Facts {
    release: String,
    /// The value of the policy, where there is one.
    policy: Option<u8>,
    locked_bytes: u64,
    descriptors: u64,
}

impl Facts {
    pub(super) fn gather() -> Self {
        let limit = |resource| getrlimit(resource).current.unwrap_or(u64::MAX);
        Self {
            release: rustix::system::uname().release().to_string_lossy().into_owned(),
            policy: std::fs::read_to_string(POLICY).ok().and_then(|text| text.trim().parse().ok()),
            locked_bytes: limit(Resource::Memlock),
            descriptors: limit(Resource::Nofile),
        }
    }
}

impl Obstacle {
    /// The obstacle behind an error that setting up `what` met.
    pub(super) fn of(what: &'static str, error: io::Error) -> Self {
        Self::explain(what, error, Facts::gather())
    }

    /// The kernel lacks `missing`.
    pub(super) fn kernel(missing: &'static str) -> Self {
        Self::Kernel { release: Facts::gather().release, missing }
    }

    fn explain(what: &'static str, error: io::Error, facts: Facts) -> Self {
        match (Errno::from_io_error(&error), facts.policy) {
            (Some(Errno::PERM), Some(2)) => Self::ForbiddenToAll,
            (Some(Errno::PERM), Some(1)) => Self::ForbiddenToMost,
            (Some(Errno::PERM | Errno::ACCESS), _) => Self::Filtered,
            (Some(Errno::NOMEM), _) => Self::LockedMemory { limit_bytes: facts.locked_bytes },
            (Some(Errno::MFILE | Errno::NFILE), _) => Self::Descriptors { limit: facts.descriptors },
            (Some(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP), _) => {
                Self::Kernel { release: facts.release, missing: what }
            }
            _ => Self::Other(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_remedy() {
        for (errno, policy, expected) in [
            (Errno::NOSYS, None, "kernel 5.10.0 lacks its queues; io_uring as assay uses it needs Linux 6.1"),
            (Errno::INVAL, Some(0), "kernel 5.10.0 lacks its queues"),
            (Errno::PERM, Some(2), "sysctl kernel.io_uring_disabled=0"),
            (Errno::PERM, Some(1), "join that group"),
            (Errno::PERM, Some(0), "seccomp"),
            (Errno::PERM, None, "seccomp"),
            (Errno::NOMEM, Some(0), "8192 bytes; raise it with `ulimit -l`"),
            (Errno::MFILE, Some(0), "limit of 20; raise it with `ulimit -n`"),
            (Errno::IO, Some(0), "Input/output error"),
        ] {
            let facts = Facts { release: "5.10.0".into(), policy, locked_bytes: 8192, descriptors: 20 };
            let sentence = Obstacle::explain("its queues", errno.into(), facts).to_string();
            assert!(sentence.contains(expected), "{errno}: {sentence}");
        }
    }
}
