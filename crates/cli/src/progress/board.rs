//! The standings of a run that goes on, on a terminal: kept up to date by what the run tells, drawn between measurements, twice a
//! second at most, and with what keys ask for.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_engine::clock::thread_cpu;
use assay_lab::Event;
use assay_lab::Stop;
use assay_model::experiment::Cell;
use assay_model::units::Nanos;
use assay_report::format;
use assay_report::terminal::live::{Board, Wish};
use rustix::pipe::{PipeFlags, pipe_with};

use super::words::cell_name;
use crate::keys::{Input, Keys, next};
use crate::screen::Size;
use crate::{log, output, screen};

/// Shortest time from one drawing to the next, but for those that a key asks for.
const PAUSE: Duration = Duration::from_millis(500);
/// How often the clocks are drawn anew while nothing is measured.
const TICK: Duration = Duration::from_secs(1);
/// How often while something is.
const SLOW_TICK: Duration = Duration::from_secs(5);

/// The standings, drawn until this is dropped.
pub(super) struct Drawn {
    shared: Arc<Shared>,
    /// Ends the thread when closed.
    alive: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// What the run and the thread that reads keys share.
struct Shared {
    state: Mutex<State>,
    stop: Stop,
    ascii: bool,
    began: Instant,
}

#[derive(Default)]
struct State {
    board: Board,
    /// How long the run will take from the first round on, until that begins.
    ahead: Option<Duration>,
    /// When it is expected to end, by the clock that stands still in pauses.
    ends: Option<Instant>,
    /// Since when something is done that may take a while.
    since: Option<Instant>,
    paused: Option<Instant>,
    has_round: bool,
    is_measuring: bool,
    drawn: Option<(Instant, Size)>,
    /// CPU time of all drawing.
    cpu: Nanos,
}

impl Drawn {
    pub(super) fn begin(ascii: bool, has_fixed_rounds: bool, stop: &Stop) -> Self {
        let mut state = State::default();
        state.board.has_fixed_rounds = has_fixed_rounds;
        let state = Mutex::new(state);
        let shared = Arc::new(Shared { state, stop: stop.clone(), ascii, began: Instant::now() });
        let (pipe, alive) =
            pipe_with(PipeFlags::CLOEXEC).map_or((None, None), |(pipe, alive)| (Some(pipe), Some(alive)));
        let own = Arc::clone(&shared);
        // Without a pipe there are no keys, and clocks are drawn when something happens.
        let thread = pipe.map(|pipe| std::thread::spawn(move || own.attend(&pipe)));
        Self { shared, alive, thread }
    }

    /// Takes note of what the run tells.
    pub(super) fn notice(&self, event: &Event<'_>) {
        let mut state = self.shared.state();
        state.take(event, &self.shared.stop);
        self.shared.draw_if_due(&mut state, PAUSE);
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        screen::clear();
        if log::is_on() {
            let state = self.shared.state();
            let share = format::percent(self.shared.cpu_share(&state));
            let time = format::duration(state.cpu.0 as f64);
            output::note(format_args!("drawing the standings took {time} of CPU time, {share} of one CPU"));
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads keys, and lets the clocks run, until the other end of the pipe is closed.
    fn attend(&self, pipe: &OwnedFd) {
        let keys = Keys::take();
        self.state().board.has_keys = keys.is_some();
        loop {
            match next(keys.as_ref(), pipe, TICK) {
                Input::Keys(typed) => typed.chars().for_each(|key| self.press(key)),
                Input::Nothing => {
                    let mut state = self.state();
                    let least = if state.is_measuring { SLOW_TICK } else { TICK };
                    self.draw_if_due(&mut state, least);
                }
                Input::End => return,
            }
        }
    }

    fn press(&self, key: char) {
        let mut state = self.state();
        match key {
            'q' if state.has_round => {
                self.stop.request_after_round();
                self.stop.pause(false);
            }
            // There is no round to finish yet.
            'q' => self.stop.request(),
            'p' => self.stop.pause(!self.stop.is_paused()),
            '?' => state.board.is_help = !state.board.is_help,
            _ => return,
        }
        self.draw(&mut state, screen::size());
    }

    /// Draws unless that was done just before, on a terminal of the same size.
    fn draw_if_due(&self, state: &mut State, least: Duration) {
        let size = screen::size();
        let is_fresh = |(at, before): (Instant, Size)| at.elapsed() < least && before == size;
        if !state.drawn.is_some_and(is_fresh) {
            self.draw(state, size);
        }
    }

    fn draw(&self, state: &mut State, size: Size) {
        let before = thread_cpu();
        let now = Instant::now();
        let time = state.paused.map_or_else(
            || self.stop.unpaused_now(),
            |since| since.checked_sub(self.stop.paused()).unwrap_or(since),
        );
        let left = state.ends.map(|ends| ends.saturating_duration_since(time));
        state.board.left_ns = left.or(state.ahead).map(nanos);
        state.board.since_ns =
            state.since.map(|since| nanos(now - since)).filter(|since| *since >= nanos(TICK));
        state.board.wish = wish(&self.stop, state.paused);
        state.board.cpu_share = self.cpu_share(state);
        // The cursor needs a line of its own.
        let lines = state.board.lines(&screen::style(self.ascii, size), size.rows.saturating_sub(1));
        screen::draw(lines);
        state.drawn = Some((now, size));
        state.cpu += thread_cpu() - before;
    }

    fn cpu_share(&self, state: &State) -> f64 {
        state.cpu.as_secs_f64() / self.began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl State {
    fn take(&mut self, event: &Event<'_>, stop: &Stop) {
        match event {
            Event::Begun { prediction, .. } => self.ahead = Some(prediction.total()),
            Event::StartingDatabase { builds } => {
                let doing = if builds.is_some() { "building and starting" } else { "starting" };
                self.turn_to(builds.unwrap_or("the database"), doing);
            }
            Event::ProbingNetwork => self.turn_to("the network", "measuring what it carries"),
            Event::Probing { contender } => self.turn_to(contender, "looking for what it needs"),
            Event::Building { contender } => self.turn_to(contender, "building"),
            Event::Checking { contender } => self.turn_to(contender, "asking for the rules of HTTP"),
            Event::Sizing { contender } => self.turn_to(contender, "asking how long its answers are"),
            Event::Starting { contender } => self.turn_to(contender, "starting and warming up"),
            Event::Measuring { contender, cell } => self.measure(contender, cell, &cell_name(cell)),
            Event::CrossChecking { contender, generator, cell } => {
                self.measure(contender, cell, &format!("{} under {generator}", cell_name(cell)));
            }
            Event::Profiling { contender, cell } => {
                self.measure(contender, cell, &format!("{}, profiled", cell_name(cell)));
            }
            Event::WarmedUp { contender, workload, per_second } => {
                self.board.add_warmup(contender, workload, *per_second);
            }
            Event::Turned { contender, per_second, .. } => {
                self.is_measuring = false;
                self.board.add_window(contender, *per_second);
            }
            Event::Measured { contender, per_second, .. } => {
                self.is_measuring = false;
                self.board.add_whole(contender, *per_second);
            }
            Event::Judged { record, verdict } => {
                self.is_measuring = false;
                self.board.judge(record, verdict);
            }
            Event::RoundBegun { index, of } => {
                self.has_round = true;
                (self.board.doing, self.since) = (String::new(), None);
                self.ends = self.ends.or(self.ahead.map(|ahead| stop.unpaused_now() + ahead));
                self.board.begin_round(*index + 1, *of);
            }
            Event::RoundSaved { of, settling, left, index, .. } => {
                self.board.round = Some((*index + 1, *of));
                self.board.settling.clone_from(settling);
                self.ends = Some(stop.unpaused_now() + *left);
            }
            Event::LookingLong { length, .. } => {
                // Whoever wants an end now has no round to wait for.
                (self.has_round, self.board.round) = (false, None);
                self.ends = Some(stop.unpaused_now() + *length);
            }
            Event::Paused => self.paused = Some(Instant::now()),
            Event::Resumed { .. } => self.paused = None,
            Event::NoDatabase { .. }
            | Event::DatabaseLeft { .. }
            | Event::HostLeft { .. }
            | Event::Dropped { .. }
            | Event::Split { .. }
            | Event::Failed { .. }
            | Event::NobodyLeft { .. } => {}
        }
    }

    /// Something is being done to somebody that is no measurement.
    fn turn_to(&mut self, contender: &str, doing: &str) {
        self.is_measuring = false;
        self.since = Some(Instant::now());
        self.board.doing = format!("{contender}: {doing}");
    }

    fn measure(&mut self, contender: &str, cell: &Cell, doing: &str) {
        self.is_measuring = true;
        self.since = None;
        self.board.doing = format!("{contender}: {doing}");
        self.board.turn_to(cell);
    }
}

/// What the person wishes, who has no other means to know that it was understood.
fn wish(stop: &Stop, paused: Option<Instant>) -> Wish {
    match paused {
        _ if stop.is_requested() => Wish::Stop,
        Some(since) => Wish::Paused { seconds: since.elapsed().as_secs() },
        None if stop.is_paused() => Wish::Pause,
        None if stop.ends_with_round() => Wish::LastRound,
        None => Wish::GoOn,
    }
}

fn nanos(span: Duration) -> u64 {
    Nanos::from(span).0
}
