//! What a person wishes while a run goes on: to stop, to stop after the round, to pause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often whoever waits looks whether a pause is over.
const LOOK: Duration = Duration::from_millis(50);

/// A person's wishes; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Wishes>);

#[derive(Debug, Default)]
struct Wishes {
    /// How often a stop was asked for.
    requests: AtomicUsize,
    ends_with_round: AtomicBool,
    is_paused: AtomicBool,
    /// Time that was waited in pauses, in nanoseconds.
    paused_ns: AtomicU64,
}

impl Stop {
    /// The wishes of a person who has asked for nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop once more. Safe to call from a signal handler.
    pub fn request(&self) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether to finish the current measurement and stop then.
    pub fn is_requested(&self) -> bool {
        self.0.requests.load(Ordering::Relaxed) >= 1
    }

    /// Whether to stop in the middle of whatever is going on.
    pub fn is_immediate(&self) -> bool {
        self.0.requests.load(Ordering::Relaxed) >= 2
    }

    /// Asks to finish the present round and stop then.
    pub fn request_after_round(&self) {
        self.0.ends_with_round.store(true, Ordering::Relaxed);
    }

    /// Whether no round is to begin any more.
    pub fn ends_with_round(&self) -> bool {
        self.is_requested() || self.0.ends_with_round.load(Ordering::Relaxed)
    }

    /// Asks to wait before the next window, or to go on.
    pub fn pause(&self, is_paused: bool) {
        self.0.is_paused.store(is_paused, Ordering::Relaxed);
    }

    /// Whether to wait before the next window. Whoever wants to stop does not wait.
    pub fn is_paused(&self) -> bool {
        self.0.is_paused.load(Ordering::Relaxed) && !self.is_requested()
    }

    /// Waits until the pause is over; returns how long it was.
    pub fn wait(&self) -> Duration {
        let began = Instant::now();
        while self.is_paused() {
            std::thread::sleep(LOOK);
        }
        let length = began.elapsed();
        let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        self.0.paused_ns.fetch_add(nanos, Ordering::Relaxed);
        length
    }

    /// How long all pauses were that are over.
    pub fn paused(&self) -> Duration {
        Duration::from_nanos(self.0.paused_ns.load(Ordering::Relaxed))
    }

    /// The time on a clock that stands still in pauses. Budgets are kept by it.
    pub fn unpaused_now(&self) -> Instant {
        let now = Instant::now();
        now.checked_sub(self.paused()).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_run_stands_still_in_its_pauses() {
        let stop = Stop::new();
        let (before, clock) = (Instant::now(), stop.unpaused_now());
        stop.pause(true);
        let other = stop.clone();
        let waiting = std::thread::spawn(move || other.wait());
        while !waiting.is_finished() && stop.unpaused_now().duration_since(clock) < 3 * LOOK {
            std::thread::yield_now();
        }
        assert!(stop.is_paused() && !waiting.is_finished());
        stop.pause(false);
        // How long it was depends on when the thread began.
        let length = waiting.join().expect("waited");
        assert!(length > Duration::ZERO && length <= before.elapsed(), "{length:?}");
        assert_eq!(stop.paused(), length);
        assert!(stop.unpaused_now() + length <= Instant::now(), "what was waited is no part of it");
    }

    #[test]
    fn who_wants_to_stop_does_not_wait() {
        let stop = Stop::new();
        stop.pause(true);
        stop.request_after_round();
        assert!(stop.is_paused() && stop.ends_with_round() && !stop.is_requested());
        stop.request();
        assert!(!stop.is_paused() && stop.is_requested() && !stop.is_immediate());
    }
}
