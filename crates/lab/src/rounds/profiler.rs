//! Profiles a server on the host where it lives: this one, or another one through the agent there.

use assay_model::profile::{Facet, Refused, Sampled, Traced};
use assay_profile::{Sampling, Target, Tracing};

use crate::hosts::message::ProfileKind;
use crate::hosts::remote_host::JobHandle;
use crate::hosts::session::HostError;

/// The processes of a server, and what profiles them.
pub(super) enum Profiler {
    /// This program, on this host.
    Here(Target),
    /// The agent of their host.
    There(JobHandle),
}

/// Samples of stacks that are being taken.
pub(super) enum StackSampling {
    Here(Sampling),
    /// The job, or why it cannot be profiled.
    There(Result<JobHandle, HostError>),
}

/// System calls that are being traced.
pub(super) enum SyscallTrace {
    Here(Tracing),
    There(JobHandle),
}

impl Profiler {
    /// Begins to take samples. What is not allowed is told in the end.
    pub(super) fn sample(&self) -> StackSampling {
        match self {
            Self::Here(target) => StackSampling::Here(Sampling::start(target.clone())),
            Self::There(job) => {
                StackSampling::There(job.begin_profile(ProfileKind::Sampling).map(|()| job.clone()))
            }
        }
    }

    /// Begins to trace system calls, where that is allowed.
    pub(super) fn trace(&self) -> Result<SyscallTrace, Refused> {
        match self {
            Self::Here(target) => Tracing::start(target.clone()).map(SyscallTrace::Here),
            Self::There(job) => {
                let begun = job.begin_profile(ProfileKind::Tracing);
                begun
                    .map(|()| SyscallTrace::There(job.clone()))
                    .map_err(|error| refused(Facet::SystemCalls, &error))
            }
        }
    }
}

impl StackSampling {
    /// Ends it; `answers` were given in the meantime.
    pub(super) fn finish(self, answers: u64) -> (Sampled, Vec<Refused>) {
        match self {
            Self::Here(sampling) => sampling.finish(answers),
            Self::There(job) => job
                .and_then(|job| job.end_profile(answers))
                .unwrap_or_else(|error| (Sampled::default(), vec![refused(Facet::Samples, &error)])),
        }
    }
}

impl SyscallTrace {
    /// Ends it; `answers` were given in the meantime.
    pub(super) fn finish(self, answers: u64) -> Result<Traced, Refused> {
        match self {
            Self::Here(tracing) => tracing.finish(answers),
            Self::There(job) => {
                job.end_profile(answers).unwrap_or_else(|error| Err(refused(Facet::SystemCalls, &error)))
            }
        }
    }
}

fn refused(what: Facet, error: &HostError) -> Refused {
    Refused { what, why: error.to_string() }
}
