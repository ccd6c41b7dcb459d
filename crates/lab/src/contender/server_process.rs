//! What was started: processes of this host under a supervisor, or a job of an agent's on another.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use assay_host::sampler::{Sampler, tree_usage};
use assay_host::snapshot::CpuTime;
use assay_host::window::Window;
use assay_model::usage::Usage;

use super::port;
use crate::hosts::remote_host::{Job, JobSpan, JobUse};
use crate::supervisor::{Ended, Supervised};

/// What was started and must be stopped.
pub(super) enum ServerProcess {
    /// A process on this host.
    Here(Supervised),
    /// On another host.
    There(Job),
}

impl ServerProcess {
    /// Its first process, where that is one of this host.
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Here(supervised) => Some(supervised.pid()),
            Self::There(_) => None,
        }
    }

    /// All its processes, where they are of this host.
    pub(super) fn processes(&self) -> Vec<u32> {
        match self {
            Self::Here(supervised) => supervised.processes(),
            Self::There(_) => Vec::new(),
        }
    }

    /// Where it listens.
    pub(super) fn addresses(&self) -> BTreeSet<SocketAddr> {
        match self {
            Self::Here(supervised) => port::addresses_of(&supervised.processes()),
            Self::There(job) => job.addresses(),
        }
    }

    /// How it ended, once it has; waits for that at most `timeout`.
    pub(super) fn wait(&mut self, timeout: Duration) -> Option<Ended> {
        match self {
            Self::Here(supervised) => supervised.wait(timeout),
            Self::There(job) => job.wait(timeout),
        }
    }

    /// Ends it with all its descendants; whether nothing is left.
    pub(super) fn stop(&mut self) -> bool {
        match self {
            Self::Here(supervised) => supervised.stop(),
            Self::There(job) => job.stop(),
        }
    }

    /// Brings its log here, if it is on another host.
    pub(super) fn fetch_log(&self) {
        if let Self::There(job) = self {
            job.fetch_log();
        }
    }
}

/// A span over which a server's use is counted, wherever it lives.
pub(crate) enum Sampling {
    /// Here, thread by thread.
    Here(Sampler),
    /// By another host, as a whole, with what the machine there does beside it.
    There(JobSpan),
}

impl Sampling {
    /// What was used since it began; none where the processes have ended.
    pub(crate) fn finish(&self) -> Option<Window> {
        self.finish_here().or_else(|| self.finish_there()?.usage.map(of_sum))
    }

    /// What was used since it began, if that is read here.
    pub(crate) fn finish_here(&self) -> Option<Window> {
        match self {
            Self::Here(sampler) => sampler.finish().ok(),
            Self::There(_) => None,
        }
    }

    /// What another host tells of it, if it lives there.
    pub(crate) fn finish_there(&self) -> Option<JobUse> {
        match self {
            Self::Here(_) => None,
            Self::There(span) => span.finish(),
        }
    }
}

/// A window of which nothing is known but the sum.
pub(crate) fn of_sum(usage: Usage) -> Window {
    let (processes, threads) = (Vec::new(), Vec::new());
    Window { usage, processes, threads, ended: CpuTime::default(), uncounted: 0, steady: true }
}

/// What a server's processes have used since its start.
pub(super) fn used(process: &ServerProcess, first: Option<u32>) -> Option<Usage> {
    match process {
        ServerProcess::Here(_) => tree_usage(first?).ok(),
        ServerProcess::There(job) => job.used(),
    }
}
