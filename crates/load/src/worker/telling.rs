//! What the caller is told while the load runs.

use assay_engine::Engine;
use assay_model::units::Nanos;

use super::Worker;
use crate::arrivals::Arrivals;
use crate::protocol::Protocol;
use crate::seconds::{Counters, Seen};
use crate::signals::{PUBLISH_INTERVAL, Progress};

impl<E: Engine, A: Arrivals, P: Protocol> Worker<'_, E, A, P> {
    /// Tells the caller how far this thread is.
    pub(crate) fn publish_now(&mut self, now: Nanos) {
        self.next_publish = now;
        self.publish(now);
    }

    pub(super) fn publish(&mut self, now: Nanos) {
        if now < self.next_publish {
            return;
        }
        self.next_publish = now + PUBLISH_INTERVAL;
        let session = &self.session;
        self.signals.threads[self.thread].publish(&Progress {
            issued: session.schedule.issued(),
            ok: session.recorder.total.ok,
            failed: session.recorder.total.failed(),
            in_flight: session.in_flight() as u64,
            connections: session.connected() as u64,
            system_calls: self.engine.statistics().system_calls(),
            ..Progress::default()
        });
    }

    /// Tells of the seconds that are over. What a wake found happened at its time, so this comes before anything else.
    #[inline]
    pub(super) fn tell_seconds(&mut self, now: Nanos) {
        let end = self.signals.end();
        while self.metronome.as_mut().is_some_and(|metronome| metronome.is_over(now, end)) {
            self.tell_second(now);
        }
    }

    /// Tells of the present second, as far as it has come.
    pub(crate) fn tell_second(&mut self, now: Nanos) {
        let counters = self.counters();
        if let (Some(metronome), Some(seen)) = (&mut self.metronome, &mut self.session.recorder.second) {
            let seen = std::mem::replace(&mut **seen, Seen::new(A::OPEN));
            self.signals.hand_over(metronome.end(now, seen, counters));
        }
    }

    /// What is counted, as it stands.
    pub(super) fn counters(&self) -> Counters {
        let statistics = self.engine.statistics();
        Counters {
            issued: self.session.schedule.issued(),
            sent_bytes: statistics.sent_bytes,
            received_bytes: statistics.received_bytes,
            in_flight: self.session.in_flight() as u64,
            connections: self.session.connected() as u64,
        }
    }
}
