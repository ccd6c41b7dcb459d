//! What the threads and the caller tell each other while a measurement runs: each thread writes its own cache lines.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};

use assay_model::load::{LoadTurn, Phase};
use assay_model::units::Nanos;

use crate::order::Order;
use crate::schedule::Hours;
use crate::seconds::{Part, Second};

/// How often a thread publishes its progress.
pub(crate) const PUBLISH_INTERVAL: Nanos = Nanos::from_millis(100);

/// What the caller is told while a measurement runs.
#[derive(Clone, Debug)]
pub enum News {
    /// About ten times a second, and at the end.
    Progress(Progress),
    /// A second is over; only if the plan asks for it.
    Second(Box<Second>),
    /// The connections are made, or known not to be had; no request was sent yet.
    Connected,
    /// When the last thread began with a window that is over.
    Began(Nanos),
    /// A window is over.
    Turn(Box<LoadTurn>),
}

/// How far a measurement is; counts are from its start and about 100 ms old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The part of the measurement.
    pub phase: Phase,
    /// Time since the first request was due.
    pub elapsed: Nanos,
    /// Requests that were due.
    pub issued: u64,
    /// Right answers.
    pub ok: u64,
    /// Failed requests.
    pub failed: u64,
    /// Requests submitted and not answered.
    pub in_flight: u64,
    /// Connections that are open.
    pub connections: u64,
    /// System calls of the generator's engines.
    pub system_calls: u64,
}

/// One thread's part of the progress. 128 bytes apart: processors fetch cache lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct ThreadProgress {
    issued: AtomicU64,
    ok: AtomicU64,
    failed: AtomicU64,
    in_flight: AtomicU64,
    connections: AtomicU64,
    system_calls: AtomicU64,
}

impl ThreadProgress {
    pub(crate) fn publish(&self, progress: &Progress) {
        self.issued.store(progress.issued, Relaxed);
        self.ok.store(progress.ok, Relaxed);
        self.failed.store(progress.failed, Relaxed);
        self.in_flight.store(progress.in_flight, Relaxed);
        self.connections.store(progress.connections, Relaxed);
        self.system_calls.store(progress.system_calls, Relaxed);
    }

    fn add_to(&self, progress: &mut Progress) {
        progress.issued += self.issued.load(Relaxed);
        progress.ok += self.ok.load(Relaxed);
        progress.failed += self.failed.load(Relaxed);
        progress.in_flight += self.in_flight.load(Relaxed);
        progress.connections += self.connections.load(Relaxed);
        progress.system_calls += self.system_calls.load(Relaxed);
    }
}

/// Signals between the caller and the threads. Read once per wake, written a few times in all.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Windows that the threads were called to, the present one included.
    calls: AtomicUsize,
    /// Nobody is called any more.
    dismissed: AtomicBool,
    /// Threads whose connections are made, or have been tried.
    ready: AtomicUsize,
    /// A connection could not be made since the last call.
    refused: AtomicBool,
    /// When the first request is due; `u64::MAX` before that is known.
    start: AtomicU64,
    /// When what is measured begins.
    window: AtomicU64,
    /// When no more requests are due.
    end: AtomicU64,
    /// Until when the last answers are waited for, where that is not as long as planned.
    patience: AtomicU64,
    pub(crate) threads: Vec<ThreadProgress>,
    /// Parts of seconds, handed over once a second by each thread.
    parts: Mutex<Vec<Part>>,
}

impl Signals {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            calls: AtomicUsize::new(1),
            dismissed: AtomicBool::new(false),
            ready: AtomicUsize::new(0),
            refused: AtomicBool::new(false),
            start: AtomicU64::new(u64::MAX),
            window: AtomicU64::new(u64::MAX),
            end: AtomicU64::new(u64::MAX),
            patience: AtomicU64::new(u64::MAX),
            threads: (0..threads).map(|_| ThreadProgress::default()).collect(),
            parts: Mutex::default(),
        }
    }

    /// Calls the threads to the next window. They must have handed over what they saw in the last one, and be unparked then.
    pub(crate) fn call(&self) {
        self.ready.store(0, Relaxed);
        self.refused.store(false, Relaxed);
        self.start.store(u64::MAX, Relaxed);
        self.calls.fetch_add(1, Release);
    }

    /// Lets the threads end instead of waiting for another call. They must be unparked then.
    pub(crate) fn dismiss(&self) {
        self.dismissed.store(true, Release);
    }

    /// Parks the thread until it is called to window `number`, 1 being the first; whether it is, or dismissed instead.
    pub(crate) fn is_called_to(&self, number: usize) -> bool {
        loop {
            if self.calls.load(Acquire) >= number {
                return true;
            }
            if self.dismissed.load(Acquire) {
                return false;
            }
            std::thread::park();
        }
    }

    pub(crate) fn report_ready(&self) {
        self.ready.fetch_add(1, Relaxed);
    }

    pub(crate) fn report_refused(&self) {
        self.refused.store(true, Relaxed);
    }

    /// Whether there is a connection, or nothing keeps one from being made: those of a server that closes idle ones may all be
    /// on their way.
    fn is_reachable(&self) -> bool {
        !self.all_ready() || !self.refused.load(Relaxed) || self.progress(Nanos::ZERO).connections > 0
    }

    pub(crate) fn all_ready(&self) -> bool {
        self.ready.load(Relaxed) >= self.threads.len()
    }

    /// Lets the load of an order begin on which was decided `now`. It ends as it begins where a thread `is_broken` or there is
    /// no connection. Returns whether there is one, or may be.
    pub(crate) fn begin_with(&self, order: Order, now: Nanos, is_broken: bool) -> bool {
        let hours = order.hours(now);
        let reachable = self.is_reachable();
        let end = if reachable && !is_broken { hours.end } else { hours.start };
        self.begin(Hours { end, ..hours });
        reachable
    }

    /// Lets the load begin.
    pub(crate) fn begin(&self, hours: Hours) {
        self.window.store(hours.window.0, Relaxed);
        self.end.store(hours.end.0, Relaxed);
        self.patience.store(u64::MAX, Relaxed);
        // Whoever sees the start must see the end.
        self.start.store(hours.start.0, Release);
    }

    /// When there is load, once that is known.
    pub(crate) fn hours(&self) -> Option<Hours> {
        let start = self.start()?;
        Some(Hours { start, window: self.window(), end: self.end() })
    }

    /// When the first request is due, once that is known.
    pub(crate) fn start(&self) -> Option<Nanos> {
        let start = self.start.load(Acquire);
        (start != u64::MAX).then_some(Nanos(start))
    }

    /// When what is measured begins, once the start is known.
    fn window(&self) -> Nanos {
        Nanos(self.window.load(Relaxed))
    }

    pub(crate) fn end(&self) -> Nanos {
        Nanos(self.end.load(Relaxed))
    }

    /// Ends the load at `end`, if that is earlier than planned.
    pub(crate) fn end_at(&self, end: Nanos) {
        self.end.fetch_min(end.0, Relaxed);
    }

    /// Until when the last answers are waited for at most.
    pub(crate) fn patience(&self) -> Nanos {
        Nanos(self.patience.load(Relaxed))
    }

    /// Waits for the last answers no longer than `until`.
    pub(crate) fn wait_until(&self, until: Nanos) {
        self.patience.fetch_min(until.0, Relaxed);
    }

    /// Hands a part of a second to the caller.
    pub(crate) fn hand_over(&self, part: Part) {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
    }

    /// The parts that were handed over since the last call.
    pub(crate) fn take_parts(&self) -> Vec<Part> {
        std::mem::take(&mut *self.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The progress at `now`.
    pub(crate) fn progress(&self, now: Nanos) -> Progress {
        let start = self.start();
        let elapsed = start.map_or(Nanos::ZERO, |start| now - start);
        let phase = match start {
            None => Phase::Connecting,
            Some(_) if now >= self.end() => Phase::Drain,
            Some(_) if now < self.window() => Phase::WarmUp,
            Some(_) => Phase::Window,
        };
        let mut progress = Progress { phase, elapsed, ..Progress::default() };
        self.threads.iter().for_each(|thread| thread.add_to(&mut progress));
        progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up_and_do_not_share_cache_lines() {
        assert_eq!(size_of::<ThreadProgress>(), 128);
        let signals = Signals::new(2);
        let part = Progress {
            issued: 3,
            ok: 1,
            failed: 1,
            in_flight: 1,
            connections: 2,
            system_calls: 9,
            ..Progress::default()
        };
        signals.threads.iter().for_each(|thread| thread.publish(&part));
        signals.begin(Hours { start: Nanos(100), window: Nanos(200), end: Nanos(500) });
        signals.end_at(Nanos(400));
        signals.end_at(Nanos(450));
        let progress = |now| signals.progress(Nanos(now));
        let phases = [150, 250, 400].map(|now| progress(now).phase);
        assert_eq!(phases, [Phase::WarmUp, Phase::Window, Phase::Drain]);
        let sum = progress(150);
        assert_eq!(
            (sum.elapsed, sum.issued, sum.system_calls, signals.end()),
            (Nanos(50), 6, 18, Nanos(400))
        );
    }
}
