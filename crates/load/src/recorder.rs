//! What one thread saw: outcomes, times, and the flow of requests (docs/method/measures.md#five-times-of-a-request).

use assay_engine::Security;
use assay_fleet::SAMPLES_PER_CLASS;
use assay_model::load::{ErrorClass, ErrorSample};
use assay_model::units::Nanos;
use assay_stats::Histogram;

use crate::flow::{Edges, Flow};
use crate::handshakes::Handshakes;
use crate::inspection::Depth;
use crate::outcome_counts::OutcomeCounts;
use crate::schedule::Due;
use crate::seconds::Seen;
use crate::slot::Flight;

/// Bytes kept of each.
const SAMPLE_BYTES: usize = 64;

/// The evidence of one thread; evidence of several merges.
#[derive(Clone)]
pub(crate) struct Recorder {
    /// From start to end.
    pub(crate) total: OutcomeCounts,
    /// Outcomes inside the window.
    pub(crate) window: OutcomeCounts,
    /// Requests that failed after it.
    pub(crate) failed_later: u64,
    pub(crate) censored: u64,
    pub(crate) times: Times,
    /// Under an open model only.
    pub(crate) waits: Option<Waits>,
    /// Where connections are secured.
    pub(crate) handshakes: Option<Box<Handshakes>>,
    pub(crate) flow: Flow,
    pub(crate) edges: Edges,
    /// Sum of the service times of all requests that ended in the window.
    pub(crate) ended_ns: u128,
    /// Right answers per interval, from when the series was to begin to the window's end.
    pub(crate) series: Vec<u64>,
    pub(crate) samples: Vec<ErrorSample>,
    /// Connections given up because bytes came on them unasked.
    pub(crate) unsolicited: u64,
    /// Requests that were given back and sent once more.
    pub(crate) repeated: u64,
    /// When the last request ended.
    pub(crate) last_end: Nanos,
    /// The present second, if seconds are asked for.
    pub(crate) second: Option<Box<Seen>>,
    interval: Nanos,
    series_start: Nanos,
    interval_end: Nanos,
}

/// Histograms that every model has.
#[derive(Clone, Default)]
pub(crate) struct Times {
    pub(crate) service: Histogram,
    pub(crate) ttfb: Histogram,
    pub(crate) connect: Histogram,
    pub(crate) failed: Histogram,
    /// Of those that failed, the ones that came to an end: all but what is in `censored` too.
    pub(crate) wrong: Histogram,
    /// From the intended time on, of requests that were given up without an answer: a lower bound each.
    pub(crate) censored: Histogram,
}

/// Histograms that need an intended time.
#[derive(Clone, Default)]
pub(crate) struct Waits {
    pub(crate) response: Histogram,
    /// The response time less what the generator was late.
    pub(crate) response_from_sent: Histogram,
    pub(crate) client_lag: Histogram,
    pub(crate) pool_wait: Histogram,
}

impl Recorder {
    pub(crate) fn new(is_open: bool, interval: Nanos) -> Self {
        Self {
            total: OutcomeCounts::default(),
            window: OutcomeCounts::default(),
            failed_later: 0,
            censored: 0,
            times: Times::default(),
            waits: is_open.then(Waits::default),
            handshakes: None,
            flow: Flow::new(),
            edges: Edges::default(),
            ended_ns: 0,
            series: Vec::new(),
            samples: Vec::new(),
            unsolicited: 0,
            repeated: 0,
            last_end: Nanos::ZERO,
            second: None,
            interval,
            series_start: Nanos::MAX,
            interval_end: Nanos::MAX,
        }
    }

    /// Sets the window, and when the series begins.
    pub(crate) fn begin(&mut self, start: Nanos, end: Nanos, series_start: Nanos) {
        self.flow.set_window(start, end);
        (self.series_start, self.interval_end) = (series_start, series_start);
    }

    /// A connection was secured.
    pub(crate) fn secured(&mut self, security: &Security, now: Nanos) {
        let is_in_window = self.flow.contains(now);
        self.handshakes.get_or_insert_default().completed(security, now, is_in_window);
    }

    /// A request was submitted.
    #[inline]
    pub(crate) fn sent(&mut self, now: Nanos) {
        self.flow.enter(now);
    }

    /// A request was answered rightly.
    #[inline]
    pub(crate) fn succeeded(&mut self, flight: &Flight, now: Nanos, body_bytes: u64, depth: Depth) {
        self.left(flight, now);
        self.total.succeed(body_bytes, depth);
        if let Some(second) = &mut self.second {
            second.succeeded(flight, now, body_bytes, depth);
        }
        if self.flow.contains(now) {
            self.window.succeed(body_bytes, depth);
        }
        if now >= self.series_start && self.flow.is_before_end(now) {
            self.count_in_series(now);
        }
        if self.is_measured(flight) {
            self.times.service.record((now - flight.sent).0);
            self.times.ttfb.record((flight.first_byte - flight.sent).0);
            if let Some(waits) = &mut self.waits {
                waits.response.record((now - flight.intended).0);
                waits.response_from_sent.record((now - flight.intended - flight.client_lag()).0);
                waits.record(flight);
            }
        }
    }

    /// A request failed after it was submitted.
    pub(crate) fn failed(&mut self, flight: &Flight, class: ErrorClass, now: Nanos) {
        self.left(flight, now);
        self.failed_unsent(class, 1, now);
        if self.is_measured(flight) {
            self.times.failed.record((now - flight.sent).0);
            if class.is_cut_off() {
                self.times.censored.record((now - self.began(flight)).0);
            } else {
                self.times.wrong.record((now - flight.sent).0);
            }
            if let Some(waits) = &mut self.waits {
                waits.record(flight);
            }
        }
    }

    /// A request was given back by the server, which has not looked at it: its time in flight counts, its end is still to come.
    pub(crate) fn returned(&mut self, flight: &Flight, now: Nanos) {
        self.left(flight, now);
        self.repeated += 1;
    }

    /// A request was still waiting to be submitted when the generator stopped.
    pub(crate) fn unsent(&mut self, due: Due, class: ErrorClass, now: Nanos) {
        self.failed_unsent(class, 1, now);
        self.outlasted(due.intended, now);
    }

    /// Counts `n` requests that failed without having been submitted.
    pub(crate) fn failed_unsent(&mut self, class: ErrorClass, n: u64, now: Nanos) {
        self.total.fail(class, n);
        if let Some(second) = &mut self.second {
            second.outcomes.fail(class, n);
        }
        if self.flow.contains(now) {
            self.window.fail(class, n);
        } else if !self.flow.is_before_end(now) {
            self.failed_later += n;
        }
    }

    /// A request was still unanswered when the generator stopped waiting.
    pub(crate) fn censored(&mut self, flight: &Flight, now: Nanos) {
        self.censored += 1;
        self.edges.note(&self.flow, flight.sent, now);
        self.outlasted(self.began(flight), now);
    }

    /// Keeps a wrong answer for people, if there is room; `detail` is asked for only then.
    pub(crate) fn sample(&mut self, class: ErrorClass, received: &[u8], detail: impl FnOnce() -> String) {
        if self.has_room_for(class) {
            self.keep(class, received, detail());
        }
    }

    fn has_room_for(&self, class: ErrorClass) -> bool {
        self.samples.iter().filter(|sample| sample.class == class).count() < SAMPLES_PER_CLASS
    }

    fn keep(&mut self, class: ErrorClass, received: &[u8], detail: String) {
        let received = printable(&received[..received.len().min(SAMPLE_BYTES)]);
        self.samples.push(ErrorSample { class, detail, received });
    }

    /// Adds what another thread saw.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.window.merge(&other.window);
        self.failed_later += other.failed_later;
        self.censored += other.censored;
        self.times.service.merge(&other.times.service);
        self.times.ttfb.merge(&other.times.ttfb);
        self.times.connect.merge(&other.times.connect);
        self.times.failed.merge(&other.times.failed);
        self.times.wrong.merge(&other.times.wrong);
        self.times.censored.merge(&other.times.censored);
        if let (Some(mine), Some(theirs)) = (&mut self.waits, &other.waits) {
            mine.response.merge(&theirs.response);
            mine.response_from_sent.merge(&theirs.response_from_sent);
            mine.client_lag.merge(&theirs.client_lag);
            mine.pool_wait.merge(&theirs.pool_wait);
        }
        if let Some(theirs) = &other.handshakes {
            self.handshakes.get_or_insert_default().merge(theirs);
        }
        self.flow.merge(&other.flow);
        self.edges.merge(&other.edges);
        self.ended_ns += other.ended_ns;
        self.series.resize(self.series.len().max(other.series.len()), 0);
        for (mine, theirs) in self.series.iter_mut().zip(&other.series) {
            *mine += theirs;
        }
        for sample in &other.samples {
            if self.has_room_for(sample.class) {
                self.samples.push(sample.clone());
            }
        }
        self.unsolicited += other.unsolicited;
        self.repeated += other.repeated;
        self.last_end = self.last_end.max(other.last_end);
    }

    #[inline]
    fn left(&mut self, flight: &Flight, now: Nanos) {
        self.flow.leave(now);
        self.edges.note(&self.flow, flight.sent, now);
        self.ended_ns += if self.flow.contains(now) { u128::from((now - flight.sent).0) } else { 0 };
        self.last_end = self.last_end.max(now);
    }

    /// The end came before the answer.
    fn outlasted(&mut self, began: Nanos, now: Nanos) {
        if self.flow.contains(began) {
            self.times.censored.record((now - began).0);
        }
    }

    /// Whether a request belongs in the histograms: if it *began* in the window, whenever it ends. Of those that end in a window
    /// none has taken longer than from its first request to its end: the slowest would be missing.
    #[inline]
    fn is_measured(&self, flight: &Flight) -> bool {
        self.flow.contains(self.began(flight))
    }

    /// When a request began: when it was due, or in a closed loop, which has nothing due, when it was sent.
    #[inline]
    fn began(&self, flight: &Flight) -> Nanos {
        if self.waits.is_some() { flight.intended } else { flight.sent }
    }

    #[inline]
    fn count_in_series(&mut self, now: Nanos) {
        while now >= self.interval_end {
            self.series.push(0);
            self.interval_end += self.interval;
        }
        if let Some(count) = self.series.last_mut() {
            *count += 1;
        }
    }
}

impl Waits {
    #[inline]
    fn record(&mut self, flight: &Flight) {
        self.client_lag.record(flight.client_lag().0);
        self.pool_wait.record(flight.pool_wait().0);
    }
}

/// Bytes with all outside printable ASCII as `\xNN`.
fn printable(bytes: &[u8]) -> String {
    let escape = |&byte: &u8| match byte {
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    bytes.iter().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(intended: u64, noticed: u64, sent: u64) -> Flight {
        let [intended, noticed, sent] = [intended, noticed, sent].map(Nanos);
        Flight { intended, noticed, issued: sent, sent, first_byte: sent, ..Flight::default() }
    }

    #[test]
    fn a_closed_loop_counts_what_ends_in_the_window_and_times_what_begins_in_it() {
        let mut recorder = Recorder::new(false, Nanos(10));
        recorder.begin(Nanos(100), Nanos(200), Nanos(100));
        for (sent, end) in [(80, 99), (90, 100), (150, 175), (190, 250)] {
            recorder.sent(Nanos(sent));
            recorder.succeeded(&flight(sent, sent, sent), Nanos(end), 5, Depth::Whole);
        }
        assert_eq!((recorder.total.ok, recorder.window.ok, recorder.window.body_bytes), (4, 2, 10));
        assert_eq!((recorder.times.service.count(), recorder.times.service.sum()), (2, 85));
        assert_eq!(recorder.ended_ns, 35);
        [90, 199].iter().for_each(|&sent| recorder.censored(&flight(sent, sent, sent), Nanos(300)));
        assert_eq!((recorder.censored, recorder.times.censored.sum()), (2, 101), "sent in the window");
        assert_eq!(recorder.series, [1, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn failures_after_the_window_are_told_apart_from_those_before_it() {
        let mut recorder = Recorder::new(false, Nanos(10));
        recorder.begin(Nanos(100), Nanos(200), Nanos(100));
        for (sent, end) in [(80, 99), (90, 150), (95, 250), (190, 300)] {
            recorder.sent(Nanos(sent));
            recorder.failed(&flight(sent, sent, sent), ErrorClass::HeadTimeout, Nanos(end));
        }
        assert_eq!((recorder.total.failed(), recorder.window.failed(), recorder.failed_later), (4, 1, 2));
    }

    #[test]
    fn an_open_model_measures_what_was_intended_in_the_window() {
        let mut recorder = Recorder::new(true, Nanos(10));
        recorder.begin(Nanos(100), Nanos(200), Nanos(100));
        recorder.succeeded(&flight(99, 99, 99), Nanos(150), 0, Depth::Whole);
        let answered = Flight { first_byte: Nanos(300), ..flight(199, 209, 239) };
        recorder.succeeded(&answered, Nanos(339), 0, Depth::Whole);
        let waits = recorder.waits.unwrap();
        assert_eq!((recorder.window.ok, recorder.times.service.sum(), waits.response.sum()), (1, 100, 140));
        let sums = [waits.client_lag.sum(), waits.pool_wait.sum(), recorder.times.ttfb.sum()];
        assert_eq!((sums, waits.response_from_sent.sum()), ([10, 30, 61], 130));
    }

    #[test]
    fn what_was_given_up_lasted_at_least_so_long() {
        let mut recorder = Recorder::new(true, Nanos(10));
        recorder.begin(Nanos(100), Nanos(200), Nanos(100));
        for intended in [99, 150] {
            recorder.failed(&flight(intended, 150, 160), ErrorClass::HeadTimeout, Nanos(190));
            recorder.failed(&flight(intended, 150, 160), ErrorClass::Parse, Nanos(190));
            recorder.censored(&flight(intended, 150, 160), Nanos(350));
            let due = Due::new(Nanos(intended), Nanos(150));
            recorder.unsent(due, ErrorClass::UnsentEnd, Nanos(250));
        }
        let censored = &recorder.times.censored;
        assert_eq!((censored.count(), censored.sum()), (3, 40 + 200 + 100));
    }

    #[test]
    fn samples_are_few_and_printable() {
        let mut recorder = Recorder::new(false, Nanos(10));
        for _ in 0..10 {
            recorder.sample(ErrorClass::Parse, &[b'a'; 100], || "x".into());
            recorder.sample(ErrorClass::WrongBody, b"\x00\r\\~", || "y".into());
        }
        let mut twice = recorder.clone();
        twice.merge(&recorder);
        assert_eq!(twice.samples.len(), 2 * SAMPLES_PER_CLASS);
        assert_eq!(twice.samples[0].received.len(), SAMPLE_BYTES);
        assert_eq!(twice.samples[1].received, r"\x00\x0d\~");
    }
}
