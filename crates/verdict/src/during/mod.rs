//! What decides the course of a run, from the record so far: pure functions that the runner asks between windows.

pub mod allocation;
pub mod outlook;
pub(crate) mod settling;
