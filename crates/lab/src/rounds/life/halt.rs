//! Why a life ends before all of it was measured.

use assay_model::record::NotRun;

/// What ends a life early.
#[derive(Debug)]
pub(crate) enum Halt {
    /// A person wants to stop.
    Stopped,
    /// The server failed, or what was to measure it.
    Failed(NotRun),
}

/// What ended lives of a round early, each with its place among them.
pub(crate) type Halts = Vec<(usize, Halt)>;

impl Halt {
    /// What failed, if anything did.
    pub(crate) fn failure(self) -> Option<NotRun> {
        match self {
            Self::Stopped => None,
            Self::Failed(failure) => Some(failure),
        }
    }
}

impl From<NotRun> for Halt {
    fn from(failure: NotRun) -> Self {
        Self::Failed(failure)
    }
}
