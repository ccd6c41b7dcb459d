//! What other generators say of the same servers, cell by cell.

use assay_model::JsonSchema;
use assay_model::cross_check::{CrossCheck, CrossCheckStanding};
use assay_model::experiment::Cell;
use assay_model::verdict::Verdict;
use serde::Serialize;

use crate::cross_check;

/// One cell in which several generators loaded the same servers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ByGenerator {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Every contender under every generator, ours first.
    pub standings: Vec<CrossCheckStanding>,
    /// What must be known of the figures, in words.
    pub notes: Vec<String>,
}

pub(super) fn by_generator(verdict: &Verdict) -> Vec<ByGenerator> {
    let of = |crossed: &CrossCheck| ByGenerator {
        cell: crossed.cell.clone(),
        standings: crossed.standings.clone(),
        notes: cross_check::footnotes(crossed),
    };
    verdict.cross_checks.iter().map(of).collect()
}
