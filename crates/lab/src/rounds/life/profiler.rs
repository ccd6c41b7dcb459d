//! Profiles a server where it lives, through whoever answers for its host.

use assay_model::profile::{Facet, Refused, Sampled, Traced};

use crate::host_error::HostError;
use crate::hosts::host::JobHandle;
use crate::hosts::message::ProfileKind;

/// Samples of stacks that are being taken of a job, or why they cannot be.
pub(super) struct StackSampling(Result<JobHandle, HostError>);

/// System calls of a job that are being traced.
pub(super) struct SyscallTrace(JobHandle);

/// Begins to take samples. What is not allowed is told in the end.
pub(super) fn sample(job: &JobHandle) -> StackSampling {
    StackSampling(job.begin_profile(ProfileKind::Sampling).map(|_| job.clone()))
}

/// Begins to trace system calls, where that is allowed.
pub(super) fn trace(job: &JobHandle) -> Result<SyscallTrace, Refused> {
    match job.begin_profile(ProfileKind::Tracing) {
        Ok(None) => Ok(SyscallTrace(job.clone())),
        Ok(Some(why)) => Err(why),
        Err(error) => Err(refused(Facet::SystemCalls, &error)),
    }
}

impl StackSampling {
    /// Ends it; `answers` were given in the meantime.
    pub(crate) fn finish(self, answers: u64) -> (Sampled, Vec<Refused>) {
        let sampled = self.0.and_then(|job| job.end_profile(answers));
        sampled.unwrap_or_else(|error| (Sampled::default(), vec![refused(Facet::Samples, &error)]))
    }
}

impl SyscallTrace {
    /// Ends it; `answers` were given in the meantime.
    pub(crate) fn finish(self, answers: u64) -> Result<Traced, Refused> {
        self.0.end_profile(answers).unwrap_or_else(|error| Err(refused(Facet::SystemCalls, &error)))
    }
}

fn refused(what: Facet, error: &HostError) -> Refused {
    Refused { what, why: error.to_string() }
}
