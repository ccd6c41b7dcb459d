//! Requests that are due at times of their own, whichever the process.

use assay_model::units::Nanos;

use super::{Arrivals, Constant, Poisson};

/// An open schedule. All that drives an engine is compiled once for it, not once for each process; a request costs a branch that is
/// always the same.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a thread has one, and looks into it for each request")]
pub enum Open {
    /// At even intervals.
    Constant(Constant),
    /// At random.
    Poisson(Poisson),
}

impl Arrivals for Open {
    const OPEN: bool = true;

    fn begin(&mut self, start: Nanos) {
        match self {
            Self::Constant(arrivals) => arrivals.begin(start),
            Self::Poisson(arrivals) => arrivals.begin(start),
        }
    }

    #[inline]
    fn next(&self) -> Nanos {
        match self {
            Self::Constant(arrivals) => arrivals.next(),
            Self::Poisson(arrivals) => arrivals.next(),
        }
    }

    #[inline]
    fn pass(&mut self) {
        match self {
            Self::Constant(arrivals) => arrivals.pass(),
            Self::Poisson(arrivals) => arrivals.pass(),
        }
    }
}
