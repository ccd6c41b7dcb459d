//! The line on a terminal that tells how far a measurement is.

use std::io::IsTerminal;

use assay_load::{LoadPlan, Progress, Span};
use assay_model::load::Phase;
use assay_model::units::Nanos;
use assay_report::format;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Over this time the rate is taken that the line shows.
const RATE_INTERVAL: Nanos = Nanos::from_millis(1000);

/// The live line; there is none where nobody watches.
pub(super) struct Live {
    bar: Option<ProgressBar>,
    connections: u64,
    warmup: Nanos,
    span: Span,
    /// Time and right answers when the rate was taken last.
    mark: (Nanos, u64),
    per_second: Option<f64>,
}

impl Live {
    pub(super) fn new(plan: &LoadPlan, wanted: bool) -> Self {
        let watched = wanted && std::io::stderr().is_terminal();
        let bar = watched.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(
                ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar
        });
        Self {
            bar,
            connections: u64::from(plan.connections) + u64::from(plan.idle),
            warmup: plan.warmup,
            span: plan.span,
            mark: (Nanos::ZERO, 0),
            per_second: None,
        }
    }

    pub(super) fn draw(&mut self, progress: &Progress) {
        let text = self.text(progress);
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        }
    }

    /// Takes the line off the screen.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn text(&mut self, progress: &Progress) -> String {
        let (made, asked) = (format::count(progress.connections), format::count(self.connections));
        if progress.phase == Phase::Connecting {
            return format!("connecting · {made} of {asked} connections");
        }
        let rate =
            self.rate(progress).map_or_else(String::new, |rate| format!(" · {}/s", format::rate(rate)));
        let failed = match progress.failed {
            0 => String::new(),
            n => format!(" · {} failed", format::count(n)),
        };
        let answered = format::count(progress.ok);
        let connections = if made == asked { made } else { format!("{made} of {asked}") };
        format!("{}{rate} · {answered} answered{failed} · {connections} connections", self.stage(progress))
    }

    fn stage(&self, progress: &Progress) -> String {
        let of = |done: Nanos, whole: Nanos| {
            format!("{} of {}", format::span(done.min(whole).0), format::span(whole.0))
        };
        match (progress.phase, self.span) {
            (Phase::Connecting, _) => "connecting".to_owned(),
            (Phase::WarmUp, _) => format!("warming up {}", of(progress.elapsed, self.warmup)),
            (Phase::Drain, _) => "waiting for the last answers".to_owned(),
            (Phase::Window, Span::Time(window)) => of(progress.elapsed - self.warmup, window),
            (Phase::Window, Span::Requests(n)) => {
                format!("{} of {} requests", format::count(progress.issued), format::count(n))
            }
        }
    }

    /// Right answers per second, over about the last second.
    fn rate(&mut self, progress: &Progress) -> Option<f64> {
        let (since, before) = self.mark;
        let span = progress.elapsed - since;
        if span >= RATE_INTERVAL || (self.per_second.is_none() && span > Nanos::ZERO) {
            self.per_second = Some(progress.ok.saturating_sub(before) as f64 / span.as_secs_f64());
        }
        if span >= RATE_INTERVAL {
            self.mark = (progress.elapsed, progress.ok);
        }
        self.per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_has_its_words() {
        let ms = Nanos::from_millis;
        let target = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        let plan = LoadPlan {
            connections: 9000,
            warmup: ms(2000),
            span: Span::Time(ms(10_000)),
            ..LoadPlan::new(target, Vec::new())
        };
        let mut live = Live::new(&plan, false);
        let mut text = |phase, elapsed, ok| {
            live.text(&Progress { phase, elapsed: ms(elapsed), ok, connections: 3211, ..Progress::default() })
        };
        assert_eq!(text(Phase::Connecting, 0, 0), "connecting · 3,211 of 9,000 connections");
        let warm = text(Phase::WarmUp, 200, 1000);
        assert_eq!(warm, "warming up 0.2 s of 2.0 s · 5.00k/s · 1,000 answered · 3,211 of 9,000 connections");
        text(Phase::Window, 3000, 10_000);
        let later = text(Phase::Window, 4000, 12_000);
        assert!(later.starts_with("2.0 s of 10 s · 2.00k/s · 12,000 answered"), "{later}");
        assert!(text(Phase::Drain, 11_000, 12_000).starts_with("waiting for the last answers"));
    }
}
