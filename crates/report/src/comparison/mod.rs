//! What changed from a base: for a terminal, a pull request, a program, and a continuous integration server.

mod junit;
mod markdown;
mod sentence;
mod terminal;
mod words;

use std::collections::BTreeSet;

use assay_model::comparison::{Comparison, Objection, RunCheck};

use crate::warnings::{self, Doubt};
use crate::words::in_words;
use crate::{ReportError, foreign};

pub use junit::junit;
pub use markdown::markdown;
pub(crate) use sentence::{foremost, since};
pub use terminal::render;
pub(crate) use words::{caveats_in_words, figures, legend};

/// The comparison as a JSON document (`schemas/comparison.json`).
///
/// # Errors
/// [`ReportError::Json`] when a value cannot be written.
pub fn json(comparison: &Comparison) -> Result<String, ReportError> {
    Ok(foreign::json(&serde_json::to_string_pretty(&in_words(serde_json::to_value(comparison)?))?) + "\n")
}

/// How many figures are compared: contenders in their cells.
fn judged(comparison: &Comparison) -> usize {
    let rows = comparison.rows.iter();
    let of = rows
        .flat_map(|row| [&row.base, &row.new].map(|side| (&side.run, &side.contender, row.cell.to_string())));
    of.collect::<BTreeSet<_>>().len()
}

/// What speaks against the figures that are compared, one entry per rule and run.
fn broken(comparison: &Comparison) -> Vec<warnings::Broken<'_>> {
    let whole = comparison.trust.iter();
    let whole = whole.map(|RunCheck { run, check }| Doubt { run: run.as_deref(), check, place: None });
    let placed = comparison.objections.iter().map(|Objection { run, contender, cell, check }| Doubt {
        run: run.as_deref(),
        check,
        place: Some((contender.as_str(), cell)),
    });
    warnings::broken_of(whole.chain(placed))
}
