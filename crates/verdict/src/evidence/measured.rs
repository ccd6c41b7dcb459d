//! One table of what a record measured.

use assay_model::experiment::Cell;
use assay_stats::table::Windows;

/// One table of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The cell.
    pub cell: Cell,
    /// Whether it holds the 99th percentiles of response times, and not rates.
    pub is_tail: bool,
    /// Name and windows of each contender; of whoever took part twice two times the same name.
    pub contenders: Vec<(String, Windows)>,
}
