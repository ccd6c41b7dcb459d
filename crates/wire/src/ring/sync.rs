//! What the shared words of a ring need of the machine. The test of all their orders (`tests/orders`) puts a model in this place.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, fence};
