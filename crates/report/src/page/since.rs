//! What changed since the last run of the same experiment, as [`crate::comparison`] tells it.

use assay_model::JsonSchema;
use assay_model::comparison::{Comparison, Row, Shift};
use assay_model::experiment::Cell;
use assay_model::record::Record;
use serde::Serialize;

use crate::comparison;

/// What changed since an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Since {
    /// The earlier run's name.
    pub run: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// What tells most of each contender in each cell that both runs measured.
    pub rows: Vec<SinceRow>,
    /// What else differed between the two runs, and so may be what changed the figures.
    pub caveats: Vec<String>,
    /// How to read the rows; absent where nothing can be told.
    pub legend: Option<String>,
}

/// One contender in one cell, then and now.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SinceRow {
    /// Name of the contender.
    pub contender: String,
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// The change in a sentence, or why nothing can be told.
    pub sentence: String,
    /// The figure that is compared, such as `req/s`; empty where nothing can be told, as are the texts that follow.
    pub figure: String,
    /// What it was then.
    pub before: String,
    /// What it is now.
    pub now: String,
    /// By how much it changed, where that is shown.
    pub change: String,
    /// The interval of the change, simultaneous over all rows.
    pub interval: String,
    /// What may be said; absent where nothing can be told.
    pub call: Option<Shift>,
}

impl Since {
    /// What a comparison with `before` says of a run.
    pub fn of(comparison: &Comparison, before: &Record) -> Self {
        Self {
            run: before.id.clone(),
            started_at: before.started_at.clone(),
            rows: comparison.rows.iter().map(row).collect(),
            caveats: comparison::caveats_in_words(comparison),
            legend: comparison::legend(comparison),
        }
    }
}

fn row(of: &Row) -> SinceRow {
    let change = comparison::foremost(of);
    let texts = change.map(|change| comparison::figures(of, change)).unwrap_or_default();
    let [figure, before, now, shown, interval, _] = texts;
    SinceRow {
        contender: of.new.contender.clone(),
        cell: of.cell.clone(),
        sentence: comparison::since(of),
        figure,
        before,
        now,
        change: shown,
        interval,
        call: change.map(|change| change.call),
    }
}
