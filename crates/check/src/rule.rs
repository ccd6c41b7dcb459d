//! What a rule is.

use assay_model::conformance::Severity;

use crate::objection::Keeping;
use crate::origin::Origin;
use crate::site::Site;

/// Something that a server has to keep.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Stable name, `[a-z0-9-]+`.
    pub id: &'static str,
    /// The rule in a sentence.
    pub sentence: &'static str,
    /// Where it is written.
    pub source: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// What company and time it needs.
    pub tempo: Tempo,
    /// Asks the server.
    pub(crate) question: Question,
}

/// How a server is asked for a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question {
    /// Over HTTP/1.1, and what begins as that.
    Http1(fn(&Site) -> Keeping),
    /// Over HTTP/2.
    Http2(fn(&Origin) -> Keeping),
}

/// What company and time a rule needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tempo {
    /// May be asked while others are.
    Together,
    /// Occupies the server so much that others would suffer.
    Alone,
    /// Takes seconds even where it is kept.
    Slow,
}

impl Rule {
    /// A rule that may be asked while others are.
    pub(crate) const fn new(
        id: &'static str,
        severity: Severity,
        source: &'static str,
        sentence: &'static str,
        ask: fn(&Site) -> Keeping,
    ) -> Self {
        Self { id, sentence, source, severity, tempo: Tempo::Together, question: Question::Http1(ask) }
    }

    /// A rule of HTTP/2 that may be asked while others are.
    pub(crate) const fn of_http2(
        id: &'static str,
        severity: Severity,
        source: &'static str,
        sentence: &'static str,
        ask: fn(&Origin) -> Keeping,
    ) -> Self {
        Self { id, sentence, source, severity, tempo: Tempo::Together, question: Question::Http2(ask) }
    }

    /// The rule at another tempo.
    pub(crate) const fn at(self, tempo: Tempo) -> Self {
        Self { tempo, ..self }
    }
}
