//! A trend as a small drawing: one place for each run, in their order; what a place shows is told in its title.

use std::fmt::Write as _;

use super::trend::{Point, Trend};
use super::{Listed, day};
use crate::foreign::markup;
use crate::format;

const WIDTH: f64 = 280.0;
const HEIGHT: f64 = 96.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 272.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 84.0;
/// Least height of the scale, as a share of the middle: a trend of a thousandth must not fill the drawing.
const LEAST_SPAN: f64 = 0.1;
/// Marks that tell machines apart, then from the first again.
const MARKS: usize = 4;

/// From figures to places.
struct Scale {
    runs: usize,
    low: f64,
    high: f64,
}

impl Scale {
    fn of(runs: usize, points: &[Point]) -> Self {
        let rates = || points.iter().filter_map(|point| point.rate);
        let low = rates().map(|rate| rate.low).fold(f64::INFINITY, f64::min);
        let high = rates().map(|rate| rate.high).fold(0.0, f64::max);
        if !low.is_finite() {
            return Self { runs, low: 0.0, high: 1.0 };
        }
        let (middle, half) = (low.midpoint(high), (high - low) / 2.0);
        let half = half.max(middle * LEAST_SPAN / 2.0) * 1.08;
        Self { runs, low: (middle - half).max(0.0), high: middle + half }
    }

    fn x(&self, run: usize) -> f64 {
        let steps = self.runs.saturating_sub(1);
        if steps == 0 {
            LEFT.midpoint(RIGHT)
        } else {
            LEFT + 8.0 + (RIGHT - LEFT - 16.0) * run as f64 / steps as f64
        }
    }

    fn y(&self, per_second: f64) -> f64 {
        let span = (self.high - self.low).max(f64::MIN_POSITIVE);
        BOTTOM - (per_second - self.low) / span * (BOTTOM - TOP)
    }
}

/// One trend over all runs of the index.
pub(super) fn trend(runs: &[Listed<'_>], trend: &Trend) -> String {
    let scale = Scale::of(runs.len(), &trend.points);
    let label = format!("{}: {} runs", trend.name, trend.points.len());
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n\
         <path class=\"axis\" d=\"M{LEFT} {TOP}H{RIGHT}M{LEFT} {BOTTOM}H{RIGHT}\"/>\n\
         <text x=\"{at}\" y=\"{}\">{}</text><text x=\"{at}\" y=\"{}\">{}</text>\n",
        markup(&label),
        TOP + 4.0,
        format::rate(scale.high),
        BOTTOM + 4.0,
        format::rate(scale.low),
        at = LEFT - 6.0,
    );
    lines(&scale, &trend.points, &mut out);
    trend.points.iter().for_each(|point| draw(runs, &scale, point, &mut out));
    out + "</svg>\n"
}

/// A line for each machine, through its own runs only.
fn lines(scale: &Scale, points: &[Point], out: &mut String) {
    let machines = points.iter().map(|point| point.machine).max().map_or(0, |last| last + 1);
    for machine in 0..machines {
        let own = points.iter().filter(|point| point.machine == machine);
        let places = own.filter_map(|point| Some((scale.x(point.run), scale.y(point.rate?.estimate))));
        let places: Vec<String> = places.map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        if places.len() > 1 {
            let _ = writeln!(out, "<path class=\"line\" d=\"M{}\"/>", places.join("L"));
        }
    }
}

fn draw(runs: &[Listed<'_>], scale: &Scale, point: &Point, out: &mut String) {
    let run = &runs[point.run];
    let x = scale.x(point.run);
    let (inside, told) = match point.rate {
        Some(rate) => {
            let of = format::rate_interval(&rate);
            let bar = if rate.confidence > 0.0 {
                format!(
                    "<path class=\"bar\" d=\"M{x:.1} {:.1}V{:.1}\"/>",
                    scale.y(rate.low),
                    scale.y(rate.high)
                )
            } else {
                String::new()
            };
            (
                bar + &mark(point.machine, x, scale.y(rate.estimate), "mark"),
                format!("{} {}", of.estimate, of.interval),
            )
        }
        None => {
            let why = point.withheld.as_deref().unwrap_or("no figure");
            (mark(point.machine, x, BOTTOM, "mark hollow"), format!("withheld: {why}"))
        }
    };
    let title = markup(&format!("{} ({}): {told}", day(run.record), run.record.id));
    let inside = format!("<g><title>{title}</title>{inside}</g>");
    let _ = match &run.href {
        Some(href) => writeln!(out, "<a href=\"{}\">{inside}</a>", markup(href)),
        None => writeln!(out, "{inside}"),
    };
}

/// The sign of a machine: disc, square, diamond, triangle.
fn mark(machine: usize, x: f64, y: f64, class: &str) -> String {
    let (machine, r) = (machine % MARKS, 3.6);
    match machine {
        0 => format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\"/>"),
        1 => format!("<path class=\"{class}\" d=\"M{:.1} {:.1}h6.6v6.6h-6.6z\"/>", x - 3.3, y - 3.3),
        2 => format!("<path class=\"{class}\" d=\"M{x:.1} {:.1}l4.6 4.6l-4.6 4.6l-4.6 -4.6z\"/>", y - 4.6),
        _ => format!("<path class=\"{class}\" d=\"M{x:.1} {:.1}l4.4 7.4h-8.8z\"/>", y - 4.4),
    }
}

/// The sign of a machine by itself, for a legend.
pub(super) fn key(machine: usize) -> String {
    format!(
        "<svg class=\"key\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">{}</svg>",
        mark(machine, 6.0, 6.0, "mark")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::verdict::Interval;

    fn point(run: usize, machine: usize, estimate: f64) -> Point {
        let rate = Interval { estimate, low: estimate * 0.99, high: estimate * 1.01, confidence: 0.95 };
        Point { run, machine, rate: Some(rate), withheld: None }
    }

    #[test]
    fn lines_join_only_runs_of_one_machine() {
        let points = [point(0, 0, 100.0), point(1, 1, 50.0), point(2, 0, 101.0), point(3, 2, 70.0)];
        let mut out = String::new();
        lines(&Scale::of(4, &points), &points, &mut out);
        assert_eq!((out.matches("<path").count(), out.matches('L').count()), (1, 1), "{out}");
    }

    #[test]
    fn a_scale_holds_all_intervals_and_does_not_blow_up_noise() {
        let steady = [point(0, 0, 100.0), point(1, 0, 100.1)];
        let scale = Scale::of(2, &steady);
        assert!((scale.high - scale.low) / 100.0 >= LEAST_SPAN);
        let wide = [point(0, 0, 10.0), point(1, 0, 100.0)];
        let scale = Scale::of(2, &wide);
        let places = wide
            .iter()
            .filter_map(|point| point.rate)
            .flat_map(|rate| [scale.y(rate.low), scale.y(rate.high)]);
        assert!(places.into_iter().all(|y| (TOP..=BOTTOM).contains(&y)));
        let none = Point { rate: None, ..point(0, 0, 1.0) };
        assert!(Scale::of(1, &[none]).y(0.5).is_finite());
    }
}
