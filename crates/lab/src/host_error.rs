//! What goes wrong with a host.

use std::path::PathBuf;

use thiserror::Error;

/// What goes wrong with a host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// No agent came.
    #[error("{host}: no agent answers ({said}); {remedy}")]
    Unreachable {
        /// The host's name.
        host: String,
        /// What was said instead.
        said: String,
        /// How to mend it.
        remedy: String,
    },
    /// The host has another version of assay.
    #[error("{host} has assay {theirs}, and this is {ours}; leave `program` out, so that this one travels")]
    Version {
        /// The host's name.
        host: String,
        /// The host's version.
        theirs: String,
        /// Our version.
        ours: String,
    },
    /// The host does not answer in time.
    #[error("{host} did not answer within {seconds} s; see whether it is up, and what it is busy with")]
    Silent {
        /// The host's name.
        host: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The host was there and is gone.
    #[error("{host} is lost ({said}); what was started there ends by itself")]
    Lost {
        /// The host's name.
        host: String,
        /// What the transport said.
        said: String,
    },
    /// The host cannot do what was asked.
    #[error("{host}: {problem}")]
    Refused {
        /// The host's name.
        host: String,
        /// What it refused, and why.
        problem: String,
    },
    /// A folder cannot be brought there as it is.
    #[error("{} cannot travel to {host}: {problem}", folder.display())]
    Travel {
        /// The host's name.
        host: String,
        /// The folder here.
        folder: PathBuf,
        /// Why it cannot, in words.
        problem: String,
        /// How to mend it.
        remedy: &'static str,
    },
    /// What was asked cannot be done on this host.
    #[error("{problem}")]
    Here {
        /// Why it cannot, in words.
        problem: String,
    },
    /// A person does not want to wait any longer.
    #[error("{host}: nobody waits for it any more")]
    Unwanted {
        /// The host's name.
        host: String,
    },
    /// Whether anything is left there is not known.
    #[error(
        "{host} did not say that nothing is left there; look for processes called `assay agent` and `guard` on it, and run \
         `assay clean` there"
    )]
    Left {
        /// The host's name.
        host: String,
    },
}

impl HostError {
    /// How to mend it, where the error has a remedy of its own that it does not tell itself.
    pub(crate) fn remedy(&self) -> Option<String> {
        match self {
            Self::Travel { remedy, .. } => Some((*remedy).to_owned()),
            Self::Lost { .. } | Self::Silent { .. } => {
                Some("look at it with `assay doctor --lab`".to_owned())
            }
            _ => None,
        }
    }
}
