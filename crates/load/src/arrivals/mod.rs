//! When requests are issued (docs/method/response-times.md#arrival-models): one small trait, one file per model.

mod closed;
mod constant;
mod open;
mod poisson;

use assay_model::units::Nanos;

pub use closed::Closed;
pub use constant::Constant;
pub use open::Open;
pub use poisson::Poisson;

/// A schedule of one thread's requests.
pub trait Arrivals {
    /// Whether requests are due at times of their own (open) or whenever a connection is free (closed).
    const OPEN: bool;

    /// Begins the schedule, anew if it has begun before, with its origin at `start`.
    fn begin(&mut self, start: Nanos);

    /// The intended time of the next request, non-decreasing; [`Nanos::ZERO`] for "as soon as a connection is free".
    fn next(&self) -> Nanos;

    /// Goes on to the request after that.
    fn pass(&mut self);
}

/// One thread's part of a total rate.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Requests per second of all threads together.
    pub per_second: f64,
    /// The thread's number, from 0.
    pub thread: usize,
    /// Of how many.
    pub threads: usize,
}
