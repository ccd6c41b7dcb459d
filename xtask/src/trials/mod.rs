//! Does the project find what is there, and nothing else? Whole measurements, run many times on servers whose truth is known.
//!
//! A trial's exit code says nothing about its results: they are figures for docs/method/statistics.md, measured on a quiet
//! machine.

mod compare;

use std::path::Path;

use clap::Subcommand;

/// What is tried.
#[derive(Subcommand)]
pub(crate) enum Subject {
    /// `assay compare` of a server with itself, and with one that works 2 % more for each answer
    Compare(compare::Options),
}

/// Tries and prints.
///
/// # Errors
/// When the machine does not allow it, a measurement fails, or a person asks to end.
pub(crate) fn run(root: &Path, subject: &Subject) -> Result<(), Vec<String>> {
    match subject {
        Subject::Compare(options) => compare::run(root, options),
    }
    .map_err(|error| vec![format!("trials: {error}")])
}
