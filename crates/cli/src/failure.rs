//! Why a command ended early, and the exit code that tells scripts so.

use std::path::PathBuf;

use assay_lab::{Exit, LabError};

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Unreadable(#[from] assay_verdict::Unreadable),
    #[error(transparent)]
    Load(#[from] assay_load::LoadError),
    #[error(transparent)]
    Tls(#[from] assay_tls::TlsError),
    #[error(transparent)]
    Serve(#[from] assay_serve::ServeError),
    #[error(transparent)]
    Report(#[from] assay_report::ReportError),
    #[error(transparent)]
    Live(#[from] assay_live::LiveError),
    #[error("the agent could not prepare itself, or was not understood: {0}")]
    Agent(std::io::Error),
    #[error(transparent)]
    Supervise(#[from] assay_lab::supervisor::SupervisorError),
    /// A measurement that left nothing to compare.
    #[error("{reason}")]
    Unmeasured { exit: Exit, reason: String },
    /// An argument that clap could not judge.
    #[error("{0}")]
    Usage(String),
    /// The machine does not allow what was asked.
    #[error("{0}")]
    Machine(String),
    #[error(transparent)]
    Write(#[from] assay_file::WriteError),
    #[error("cannot remove {}: {source}; remove it as its owner", path.display())]
    Remove { path: PathBuf, source: std::io::Error },
    #[error("cannot write to standard output: {0}; send it to a place that can take it")]
    Output(&'static std::io::Error),
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// Something that should never happen.
    #[error("a fault in assay: {0}")]
    Bug(String),
}

impl Failure {
    pub(crate) fn usage(text: impl std::fmt::Display) -> Self {
        Self::Usage(text.to_string())
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Lab(error) => error.exit(),
            Self::Load(error) => exit_of_load(error),
            Self::Unmeasured { exit, .. } => *exit,
            Self::Usage(_) | Self::Read { .. } | Self::Unreadable(_) | Self::Tls(_) => Exit::Usage,
            Self::Serve(_)
            | Self::Live(_)
            | Self::Machine(_)
            | Self::Write(_)
            | Self::Remove { .. }
            | Self::Output(_) => Exit::MachineUnfit,
            Self::Agent(_) | Self::Supervise(_) | Self::Report(_) | Self::Bug(_) => Exit::Bug,
        }
    }
}

fn exit_of_load(error: &assay_load::LoadError) -> Exit {
    use assay_load::LoadError;
    match error {
        LoadError::Plan(_) | LoadError::Request { .. } | LoadError::BadRequest { .. } => Exit::Usage,
        LoadError::Unreachable { .. } => Exit::ContenderFailed,
        LoadError::Descriptors { .. }
        | LoadError::Ports { .. }
        | LoadError::Pin(_)
        | LoadError::Engine(_) => Exit::MachineUnfit,
        LoadError::Histogram(_) | LoadError::Thread(_) => Exit::Bug,
    }
}
