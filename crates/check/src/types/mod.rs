//! The test types of the TechEmpower framework benchmarks, as their verifier judges them; one file each.
//!
//! A type is a file with a table of rules, one function per rule; what several types have in common is in `common`. A type
//! that needs more than the server to be judged, such as a database whose statements are counted, finds it in the [`Route`].

mod common;
mod json;
mod plaintext;

use crate::rule::Rule;

/// A test type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestType {
    /// An object serialised anew for every request.
    Json,
    /// A short text, pipelined.
    Plaintext,
}

/// Where a server answers a test type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// What is answered there.
    pub kind: TestType,
    /// The path.
    pub path: String,
}

impl TestType {
    /// Every type.
    pub const ALL: [Self; 2] = [Self::Json, Self::Plaintext];

    /// The type that a workload of this name asks for.
    pub fn of_workload(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "plaintext" => Some(Self::Plaintext),
            _ => None,
        }
    }

    /// Every rule of the type, in the order in which findings are told.
    pub fn rules(self) -> impl Iterator<Item = &'static Rule> {
        match self {
            Self::Json => json::RULES.iter(),
            Self::Plaintext => plaintext::RULES.iter(),
        }
    }
}
