//! What goes over a link while something is measured, read at short intervals.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_model::link::{Flow, LinkUse};

use crate::device::Counted;
use crate::link::Link;
use crate::middle::Dropped;

/// Time between two readings: short against a window, long against the reading, which takes the kernel some microseconds.
const INTERVAL: Duration = Duration::from_millis(50);

/// A reading that took longer was interrupted in the middle.
const LONGEST_READING: Duration = Duration::from_millis(5);
/// How often a reading that matters is tried.
const TRIES: usize = 10;

/// Counters of both directions, to the server and to the generator, at a time.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Instant,
    counted: [Counted; 2],
}

/// A thread that reads the link's counters until it is told to stop.
#[derive(Debug)]
pub struct Meter {
    link: Link,
    dropped: Option<Dropped>,
    stop: Sender<()>,
    readings: JoinHandle<Vec<Reading>>,
}

impl Meter {
    /// Begins to read the counters of `link`; `None` where nobody counts: on loopback.
    pub fn start(link: &Link) -> Option<Self> {
        link.facts()?;
        let (link, own) = (link.clone(), link.clone());
        // Before anything is sent, so here and not in the thread.
        let (dropped, first) = (link.dropped(), read_surely(&link));
        let (stop, stopped) = channel();
        let readings = std::thread::spawn(move || {
            let mut readings: Vec<Reading> = first.into_iter().collect();
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                readings.extend(read(&link));
            }
            readings.extend(read_surely(&link));
            readings
        });
        Some(Self { link: own, dropped, stop, readings })
    }

    /// What went over it from the start until now; `stretch` is how long the busiest time is to be. `None` where that is not known.
    pub fn finish(self, stretch: Duration) -> Option<LinkUse> {
        drop(self.stop);
        let readings = self.readings.join().ok()?;
        used(&readings, [self.dropped, self.link.dropped()], stretch)
    }
}

/// What went over a link by the readings of its counters, and by what it had dropped before and after. A count that could not be read
/// is no zero: without it nobody knows whether anything was lost.
fn used(readings: &[Reading], dropped: [Option<Dropped>; 2], stretch: Duration) -> Option<LinkUse> {
    let [before, after] = [dropped[0]?, dropped[1]?];
    let flow = |direction: usize| {
        let series = readings.iter().map(|reading| (reading.at, reading.counted[direction]));
        let since =
            |of: fn(&Dropped) -> [u64; 2]| of(&after)[direction].saturating_sub(of(&before)[direction]);
        Flow {
            lost_frames: since(|dropped| dropped.lost),
            overflowed_frames: since(|dropped| dropped.overflowed),
            ..flow(&series.collect::<Vec<_>>(), stretch)
        }
    };
    Some(LinkUse { to_server: flow(0), to_generator: flow(1) })
}

/// Reads both counters; `None` when nobody counts, or when it took so long that nobody knows when it was.
fn read(link: &Link) -> Option<Reading> {
    let at = Instant::now();
    let counted = link.counted()?;
    (at.elapsed() < LONGEST_READING).then_some(Reading { at, counted })
}

/// The first and the last reading say how much went over the link in all, so they are worth another try.
fn read_surely(link: &Link) -> Option<Reading> {
    (0..TRIES).find_map(|_| read(link))
}

fn flow(series: &[(Instant, Counted)], stretch: Duration) -> Flow {
    let (Some((_, first)), Some((_, last))) = (series.first(), series.last()) else { return Flow::default() };
    let bytes = last.bytes.saturating_sub(first.bytes);
    let packets = last.packets.saturating_sub(first.packets);
    Flow { bytes, packets, peak_bytes_per_second: peak(series, stretch), ..Flow::default() }
}

/// The highest rate over stretches that are at least so long; zero when none is.
fn peak(series: &[(Instant, Counted)], stretch: Duration) -> f64 {
    let rate_from = |start: usize| {
        let (since, before) = series[start];
        let (until, after) = series[start..].iter().find(|(at, _)| at.duration_since(since) >= stretch)?;
        let bytes = after.bytes.saturating_sub(before.bytes);
        Some(bytes as f64 / until.duration_since(since).as_secs_f64().max(f64::MIN_POSITIVE))
    };
    (0..series.len()).filter_map(rate_from).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings every 50 ms of a flow that carries 1,000 bytes in each of `busy`, and none before and after.
    fn series(before: usize, busy: usize, after: usize) -> Vec<(Instant, Counted)> {
        let start = Instant::now();
        let at = |index: usize| start + INTERVAL * u32::try_from(index).expect("few");
        let bytes = |index: usize| 1_000 * index.saturating_sub(before).min(busy) as u64;
        let counted = |index: usize| Counted { bytes: bytes(index), packets: 7 + bytes(index) };
        (0..=before + busy + after).map(|index| (at(index), counted(index))).collect()
    }

    #[test]
    fn idle_time_around_the_window_does_not_dilute_it() {
        let flow = flow(&series(5, 10, 7), INTERVAL * 10);
        assert_eq!((flow.bytes, flow.packets), (10_000, 10_000));
        assert!((flow.peak_bytes_per_second - 20_000.0).abs() < 1.0, "{flow:?}");
    }

    #[test]
    fn what_is_shorter_than_a_stretch_has_no_peak() {
        assert_eq!(peak(&series(0, 3, 0), INTERVAL * 4), 0.0);
        assert_eq!(flow(&[], INTERVAL), Flow::default());
    }

    #[test]
    fn a_count_that_could_not_be_read_is_no_zero() {
        let dropped = |lost| Dropped { lost: [lost, 0], overflowed: [0, 2 * lost] };
        let (before, after) = (dropped(3), dropped(8));
        let told = used(&[], [Some(before), Some(after)], INTERVAL).expect("both are known");
        assert_eq!((told.to_server.lost_frames, told.to_generator.overflowed_frames), (5, 10));
        for unread in [[None, Some(after)], [Some(before), None], [None, None]] {
            assert_eq!(used(&[], unread, INTERVAL), None);
        }
    }

    #[test]
    fn nobody_counts_on_loopback() {
        assert!(Meter::start(&Link::loopback()).is_none());
    }
}
