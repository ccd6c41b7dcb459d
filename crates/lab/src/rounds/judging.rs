//! The verdict so far, for whoever watches a run: computed while nothing is measured, and never so often that the run would
//! take notably longer.

use std::time::{Duration, Instant};

use super::Runner;
use crate::event::Event;

/// Within a round, the next verdict waits this many times as long as the last one took: 2 % of a run's time at most.
const REST: u32 = 50;

/// When the verdict was computed last.
#[derive(Default)]
pub(super) struct Judging {
    last: Option<Judged>,
}

#[derive(Clone, Copy)]
struct Judged {
    at: Instant,
    took: Duration,
}

impl Judging {
    fn is_rested(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now.duration_since(last.at) >= last.took * REST)
    }
}

impl Runner<'_> {
    /// Tells the verdict on the rounds so far, the present one included, unless it was told just before.
    pub(super) fn tell_verdict_in_round(&mut self) {
        if self.judging.is_rested(Instant::now()) {
            self.tell_verdict();
        }
    }

    /// Tells the verdict on the rounds so far. A record that cannot be read is told by whoever decides on it.
    pub(super) fn tell_verdict(&mut self) {
        if !self.telling.wants_verdicts() {
            return;
        }
        let began = Instant::now();
        // Whoever watches may show it to others.
        self.bench.plan.tools.secrets.hide_in(&mut self.record);
        if let Ok(verdict) = assay_verdict::judge(&self.record) {
            self.telling.notice(&Event::Judged { record: &self.record, verdict: &verdict });
        }
        self.judging.last = Some(Judged { at: Instant::now(), took: began.elapsed() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_a_round_it_rests_for_fifty_times_as_long_as_it_worked() {
        let now = Instant::now();
        let after = |rest: Duration| {
            let last = Some(Judged { at: now, took: Duration::from_millis(20) });
            Judging { last }.is_rested(now + rest)
        };
        assert!(Judging::default().is_rested(now));
        assert!(!after(Duration::from_millis(999)) && after(Duration::from_secs(1)));
    }
}
