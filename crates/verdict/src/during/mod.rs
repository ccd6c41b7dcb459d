//! What decides the course of a run, from the record so far: pure functions that the runner asks between windows.

pub mod allocation;
pub mod course;
pub mod outlook;
pub mod rates;
pub(crate) mod settling;
