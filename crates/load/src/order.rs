//! What is to be measured next, and when.

use assay_model::units::Nanos;

use crate::plan::Span;
use crate::schedule::Hours;

/// From the decision to begin until the first request is due: the threads look every millisecond.
pub(crate) const START_DELAY: Nanos = Nanos::from_millis(2);

/// A window to be measured, or a number of requests.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    /// Load before it.
    pub(crate) settle: Nanos,
    pub(crate) span: Span,
    /// When the first request is due; absent for soon.
    pub(crate) start: Option<Nanos>,
}

impl Order {
    /// The hours of a load on which was decided `now`. A start that no thread would notice in time is put off.
    pub(crate) fn hours(self, now: Nanos) -> Hours {
        let start = self.start.unwrap_or_default().max(now + START_DELAY);
        let window = start + self.settle;
        let end = match self.span {
            Span::Time(length) => window + length,
            Span::Requests(_) => Nanos::MAX,
        };
        Hours { start, window, end }
    }
}
