//! How the time of a run is spent: how many rounds and turns there will be, and whether another round begins.

pub(crate) mod pacing;
mod progress;
