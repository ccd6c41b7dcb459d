//! What shows that a server is ready.

use std::time::Duration;

use assay_model::record::{NotRun, Stage};
use assay_model::workload::{RequestKind, Workload};

use crate::subject::Process;

/// How long a wrong answer may be a server's way of saying that it is not ready.
const WRONG_ANSWER_PATIENCE: Duration = Duration::from_secs(2);

/// When a server is ready.
pub(super) struct Readiness {
    /// Longest time until it is.
    pub(super) timeout: Duration,
    sign: Sign,
}

enum Sign {
    /// The right answer to the first request that it will get; nothing where there is none.
    FirstAnswer(Option<RequestKind>),
    /// Any answer at all: what it will be asked for is not known before a command has run.
    AnyAnswer(RequestKind),
    /// The right answer to a health check.
    Check(RequestKind),
}

impl Readiness {
    /// The readiness of a server that is started for `workloads`.
    pub(super) fn of(process: &Process, workloads: &[Workload]) -> Self {
        let timeout = Duration::from_secs_f64(process.run.ready_timeout_s);
        let check = process.run.ready_path.as_deref().map(RequestKind::get);
        Self { timeout, sign: check.map_or_else(|| Sign::among(workloads), Sign::Check) }
    }

    /// The readiness of a server that was running before.
    pub(super) fn at_once(workloads: &[Workload]) -> Self {
        Self { timeout: Duration::ZERO, sign: Sign::among(workloads) }
    }

    /// What it is asked; absent where there is nothing to wait for.
    pub(super) fn request(&self) -> Option<&RequestKind> {
        match &self.sign {
            Sign::FirstAnswer(request) => request.as_ref(),
            Sign::AnyAnswer(request) | Sign::Check(request) => Some(request),
        }
    }

    /// Whether an answer that is not right shows it too.
    pub(super) fn is_shown_by(&self, problem: &NotRun) -> bool {
        problem.stage == Stage::Answer && matches!(self.sign, Sign::AnyAnswer(_))
    }

    /// How long it may answer wrongly. To a health check that means that it is not ready yet.
    pub(super) fn patience_with_wrong_answers(&self) -> Duration {
        if matches!(self.sign, Sign::Check(_)) { self.timeout } else { WRONG_ANSWER_PATIENCE }
    }
}

impl Sign {
    fn among(workloads: &[Workload]) -> Self {
        if workloads.iter().any(|workload| workload.before.is_some()) {
            return Self::AnyAnswer(RequestKind::get("/"));
        }
        Self::FirstAnswer(workloads.iter().flat_map(Workload::probes).next())
    }
}
