//! Why there is no link.

use std::io;

use thiserror::Error;

/// Why client and server could not be joined so.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The process that holds the namespaces could not be started or ended too early.
    #[error("the process that holds the link failed: {0}; is the assay program still where it was?")]
    NetnsHolder(io::Error),
    /// The kernel, or whoever set it up, forbids a part of it.
    #[error("the link could not be made: {problem}; {remedy}")]
    Forbidden {
        /// What was refused.
        problem: String,
        /// How to mend it.
        remedy: String,
    },
}
