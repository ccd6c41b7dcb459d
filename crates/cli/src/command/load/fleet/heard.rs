//! What is heard of a generator, wherever it is.

use assay_fleet::line::{self, Said};
use assay_model::units::Nanos;

/// Something heard of a generator.
pub(super) struct Report {
    /// The generator.
    pub(super) number: usize,
    /// The moment at which it came.
    pub(super) at: Nanos,
    /// What was heard.
    pub(super) heard: Heard,
}

/// What was heard.
pub(super) enum Heard {
    Said(Box<Said>),
    /// Something that is no line of the conversation, and why.
    Unreadable(String),
    /// The generator has closed its output.
    Gone,
}

impl Heard {
    /// What a line says.
    pub(super) fn of(line: &str) -> Self {
        line::read(line).map_or_else(Self::Unreadable, |said| Self::Said(Box::new(said)))
    }
}
