//! How far something is, on standard error.

use clap::ValueEnum;

/// How is told on standard error how far something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// On a terminal what is known now, drawn anew; else lines, of a load nothing
    #[default]
    Auto,
    /// Lines
    Plain,
    /// Nothing but warnings
    None,
}
