//! Requests that are due: what the arrival model asks for, bounded by the plan, waiting for a connection.

use std::collections::VecDeque;

use assay_model::units::Nanos;

use crate::arrivals::Arrivals;

/// Due requests of one thread that may wait for a connection; more are given up as unsent. 32 MiB at most.
pub(crate) const MAX_BACKLOG: usize = 1 << 20;

/// A request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// When the model wanted it.
    pub(crate) intended: Nanos,
    /// When the thread noticed; later only if the thread was late.
    pub(crate) noticed: Nanos,
    /// When it was sent first, if the server has given it back since.
    pub(crate) sent_first: Option<Nanos>,
}

impl Due {
    /// A request that was never sent.
    #[inline]
    pub(crate) fn new(intended: Nanos, noticed: Nanos) -> Self {
        Self { intended, noticed, sent_first: None }
    }
}

/// The requests of one thread in the order in which they are due.
pub(crate) struct Schedule<A> {
    arrivals: A,
    backlog: VecDeque<Due>,
    hours: Hours,
    /// Requests of the window that may still become due.
    left: u64,
    issued: u64,
    intended_in_window: u64,
    given_up: u64,
}

/// When requests are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hours {
    /// No request is due before.
    pub(crate) start: Nanos,
    /// The warm-up is over.
    pub(crate) window: Nanos,
    /// No request is due from here on.
    pub(crate) end: Nanos,
}

impl<A: Arrivals> Schedule<A> {
    /// A schedule that has not begun.
    pub(crate) fn new(arrivals: A) -> Self {
        let hours = Hours { start: Nanos::MAX, window: Nanos::MAX, end: Nanos::MAX };
        Self {
            arrivals,
            backlog: VecDeque::new(),
            hours,
            left: 0,
            issued: 0,
            intended_in_window: 0,
            given_up: 0,
        }
    }

    /// Starts it, with nothing counted yet. In the window at most `quota` requests become due, in the warm-up any number.
    pub(crate) fn begin(&mut self, hours: Hours, quota: u64) {
        (self.issued, self.intended_in_window, self.given_up) = (0, 0, 0);
        self.arrivals.begin(hours.start);
        self.hours = hours;
        self.left = quota;
    }

    /// Ends it at `end`, if that is earlier than planned.
    pub(crate) fn end_at(&mut self, end: Nanos) {
        self.hours.end = self.hours.end.min(end);
    }

    /// Notices what has become due under an open model.
    #[inline]
    pub(crate) fn collect(&mut self, now: Nanos) {
        while A::OPEN && self.arrivals.next() <= now && self.is_open_at(self.arrivals.next()) {
            let intended = self.arrivals.next();
            self.arrivals.pass();
            self.count(intended);
            if self.backlog.len() < MAX_BACKLOG {
                self.backlog.push_back(Due::new(intended, now));
            } else {
                self.given_up += 1;
            }
        }
    }

    /// The next due request, for sending at `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Nanos) -> Option<Due> {
        if A::OPEN || !self.backlog.is_empty() {
            return self.backlog.pop_front();
        }
        self.is_open_at(now).then(|| {
            self.count(now);
            Due::new(now, now)
        })
    }

    /// A request that was taken is due again, before all others. It was counted when it became due.
    pub(crate) fn give_back(&mut self, due: Due) {
        self.backlog.push_front(due);
    }

    /// The next request that waits, when none will be sent any more.
    pub(crate) fn take_unsent(&mut self) -> Option<Due> {
        self.backlog.pop_front()
    }

    /// When [`collect`](Self::collect) has something to do without any event.
    pub(crate) fn wake_at(&self) -> Nanos {
        let next = self.arrivals.next();
        if A::OPEN && self.is_open_at(next) { next } else { Nanos::MAX }
    }

    #[inline]
    fn is_open_at(&self, at: Nanos) -> bool {
        at >= self.hours.start && at < self.hours.end && (self.left > 0 || at < self.hours.window)
    }

    #[inline]
    fn count(&mut self, intended: Nanos) {
        self.issued += 1;
        if intended >= self.hours.window {
            self.left -= 1;
            self.intended_in_window += 1;
        }
    }

    /// Whether nothing is or will be due.
    pub(crate) fn is_spent(&self, now: Nanos) -> bool {
        let next = if A::OPEN { self.arrivals.next() } else { now.max(self.hours.start) };
        self.backlog.is_empty() && !self.is_open_at(next)
    }

    /// Requests that were due so far, whatever became of them.
    pub(crate) fn issued(&self) -> u64 {
        self.issued
    }

    /// Requests that were due in the window so far.
    pub(crate) fn intended_in_window(&self) -> u64 {
        self.intended_in_window
    }

    /// Requests given up because [`MAX_BACKLOG`] was reached.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::{Closed, Constant, Share};

    fn hours(start: u64, window: u64, end: u64) -> Hours {
        Hours { start: Nanos(start), window: Nanos(window), end: Nanos(end) }
    }

    fn constant() -> Schedule<Constant> {
        Schedule::new(Constant::new(Share { per_second: 1e8, thread: 0, threads: 1 }))
    }

    #[test]
    fn a_late_thread_keeps_the_intended_times() {
        let mut schedule = constant();
        schedule.begin(hours(1000, 1010, 1100), u64::MAX);
        assert_eq!(schedule.wake_at(), Nanos(1000));
        schedule.collect(Nanos(999));
        assert_eq!(schedule.backlog.len(), 0);
        schedule.collect(Nanos(1025));
        assert_eq!((schedule.backlog.len(), schedule.intended_in_window()), (3, 2));
        assert_eq!(schedule.take(Nanos(1030)), Some(Due::new(Nanos(1000), Nanos(1025))));
        assert_eq!(schedule.wake_at(), Nanos(1030));
    }

    #[test]
    fn what_was_due_before_the_end_is_due_however_late_it_is_noticed() {
        let mut schedule = constant();
        schedule.begin(hours(1000, 1000, 1100), u64::MAX);
        schedule.collect(Nanos(5000));
        assert_eq!((schedule.issued(), schedule.wake_at()), (10, Nanos::MAX));
        assert!(!schedule.is_spent(Nanos(5000)));
        for _ in 0..10 {
            assert!(schedule.take(Nanos(5000)).is_some());
        }
        assert!(schedule.is_spent(Nanos(5000)));
    }

    #[test]
    fn a_closed_loop_is_due_at_once_from_its_start_to_its_end() {
        let mut schedule = Schedule::new(Closed);
        assert_eq!(schedule.take(Nanos(1)), None, "not begun");
        schedule.begin(hours(10, 10, 100), u64::MAX);
        assert_eq!((schedule.take(Nanos(9)), schedule.is_spent(Nanos(9))), (None, false));
        assert_eq!(schedule.take(Nanos(10)), Some(Due::new(Nanos(10), Nanos(10))));
        schedule.end_at(Nanos(50));
        assert!(!schedule.is_spent(Nanos(49)) && schedule.is_spent(Nanos(50)));
        assert_eq!((schedule.take(Nanos(50)), schedule.issued()), (None, 1));
    }

    #[test]
    fn a_quota_counts_from_the_window_on() {
        let mut closed = Schedule::new(Closed);
        closed.begin(hours(0, 20, u64::MAX), 2);
        let taken = (0..100).filter(|&now| closed.take(Nanos(now)).is_some()).count();
        assert_eq!((taken, closed.intended_in_window()), (22, 2));
        let mut open = constant();
        open.begin(hours(0, 20, u64::MAX), 2);
        open.collect(Nanos(1000));
        assert_eq!((open.issued(), open.backlog.len(), open.wake_at()), (4, 4, Nanos::MAX));
    }

    #[test]
    fn the_backlog_is_bounded_and_what_is_beyond_is_counted() {
        let mut schedule = constant();
        schedule.begin(hours(0, 0, u64::MAX), u64::MAX);
        schedule.collect(Nanos(10 * (MAX_BACKLOG as u64 + 4)));
        assert_eq!((schedule.issued(), schedule.given_up()), (MAX_BACKLOG as u64 + 5, 5));
    }
}
