//! The mean number of requests in flight, by integration over time and without regard to any request's own latency:
//! the left side of Little's law (Little 1961), to check the right side with.

use assay_model::units::Nanos;

/// Entries and departures, clipped to the window.
///
/// The integral of the number in flight is the sum of departure times minus the sum of entry times, so events may be
/// told in any order: sends are stamped after the wake they follow, and receipts with the time of that wake.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    start: Nanos,
    end: Nanos,
    entered: u64,
    left: u64,
    entered_in_window: u64,
    /// Sum of departure times minus sum of entry times, both relative to the window's start.
    balance_ns: i128,
}

impl Flow {
    pub(crate) fn new() -> Self {
        Self { start: Nanos::MAX, end: Nanos::MAX, entered: 0, left: 0, entered_in_window: 0, balance_ns: 0 }
    }

    pub(crate) fn set_window(&mut self, start: Nanos, end: Nanos) {
        (self.start, self.end) = (start, end);
    }

    /// Ends the window at `end`, if that is earlier than planned. No event may have been told that is later.
    pub(crate) fn end_at(&mut self, end: Nanos) {
        self.end = self.end.min(end);
    }

    /// Whether `at` is inside the window.
    #[inline]
    pub(crate) fn contains(&self, at: Nanos) -> bool {
        at >= self.start && at < self.end
    }

    /// Whether the window has not ended at `at`, or not even begun.
    #[inline]
    pub(crate) fn is_before_end(&self, at: Nanos) -> bool {
        at < self.end
    }

    #[inline]
    pub(crate) fn enter(&mut self, at: Nanos) {
        self.entered += 1;
        self.entered_in_window += u64::from(self.contains(at));
        self.balance_ns -= self.clip(at);
    }

    /// What was said to enter at `from` entered no earlier than at `to`.
    #[inline]
    pub(crate) fn postpone(&mut self, from: Nanos, to: Nanos) {
        self.entered_in_window -= u64::from(self.contains(from));
        self.entered_in_window += u64::from(self.contains(to));
        self.balance_ns += self.clip(from) - self.clip(to);
    }

    #[inline]
    pub(crate) fn leave(&mut self, at: Nanos) {
        self.left += 1;
        self.balance_ns += self.clip(at);
    }

    /// Requests submitted inside the window.
    pub(crate) fn entered_in_window(&self) -> u64 {
        self.entered_in_window
    }

    /// Ends the window at `end`: what is still in flight stays there to the end.
    pub(crate) fn close(&mut self, end: Nanos) {
        self.balance_ns += i128::from(self.entered - self.left) * i128::from((end - self.start).0);
        self.left = self.entered;
    }

    /// The mean number in flight over windows that were closed and are `length` long together; `None` when that is nothing.
    pub(crate) fn mean_in_flight(&self, length: Nanos) -> Option<f64> {
        (length > Nanos::ZERO).then(|| self.balance_ns as f64 / length.0 as f64)
    }

    /// Adds the flow of another thread, or of another window, that was closed.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.entered += other.entered;
        self.left += other.left;
        self.entered_in_window += other.entered_in_window;
        self.balance_ns += other.balance_ns;
    }

    #[inline]
    fn clip(&self, at: Nanos) -> i128 {
        i128::from((at.min(self.end) - self.start).0)
    }
}

/// By how much the latencies of the requests that ended in the window differ from the time spent in flight in the window,
/// because some requests cross its edges. With a few slow requests in a short window that is far more than any fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edges {
    /// Time before the window, of requests that ended in it.
    before_ns: u64,
    /// Time in the window, of requests that ended after it or not at all.
    cut_off_ns: u64,
}

impl Edges {
    /// A request submitted at `sent` ended at `ended`, or was given up then.
    #[inline]
    pub(crate) fn note(&mut self, flow: &Flow, sent: Nanos, ended: Nanos) {
        if flow.contains(ended) {
            self.before_ns += (flow.start - sent).0;
        } else if ended >= flow.end {
            self.cut_off_ns += (flow.end - sent.max(flow.start)).0;
        }
    }

    /// Time spent in flight in the window, given the latencies of the requests that ended in it.
    pub(crate) fn apply(&self, latencies_ns: u128) -> f64 {
        latencies_ns as f64 - self.before_ns as f64 + self.cut_off_ns as f64
    }

    /// Adds those of another thread.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.before_ns += other.before_ns;
        self.cut_off_ns += other.cut_off_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> Flow {
        let mut flow = Flow::new();
        flow.set_window(Nanos(100), Nanos(200));
        flow
    }

    #[test]
    fn only_time_inside_the_window_counts() {
        let mut flow = flow();
        for (enter, leave) in [(0, 50), (50, 150), (120, 140), (190, 300), (250, 260)] {
            flow.enter(Nanos(enter));
            flow.leave(Nanos(leave));
        }
        flow.enter(Nanos(175));
        flow.close(Nanos(200));
        assert_eq!(flow.mean_in_flight(Nanos(100)), Some((50.0 + 20.0 + 10.0 + 25.0) / 100.0));
        assert_eq!(flow.entered_in_window(), 3);
    }

    #[test]
    fn order_makes_no_difference() {
        let (mut one, mut other) = (flow(), flow());
        one.enter(Nanos(110));
        one.leave(Nanos(130));
        one.enter(Nanos(120));
        other.enter(Nanos(120));
        other.enter(Nanos(110));
        other.leave(Nanos(130));
        one.close(Nanos(200));
        other.close(Nanos(200));
        assert_eq!(one.mean_in_flight(Nanos(100)), other.mean_in_flight(Nanos(100)));
    }

    #[test]
    fn an_entry_that_was_later_than_thought_is_as_if_it_had_been_told_so() {
        let (mut one, mut other) = (flow(), flow());
        for (thought, truth) in [(50, 99), (90, 120), (150, 170), (190, 210)] {
            one.enter(Nanos(thought));
            one.postpone(Nanos(thought), Nanos(truth));
            other.enter(Nanos(truth));
        }
        assert_eq!(one.mean_in_flight(Nanos(200)), other.mean_in_flight(Nanos(200)));
        assert_eq!((one.entered_in_window(), other.entered_in_window()), (2, 2));
    }

    #[test]
    fn with_its_edges_latency_accounts_for_all_time_in_flight() {
        let (mut flow, mut edges) = (flow(), Edges::default());
        let mut latencies = 0;
        for (sent, ended) in [(10, 50), (50, 150), (120, 140), (190, 300), (20, 280), (250, 260)] {
            flow.enter(Nanos(sent));
            flow.leave(Nanos(ended));
            edges.note(&flow, Nanos(sent), Nanos(ended));
            latencies += if flow.contains(Nanos(ended)) { u128::from(ended - sent) } else { 0 };
        }
        flow.close(Nanos(200));
        assert_eq!(flow.mean_in_flight(Nanos(100)), Some(edges.apply(latencies) / 100.0));
    }
}
