//! Warnings about files that people write.

use std::fmt;

use crate::error::SourcePlace;

/// Something in a file that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The place in the file.
    pub place: SourcePlace,
    /// What, and what happens with it.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.message)
    }
}
