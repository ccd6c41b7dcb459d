//! What comes from the TechEmpower Framework Benchmarks: results that were measured there, shown here as such, and
//! implementations that were written for there, run here unchanged.
//!
//! The format is that of their toolset as it was for Rounds 19 to 23 (`toolset/utils/results.py`, `metadata.py` and
//! `docker_helper.py` in github.com/TechEmpower/FrameworkBenchmarks, archived in March 2026).

mod engine;
mod folder;
mod import;
mod results;

pub(crate) use folder::{is_implementation, subjects};
pub use import::import;

/// A type of test, in the order of the source's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestType {
    Json,
    Db,
    Queries,
    Fortunes,
    Updates,
    Plaintext,
    Cached,
}

impl TestType {
    pub(crate) const ALL: [Self; 7] =
        [Self::Json, Self::Db, Self::Queries, Self::Fortunes, Self::Updates, Self::Plaintext, Self::Cached];

    /// Name of the workload that asks the same; for one whose level is a number of rows, of its family.
    pub(crate) fn workload(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Db => "db",
            Self::Queries => "queries",
            Self::Fortunes => "fortunes",
            Self::Updates => "updates",
            Self::Plaintext => "plaintext",
            Self::Cached => "cached",
        }
    }

    /// How the source calls it.
    pub(crate) fn their_name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Db => "db",
            Self::Queries => "query",
            Self::Fortunes => "fortune",
            Self::Updates => "update",
            Self::Plaintext => "plaintext",
            Self::Cached => "cached-query",
        }
    }

    /// Whether `name` is how the source calls it: it has written the last one in two ways.
    pub(crate) fn is_called(self, name: &str) -> bool {
        self.their_name() == name || (self == Self::Cached && name == "cached_query")
    }

    /// Whether it reads or writes the database.
    pub(crate) fn needs_database(self) -> bool {
        !matches!(self, Self::Json | Self::Plaintext)
    }

    /// Whether its levels are numbers of rows at one number of connections.
    pub(crate) fn counts_rows(self) -> bool {
        matches!(self, Self::Queries | Self::Updates | Self::Cached)
    }
}
