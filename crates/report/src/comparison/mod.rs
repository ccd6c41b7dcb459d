//! What changed from a base: for a terminal, a pull request, a program, and a continuous integration server.

mod junit;
mod markdown;
mod terminal;
mod words;

use assay_model::comparison::Comparison;

use crate::{ReportError, foreign};

pub use junit::junit;
pub use markdown::markdown;
pub use terminal::render;

/// The comparison as a JSON document (`schemas/comparison.json`).
///
/// # Errors
/// [`ReportError::Json`] when a value cannot be written.
pub fn json(comparison: &Comparison) -> Result<String, ReportError> {
    Ok(foreign::json(&serde_json::to_string_pretty(comparison)?) + "\n")
}
