//! The closed loop: the next request follows the last response.

use assay_model::units::Nanos;

use super::Arrivals;

/// Arrivals of a closed loop: a request is due as soon as a connection is free. By Little's law its mean latency is connections over throughput: it
/// says nothing that the throughput does not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closed;

impl Arrivals for Closed {
    const OPEN: bool = false;

    fn begin(&mut self, _start: Nanos) {}

    #[inline]
    fn next(&self) -> Nanos {
        Nanos::ZERO
    }

    #[inline]
    fn pass(&mut self) {}
}
