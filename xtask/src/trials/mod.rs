//! Does the project find what is there, and nothing else? Whole measurements, run many times: on servers whose truth is known,
//! or on real ones, of which all runs together are the nearest to the truth.
//!
//! A trial's figures are for docs/results, measured on a quiet machine.

mod causes;
mod compare;
mod judged;
mod runs;
mod sittings;

use std::path::Path;

use clap::Subcommand;

/// What is tried.
#[derive(Subcommand)]
pub(crate) enum Subject {
    /// `assay compare` of a server with itself, and with one that works 2 % more for each answer
    Compare(compare::Options),
    /// `assay why` of servers that do one thing wrongly each: how often is that named first?
    Causes(causes::Options),
    /// What `make showdown` runs: does each run show every pair that anybody can see, without a contradiction?
    Showdown(runs::Options),
    /// The test types of the TechEmpower benchmarks: how many pairs does a budget settle?
    Techempower(runs::Options),
}

/// Tries and prints.
///
/// # Errors
/// When the machine does not allow it, a measurement fails, or a person asks to end; and of repeated runs what they do not keep
/// of what is promised.
pub(crate) fn run(root: &Path, subject: &Subject) -> Result<(), Vec<String>> {
    match subject {
        Subject::Compare(options) => {
            compare::run(root, options).map_err(|error| vec![format!("trials: {error}")])
        }
        Subject::Causes(options) => causes::run(root, options),
        Subject::Showdown(options) => runs::run(root, &runs::SHOWDOWN, options),
        Subject::Techempower(options) => runs::run(root, &runs::TECHEMPOWER, options),
    }
}
