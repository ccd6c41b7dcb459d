//! A person's wish to stop: once to finish what is being measured, twice to stop at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts how often a stop was asked for; clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// Nobody has asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks once more. Safe to call from a signal handler.
    pub fn request(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether to finish the current measurement and stop then.
    pub fn soon(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= 1
    }

    /// Whether to stop in the middle of whatever is going on.
    pub fn now(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= 2
    }
}
