//! What can go wrong when a record is turned into text.

use thiserror::Error;

/// Why a report could not be made.
#[derive(Debug, Error)]
pub enum ReportError {
    /// A histogram of the record cannot be read.
    #[error(transparent)]
    Unreadable(#[from] assay_verdict::Unreadable),
    /// A histogram of a load cannot be read.
    #[error("a histogram of the load cannot be read: {0}")]
    Histogram(#[from] assay_stats::StatsError),
    /// The data cannot be written as JSON.
    #[error("the report's data cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The data cannot be written as JUnit's XML.
    #[error("the comparison cannot be written as JUnit XML: {0}")]
    Junit(#[from] quick_junit::SerializeError),
    /// The data cannot be compressed.
    #[error("the report's data cannot be compressed: {0}")]
    Compress(#[from] std::io::Error),
    /// The page's template has lost the place where a part belongs.
    #[error(
        "the page built from report-ui/ has no place for {0}; rebuild it with `npm run build` in report-ui/"
    )]
    Template(&'static str),
}
