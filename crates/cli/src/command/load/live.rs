//! How far a load is, on standard error: the last second in figures, drawn anew each second, on a terminal; a line each second where
//! that is asked for. The threads under way hand over what they saw once a second; nothing is drawn on their CPU time.
//!
//! What watching costs is the CPU time of the thread that waits for them, which does nothing else: it puts together what they hand
//! over, and draws it.

use std::time::{Duration, Instant};

use assay_engine::clock::thread_cpu;
use assay_load::{LoadPlan, Progress, Second, Span};
use assay_model::load::Phase;
use assay_model::units::Nanos;
use assay_report::format;
use assay_report::terminal::live::LoadBoard;

use crate::{args, output, screen};

/// Longest time between two drawings.
const PAUSE: Duration = Duration::from_secs(1);

/// What is shown while the load goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// What is known now, drawn anew.
    Board,
    /// A line each second.
    Lines,
    Nothing,
}

impl Shown {
    /// What is shown where it is asked for like that; a program that reads the result wants nothing beside it.
    pub(super) fn of(progress: args::Progress, is_for_program: bool) -> Self {
        match progress {
            args::Progress::Plain => Self::Lines,
            args::Progress::Auto if !is_for_program && screen::can_be_drawn_on() => Self::Board,
            args::Progress::Auto | args::Progress::None => Self::Nothing,
        }
    }
}

/// What is known of the load; taken off the screen when dropped.
pub(super) struct LiveLoad {
    shown: Shown,
    ascii: bool,
    board: LoadBoard,
    /// Connections that were asked for.
    connections: u64,
    warmup: Nanos,
    span: Span,
    per_second: Option<f64>,
    /// Requests that were due in the seconds that are over.
    issued: u64,
    drawn: Option<(Instant, Phase)>,
    /// When it was first told of anything, and the CPU time of this thread until then.
    began: Option<(Instant, Nanos)>,
}

impl LiveLoad {
    pub(super) fn new(plan: &LoadPlan, shown: Shown, ascii: bool) -> Self {
        Self {
            shown,
            ascii,
            board: LoadBoard::default(),
            connections: u64::from(plan.connections) + u64::from(plan.idle),
            warmup: plan.warmup,
            span: plan.span,
            per_second: None,
            issued: 0,
            drawn: None,
            began: None,
        }
    }

    /// Takes note of how far it is; draws where that was not done lately, or another part has begun.
    pub(super) fn tell_progress(&mut self, progress: &Progress) {
        self.update(progress);
        self.take_cost();
        let is_fresh = |(at, phase): (Instant, Phase)| at.elapsed() < PAUSE && phase == progress.phase;
        if !self.drawn.is_some_and(is_fresh) {
            self.drawn = Some((Instant::now(), progress.phase));
            self.draw();
        }
    }

    /// Takes note of a second that is over.
    pub(super) fn tell_second(&mut self, second: &Second) {
        let per_second = second.line.length_ns.rate_of(second.line.ok);
        self.per_second = Some(per_second);
        self.issued += second.line.issued;
        let times = second.response.as_ref().unwrap_or(&second.service);
        self.board.add_second(per_second, &second.line.errors, times, second.response.is_some());
        if self.shown == Shown::Lines
            && let Some(line) = self.line_of(second)
        {
            output::note(line);
        }
        self.drawn = None;
    }

    /// What a line says of a second. Nothing is said of the time after the load: the last answers that come in it are no rate.
    fn line_of(&mut self, second: &Second) -> Option<String> {
        let line = &second.line;
        if line.phase == Phase::Drain {
            return None;
        }
        let elapsed = line.offset_ns + line.length_ns;
        let at_its_end = Progress { phase: line.phase, elapsed, issued: self.issued, ..Progress::default() };
        self.board.stage = self.stage(&at_its_end);
        Some(self.board.line())
    }

    fn draw(&self) {
        if self.shown == Shown::Board {
            let size = screen::size();
            screen::draw(self.board.lines(&screen::style(self.ascii, size), size.rows.saturating_sub(1)));
        }
    }

    /// Takes note of what watching has cost so far.
    fn take_cost(&mut self) {
        let cpu = thread_cpu();
        let (since, before) = *self.began.get_or_insert_with(|| (Instant::now(), cpu));
        self.board.cpu_share =
            (cpu - before).as_secs_f64() / since.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
    }

    fn update(&mut self, progress: &Progress) {
        self.board.stage = self.stage(progress);
        self.board.left_ns = self.left(progress).map(|left| left.0);
        self.board.answered = progress.ok;
        self.board.in_flight = progress.in_flight;
        self.board.connections = progress.connections;
    }

    fn stage(&self, progress: &Progress) -> String {
        let of = |done: Nanos, whole: Nanos| {
            format!("{} of {}", format::span(done.min(whole).0), format::span(whole.0))
        };
        match (progress.phase, self.span) {
            (Phase::Connecting, _) => format!("connecting, {} asked for", format::count(self.connections)),
            (Phase::WarmUp, _) => format!("warming up {}", of(progress.elapsed, self.warmup)),
            (Phase::Drain, _) => "waiting for the last answers".to_owned(),
            (Phase::Window, Span::Time(window)) => of(progress.elapsed - self.warmup, window),
            (Phase::Window, Span::Requests(n)) => {
                format!("{} of {} requests", format::count(progress.issued), format::count(n))
            }
        }
    }

    /// Time until the load ends; for a number of requests, going by the last second.
    fn left(&self, progress: &Progress) -> Option<Nanos> {
        match (progress.phase, self.span) {
            (Phase::Connecting | Phase::Drain, _) => None,
            (_, Span::Time(window)) => Some(self.warmup + window - progress.elapsed),
            (_, Span::Requests(n)) => {
                let per_second = self.per_second.filter(|rate| *rate > 0.0)?;
                Some(Nanos::from_secs_f64(n.saturating_sub(progress.issued) as f64 / per_second))
            }
        }
    }
}

impl Drop for LiveLoad {
    fn drop(&mut self) {
        screen::clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::LoadSecond;
    use assay_stats::Histogram;

    fn live(span: Span) -> LiveLoad {
        let target = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        let warmup = Nanos::from_millis(2000);
        let plan = LoadPlan { connections: 9000, warmup, span, ..LoadPlan::new(target, Vec::new()) };
        LiveLoad::new(&plan, Shown::Nothing, false)
    }

    fn at(phase: Phase, elapsed_ms: u64, issued: u64) -> Progress {
        Progress { phase, elapsed: Nanos::from_millis(elapsed_ms), issued, ..Progress::default() }
    }

    #[test]
    fn each_phase_has_its_words() {
        let live = live(Span::Time(Nanos::from_millis(10_000)));
        let stage = |phase, elapsed| live.stage(&at(phase, elapsed, 0));
        assert_eq!(stage(Phase::Connecting, 0), "connecting, 9,000 asked for");
        assert_eq!(stage(Phase::WarmUp, 200), "warming up 0.2 s of 2.0 s");
        assert_eq!(stage(Phase::Window, 4000), "2.0 s of 10 s");
        assert_eq!(stage(Phase::Drain, 12_000), "waiting for the last answers");
        assert_eq!(live.left(&at(Phase::Window, 4000, 0)), Some(Nanos::from_millis(8000)));
        assert_eq!(live.left(&at(Phase::Connecting, 0, 0)), None);
    }

    #[test]
    fn a_line_says_where_its_second_ended_and_none_is_told_of_the_drain() {
        let second = |phase, offset_ms, issued| {
            let (offset_ns, length_ns) = (Nanos::from_millis(offset_ms), Nanos::from_millis(1000));
            let line =
                LoadSecond { offset_ns, length_ns, phase, issued, ok: issued, ..LoadSecond::default() };
            Second { line, service: Histogram::new(), response: None }
        };
        let mut of_time = live(Span::Time(Nanos::from_millis(10_000)));
        of_time.update(&at(Phase::Window, 4900, 0));
        of_time.tell_second(&second(Phase::Window, 4000, 2000));
        let line = of_time.line_of(&second(Phase::Window, 4000, 2000)).unwrap_or_default();
        assert!(line.starts_with("3.0 s of 10 s · ") && line.ends_with("/s in the last second"), "{line}");
        assert_eq!(of_time.line_of(&second(Phase::Drain, 12_000, 4)), None);
        let mut of_requests = live(Span::Requests(5000));
        of_requests.tell_second(&second(Phase::WarmUp, 1000, 500));
        of_requests.tell_second(&second(Phase::Window, 2000, 1500));
        let line = of_requests.line_of(&second(Phase::Window, 2000, 1500)).unwrap_or_default();
        assert!(line.starts_with("2,000 of 5,000 requests · "), "{line}");
    }

    #[test]
    fn requests_that_are_left_take_as_long_as_the_last_second_says() {
        let mut live = live(Span::Requests(5000));
        assert_eq!(live.left(&at(Phase::Window, 3000, 1000)), None);
        live.per_second = Some(2000.0);
        assert_eq!(live.left(&at(Phase::Window, 3000, 1000)), Some(Nanos::from_millis(2000)));
    }
}
