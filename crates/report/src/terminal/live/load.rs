//! The load on one server while it goes on: the last second in figures, how its times spread, and what failed so far.

use std::collections::BTreeMap;

use assay_model::load::ErrorClass;
use assay_stats::Histogram;

use super::{Block, cut, drawn};
use crate::format;
use crate::terminal::{CAUTION, FAINT, HEADING, PLAIN, Page, Style};
use crate::text::width;

/// Rows of the histogram at most.
const ROWS: usize = 8;
/// Columns of a bar at most.
const BAR: usize = 50;
/// Columns of a row of the histogram beside its bar: the time and the share.
const BESIDE: usize = 24;
/// Columns of a label.
const LABEL: usize = 14;
/// Percentiles of the last second.
const QUANTILES: [(f64, &str); 3] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")];
/// The percentile for which a narrow terminal has no room.
const RARE: (f64, &str) = (0.999, "p99.9");

/// What is known of a load that goes on.
#[derive(Clone, Debug, Default)]
pub struct LoadBoard {
    /// How far it is: `4.0 s of 10 s`.
    pub stage: String,
    /// Time until it ends, in nanoseconds; absent where that is not known.
    pub left_ns: Option<u64>,
    /// Connections that are open.
    pub connections: u64,
    /// Requests submitted and not answered.
    pub in_flight: u64,
    /// Right answers since the beginning.
    pub answered: u64,
    /// Share of one CPU that collecting and drawing took so far, 0 to 1.
    pub cpu_share: f64,
    errors: BTreeMap<ErrorClass, u64>,
    last: Option<Last>,
}

/// The last second.
#[derive(Clone, Debug)]
struct Last {
    per_second: f64,
    failed: u64,
    times: Histogram,
    is_response: bool,
}

impl LoadBoard {
    /// Takes note of a second that is over: right answers per second, failures by class, and the times of the right answers: since
    /// they were due where `is_response`, since they were sent otherwise.
    pub fn add_second(
        &mut self,
        per_second: f64,
        errors: &BTreeMap<ErrorClass, u64>,
        times: &Histogram,
        is_response: bool,
    ) {
        for (class, n) in errors {
            *self.errors.entry(*class).or_default() += n;
        }
        let failed = errors.values().sum();
        self.last = Some(Last { per_second, failed, times: times.clone(), is_response });
    }

    /// The lines to show on a terminal of that style, at most `height` of them and none wider than it.
    pub fn lines(&self, style: &Style, height: usize) -> Vec<String> {
        let head = drawn(style, |page| {
            self.status(page);
            self.last_second(page);
            self.so_far(page);
        });
        let body = drawn(style, |page| self.histogram(page));
        let foot = drawn(style, |page| {
            let own = format::percent(self.cpu_share);
            let told = format!(" Ctrl-C ends it and tells what was measured · watching takes {own} of a CPU");
            cut(page, &[(FAINT, told)])
        });
        Block { head, body, foot }.lines(height)
    }

    /// The first line alone, for where there is no terminal.
    pub fn line(&self) -> String {
        let rate =
            self.last.as_ref().map(|last| format!("{}/s in the last second", format::rate(last.per_second)));
        let failed = Some(self.failed()).filter(|n| *n > 0).map(|n| format!("{} failed", format::count(n)));
        let parts = [Some(self.stage.clone()), rate, failed];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    fn status(&self, page: &mut Page) {
        let left = self.left_ns.filter(|left| *left > 0).map(|left| format!("{} left", format::span(left)));
        let parts = [
            left,
            Some(self.stage.clone()),
            Some(format!("{} connections", format::count(self.connections))),
            Some(format!("{} in flight", format::count(self.in_flight))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        cut(page, &[(HEADING, format!(" {}", parts.join(" · ")))]);
    }

    fn last_second(&self, page: &mut Page) {
        let Some(last) = &self.last else { return };
        let mut told = vec![format!("{}/s", format::rate(last.per_second))];
        let quantile = |(q, name): (f64, &str)| {
            let time = last.times.quantile(q)?;
            Some(format!("{name} {}", format::duration(time as f64)))
        };
        told.extend(QUANTILES.into_iter().filter_map(quantile));
        told.extend(last.times.max().map(|max| format!("max {}", format::duration(max as f64))));
        told.extend(quantile(RARE));
        row(page, "last second", &told.join("   "));
    }

    fn so_far(&self, page: &mut Page) {
        let answered = format!("{} answered", format::count(self.answered));
        if self.errors.is_empty() {
            return row(page, "so far", &format!("{answered}, none failed"));
        }
        let one = |(class, n): (&ErrorClass, &u64)| format!("{} {class}", format::count(*n));
        let classes = self.errors.iter().map(one).collect::<Vec<_>>().join(", ");
        let lately = match self.last.as_ref().map_or(0, |last| last.failed) {
            0 => String::new(),
            n => format!(", {} in the last second", format::count(n)),
        };
        let told = format!("{answered}, {} failed: {classes}{lately}", format::count(self.failed()));
        cut(page, &[(FAINT, label("so far")), (CAUTION, told)]);
    }

    fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// How the times of the last second spread, in steps of a factor of two.
    fn histogram(&self, page: &mut Page) {
        let Some(last) = self.last.as_ref().filter(|last| !last.times.is_empty()) else { return };
        let kind = if last.is_response { "response times" } else { "service times" };
        let steps = steps(&last.times);
        let (all, most) = (last.times.count(), steps.iter().map(|(_, count)| *count).max().unwrap_or(1));
        let room = page.style.width.saturating_sub(BESIDE).min(BAR);
        let full = if page.is_ascii() { "#" } else { "█" };
        row(page, kind, "of the last second, from each time to the next");
        for (low, count) in &steps {
            // `as` saturates, and the value is at most `room`.
            let length = (*count as f64 / most as f64 * room as f64).ceil() as usize;
            let time = format::duration(*low as f64);
            let share = format::percent(*count as f64 / all as f64);
            let indent = " ".repeat((LABEL + 1).saturating_sub(width(&page.spell(&time))));
            cut(
                page,
                &[
                    (PLAIN, format!("{indent}{time} ")),
                    (PLAIN, full.repeat(length)),
                    (FAINT, format!(" {share}")),
                ],
            );
        }
    }
}

fn row(page: &mut Page, name: &str, told: &str) {
    cut(page, &[(FAINT, label(name)), (PLAIN, told.to_owned())]);
}

fn label(name: &str) -> String {
    format!(" {name:<0$} ", LABEL)
}

/// How many times lie between one of 1, 2, 5, 10, 20, 50 … nanoseconds and the next, from the shortest to the longest; where rows are
/// few, the longest share the last one.
fn steps(times: &Histogram) -> Vec<(u64, u64)> {
    let mut steps: BTreeMap<u64, u64> = BTreeMap::new();
    for bucket in times.buckets() {
        *steps.entry(step_of(bucket.high)).or_default() += bucket.count;
    }
    let mut steps: Vec<(u64, u64)> = steps.into_iter().collect();
    while steps.len() > ROWS {
        let Some((_, count)) = steps.pop() else { break };
        if let Some(last) = steps.last_mut() {
            last.1 += count;
        }
    }
    steps
}

/// Where the step begins in which a time lies.
fn step_of(ns: u64) -> u64 {
    let decade = 10_u64.pow(ns.max(1).ilog10());
    [5, 2].into_iter().map(|n| n * decade).find(|begin| *begin <= ns).unwrap_or(decade)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_in_steps_that_people_count_in() {
        let mut times = Histogram::new();
        [700, 800, 1100, 1300, 5000].iter().for_each(|ns| times.record(*ns));
        assert_eq!(steps(&times), [(500, 2), (1000, 2), (5000, 1)]);
        assert_eq!([0, 1, 4, 9, 10, 1 << 40].map(step_of), [1, 1, 2, 5, 10, 1_000_000_000_000]);
    }

    #[test]
    fn the_longest_times_share_a_row_where_rows_are_few() {
        let mut times = Histogram::new();
        (0..12).for_each(|power| times.record(1 << power));
        let steps = steps(&times);
        assert_eq!((steps.len(), steps[ROWS - 1]), (ROWS, (200, 4)));
    }
}
