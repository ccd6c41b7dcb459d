//! The arguments of `assay report` and `assay export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Places;

/// Write the report page of runs, or an index page over all of them.
///
/// A page is one file that needs no network. It is computed again from the record, which never changes.
#[derive(Args)]
pub(crate) struct ReportArguments {
    /// The runs: each an id, its folder or record, `last`, `last~1`; several become one page [default: last]
    #[arg(value_name = "RUN", conflicts_with = "index")]
    pub(crate) wanted: Vec<String>,
    /// Write an index of all runs in this folder, with the trend of every contender over them
    #[arg(long, value_name = "DIR")]
    pub(crate) index: Option<PathBuf>,
    /// Where to write the page, `-` for standard output [default: report.html in the last run's folder; for an index, index.html
    /// in DIR]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Show the page in a browser (xdg-open)
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Args)]
pub(crate) struct ExportArguments {
    /// The run: its id, its folder or record, `last`, `last~1`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// The format
    #[arg(short, long, value_enum, default_value = "json")]
    pub(crate) format: Format,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The workload that is drawn (svg) [default: the first that was measured]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    /// The number of connections that is drawn (svg) [default: the first that was measured]
    #[arg(short, long, value_name = "N")]
    pub(crate) connections: Option<u32>,
    /// Count void and withheld numbers as failures (junit)
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// The formats that a run can be written in, besides the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Record and verdict
    Json,
    /// Every measurement, one a row
    Csv,
    /// The verdict, one row for each contender, workload and load
    CsvSummary,
    /// Standings and verdict, for a pull request
    Md,
    /// A test case for each contender and workload, for a continuous integration server
    Junit,
    /// OpenMetrics text, for a time series database
    Openmetrics,
    /// The standings of one workload as a drawing, for a README
    Svg,
}
