//! The measurement second by second: each thread hands its part over, the caller puts the parts together.

use std::collections::VecDeque;

use assay_model::load::{LoadSecond, Phase, SECOND_SCHEMA};
use assay_model::units::Nanos;
use assay_stats::Histogram;

use crate::inspection::Depth;
use crate::outcome_counts::OutcomeCounts;
use crate::schedule::Hours;
use crate::slot::Flight;

const SECOND: Nanos = Nanos::from_millis(1000);

/// One second of a measurement, of all threads.
#[derive(Clone, Debug)]
pub struct Second {
    /// What is told of it.
    pub line: LoadSecond,
    /// Service times of the right answers in it.
    pub service: Histogram,
    /// Response times of the same, under an open model.
    pub response: Option<Histogram>,
}

/// A span of time in one phase, a second long at most. Every thread goes through the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beat {
    number: usize,
    from: Nanos,
    until: Nanos,
}

impl Beat {
    /// The first one of a measurement.
    pub(crate) fn first(hours: &Hours) -> Self {
        Self::starting(0, hours.start, hours)
    }

    /// The one after this, which ended at `until`.
    fn next(self, until: Nanos, hours: &Hours) -> Self {
        Self::starting(self.number + 1, until, hours)
    }

    fn starting(number: usize, from: Nanos, hours: &Hours) -> Self {
        let edge = [hours.window, hours.end].into_iter().filter(|edge| *edge > from).min();
        Self { number, from, until: (from + SECOND).min(edge.unwrap_or(Nanos::MAX)) }
    }

    /// When it is over; `end` is the end of the load as it is known now.
    fn until(&self, end: Nanos) -> Nanos {
        if self.from < end { self.until.min(end) } else { self.until }
    }

    fn phase(&self, hours: &Hours) -> Phase {
        match self.from {
            from if from < hours.window => Phase::WarmUp,
            from if from < hours.end => Phase::Window,
            _ => Phase::Drain,
        }
    }
}

/// Tells a thread when a beat is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metronome {
    hours: Hours,
    beat: Beat,
    /// At the begin of the beat.
    before: Counters,
}

impl Metronome {
    /// Of a load that begins with these counters: what was counted before, as connections were made, is none of its seconds'.
    pub(crate) fn new(hours: Hours, before: Counters) -> Self {
        Self { hours, beat: Beat::first(&hours), before }
    }

    /// When the beat is over, unless the load ends before.
    pub(crate) fn next(&self) -> Nanos {
        self.beat.until
    }

    /// Takes note of the end of the load; returns whether the beat is over at `now`.
    pub(crate) fn is_over(&mut self, now: Nanos, end: Nanos) -> bool {
        self.hours.end = end;
        self.beat.until(end) <= now
    }

    /// Ends the beat, at `now` if it is not over before, and begins the next one.
    pub(crate) fn end(&mut self, now: Nanos, seen: Seen, counters: Counters) -> Part {
        let until = self.beat.until(self.hours.end).min(now);
        let part = Part::new(self.beat, until, &self.hours, seen, [self.before, counters]);
        self.before = counters;
        self.beat = self.beat.next(until, &self.hours);
        part
    }
}

/// What one thread saw in the current beat.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) outcomes: OutcomeCounts,
    pub(crate) service: Histogram,
    pub(crate) response: Option<Histogram>,
}

impl Seen {
    pub(crate) fn new(is_open: bool) -> Self {
        Self {
            outcomes: OutcomeCounts::default(),
            service: Histogram::new(),
            response: is_open.then(Histogram::new),
        }
    }

    /// A request was answered rightly.
    #[inline]
    pub(crate) fn succeeded(&mut self, flight: &Flight, now: Nanos, body_bytes: u64, depth: Depth) {
        self.outcomes.succeed(body_bytes, depth);
        self.service.record((now - flight.sent).0);
        if let Some(response) = &mut self.response {
            response.record((now - flight.intended).0);
        }
    }
}

/// What a thread has counted since its start, and what is in flight and open now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) issued: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) in_flight: u64,
    pub(crate) connections: u64,
}

/// A thread's part of a beat.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) number: usize,
    pub(crate) second: Second,
}

impl Part {
    /// The part of a beat that ended at `until`, from what was seen in it and the counters at its begin and end.
    pub(crate) fn new(
        beat: Beat,
        until: Nanos,
        hours: &Hours,
        seen: Seen,
        [before, after]: [Counters; 2],
    ) -> Self {
        let line = LoadSecond {
            schema: SECOND_SCHEMA.to_owned(),
            offset_ns: beat.from - hours.start,
            length_ns: until - beat.from,
            phase: beat.phase(hours),
            issued: after.issued - before.issued,
            ok: seen.outcomes.ok,
            errors: seen.outcomes.errors(),
            body_bytes: seen.outcomes.body_bytes,
            sent_bytes: after.sent_bytes - before.sent_bytes,
            received_bytes: after.received_bytes - before.received_bytes,
            in_flight: after.in_flight,
            connections: after.connections,
            ..LoadSecond::default()
        };
        Self { number: beat.number, second: Second { line, service: seen.service, response: seen.response } }
    }
}

/// Puts together the seconds that several have told of, threads or generators, each its own in order.
pub struct Seconds {
    tellers: usize,
    /// Beats of which parts are missing, with the number of those that came.
    waiting: VecDeque<(usize, Option<Second>)>,
    /// Number of the first of them.
    first: usize,
}

impl Seconds {
    /// Of so many.
    pub fn new(tellers: usize) -> Self {
        Self { tellers, waiting: VecDeque::new(), first: 0 }
    }

    /// Takes what one of them saw in a second, which was its `number`th, from 0. What comes after the second was told is left out.
    pub fn add(&mut self, number: usize, second: Second) {
        let Some(index) = number.checked_sub(self.first) else { return };
        while self.waiting.len() <= index {
            self.waiting.push_back((0, None));
        }
        let (parts, sum) = &mut self.waiting[index];
        *parts += 1;
        match sum {
            Some(sum) => sum.merge(second),
            None => *sum = Some(second),
        }
    }

    /// The next second that is complete or, at the end, the next one of which there is anything.
    pub fn next(&mut self, is_end: bool) -> Option<Second> {
        let is_complete = self.waiting.front()?.0 == self.tellers;
        if !is_complete && !is_end {
            return None;
        }
        self.first += 1;
        self.waiting.pop_front()?.1.map(Second::with_quantiles)
    }
}

impl Second {
    fn merge(&mut self, other: Self) {
        let (line, theirs) = (&mut self.line, other.line);
        line.length_ns = line.length_ns.max(theirs.length_ns);
        line.issued += theirs.issued;
        line.ok += theirs.ok;
        for (class, n) in theirs.errors {
            *line.errors.entry(class).or_default() += n;
        }
        line.body_bytes += theirs.body_bytes;
        line.sent_bytes += theirs.sent_bytes;
        line.received_bytes += theirs.received_bytes;
        line.in_flight += theirs.in_flight;
        line.connections += theirs.connections;
        self.service.merge(&other.service);
        if let (Some(mine), Some(theirs)) = (&mut self.response, &other.response) {
            mine.merge(theirs);
        }
    }

    fn with_quantiles(mut self) -> Self {
        let times = self.response.as_ref().unwrap_or(&self.service);
        self.line.p50_ns = times.quantile(0.5).map(Nanos);
        self.line.p99_ns = times.quantile(0.99).map(Nanos);
        self.line.max_ns = times.max().map(Nanos);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(start: u64, window: u64, end: u64) -> Hours {
        let ms = Nanos::from_millis;
        Hours { start: ms(start), window: ms(window), end: ms(end) }
    }

    fn beats(hours: &Hours, n: usize) -> Vec<(u64, u64, Phase)> {
        let all = std::iter::successors(Some(Beat::first(hours)), |beat| Some(beat.next(beat.until, hours)));
        let millis = |at: Nanos| (at - hours.start).0 / 1_000_000;
        all.take(n).map(|beat| (millis(beat.from), millis(beat.until), beat.phase(hours))).collect()
    }

    #[test]
    fn beats_are_seconds_cut_at_the_edges_of_the_window() {
        use Phase::{Drain, WarmUp, Window};
        let expected = [
            (0, 1000, WarmUp),
            (1000, 1500, WarmUp),
            (1500, 2500, Window),
            (2500, 3200, Window),
            (3200, 4200, Drain),
        ];
        assert_eq!(beats(&hours(7000, 8500, 10_200), 5), expected);
        let endless = Hours { end: Nanos::MAX, ..hours(7000, 7000, 0) };
        assert_eq!(beats(&endless, 2), [(0, 1000, Window), (1000, 2000, Window)]);
    }

    #[test]
    fn an_end_that_comes_early_cuts_the_beat_that_it_is_in() {
        let ms = Nanos::from_millis;
        let mut metronome = Metronome::new(hours(0, 0, 10_000), Counters::default());
        assert!(!metronome.is_over(ms(299), ms(10_000)) && !metronome.is_over(ms(299), ms(300)));
        assert!(metronome.is_over(ms(300), ms(300)));
        let line = |part: Part| (part.number, part.second.line.length_ns, part.second.line.phase);
        let ended = metronome.end(ms(301), Seen::new(true), Counters::default());
        assert_eq!(line(ended), (0, ms(300), Phase::Window));
        assert_eq!(metronome.next(), ms(1300));
        let ended = metronome.end(ms(400), Seen::new(true), Counters::default());
        assert_eq!(line(ended), (1, ms(100), Phase::Drain));
    }

    #[test]
    fn a_second_is_told_when_all_threads_have_told_theirs() {
        let hours = hours(0, 0, 5000);
        let part = |beat: Beat, ns: u64| {
            let mut seen = Seen::new(false);
            seen.service.record(ns);
            seen.outcomes.succeed(5, Depth::Whole);
            let after = Counters { issued: 2, in_flight: 1, ..Counters::default() };
            Part::new(beat, beat.until, &hours, seen, [Counters::default(), after])
        };
        let one = Beat::first(&hours);
        let two = one.next(one.until, &hours);
        let mut seconds = Seconds::new(2);
        for beat in [one, two] {
            let part = part(beat, 100);
            seconds.add(part.number, part.second);
        }
        assert!(seconds.next(false).is_none());
        seconds.add(0, part(one, 200).second);
        let second = seconds.next(false).unwrap();
        assert_eq!((second.line.ok, second.line.issued, second.line.in_flight), (2, 4, 2));
        assert_eq!((second.line.p50_ns, second.line.max_ns), (Some(Nanos(100)), Some(Nanos(200))));
        assert!(seconds.next(false).is_none());
        assert_eq!(seconds.next(true).unwrap().line.ok, 1);
        assert!(seconds.next(true).is_none());
    }
}
