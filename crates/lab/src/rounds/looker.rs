//! Profiles a server on the host where it lives: this one, or another one through the agent there.

use assay_model::profile::{Facet, Refused, Sampled, Traced};
use assay_profile::{Sampling, Target, Tracing};

use crate::hosts::message::Looking;
use crate::hosts::remote_host::JobHandle;
use crate::hosts::session::HostError;

/// The processes of a server, and who looks at them.
pub(super) enum Looker {
    /// We, on this host.
    Here(Target),
    /// The agent of their host.
    There(JobHandle),
}

/// Samples that are being gathered.
pub(super) enum Gathering {
    Here(Sampling),
    /// The job, or why it cannot be looked at.
    There(Result<JobHandle, HostError>),
}

/// System calls that are being followed.
pub(super) enum Following {
    Here(Tracing),
    There(JobHandle),
}

impl Looker {
    /// Begins to gather samples. What is not allowed is told in the end.
    pub(super) fn sample(&self) -> Gathering {
        match self {
            Self::Here(target) => Gathering::Here(Sampling::start(target.clone())),
            Self::There(job) => Gathering::There(job.look(Looking::Sampling).map(|()| job.clone())),
        }
    }

    /// Begins to follow system calls, where that is allowed.
    pub(super) fn trace(&self) -> Result<Following, Refused> {
        match self {
            Self::Here(target) => Tracing::start(target.clone()).map(Following::Here),
            Self::There(job) => {
                let looking = job.look(Looking::Tracing).map(|()| Following::There(job.clone()));
                looking.map_err(|error| refused(Facet::SystemCalls, &error))
            }
        }
    }
}

impl Gathering {
    /// Ends it; `answers` were given in the meantime.
    pub(super) fn finish(self, answers: u64) -> (Sampled, Vec<Refused>) {
        match self {
            Self::Here(sampling) => sampling.finish(answers),
            Self::There(job) => job
                .and_then(|job| job.seen(answers))
                .unwrap_or_else(|error| (Sampled::default(), vec![refused(Facet::Samples, &error)])),
        }
    }
}

impl Following {
    /// Ends it; `answers` were given in the meantime.
    pub(super) fn finish(self, answers: u64) -> Result<Traced, Refused> {
        match self {
            Self::Here(tracing) => tracing.finish(answers),
            Self::There(job) => {
                job.seen(answers).unwrap_or_else(|error| Err(refused(Facet::SystemCalls, &error)))
            }
        }
    }
}

fn refused(what: Facet, error: &HostError) -> Refused {
    Refused { what, why: error.to_string() }
}
