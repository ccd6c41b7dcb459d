//! The live line of a run: contender, round, precision so far, time left. Redrawn between measurements only, so that it
//! takes no CPU from one.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use assay_lab::rounds::{Event, Observer};
use assay_model::experiment::Cell;
use assay_model::record::NotRun;
use assay_model::setting::Setting;
use assay_report::{foreign, format, outlook};
use assay_verdict::Settling;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{log, output};

/// Follows a run on standard error: one line that changes on a terminal, one line a round elsewhere.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    /// Measurements in one round, as far as known.
    per_round: u64,
    round: u32,
    rounds: u32,
    precision: Option<f64>,
    /// How many pairs are settled, in words.
    settled: Option<String>,
    /// When the last round is expected to end.
    ends: Instant,
    contender: String,
    last: String,
}

impl Live {
    /// For a run in which a round has `per_round` measurements.
    pub(crate) fn new(per_round: u64) -> Self {
        // Lines of the log and a line that changes do not go together.
        let bar = (std::io::stderr().is_terminal() && !log::is_on()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:16.cyan/dim} {wide_msg}") {
                bar.set_style(style.progress_chars("━━─"));
            }
            bar
        });
        let now = Instant::now();
        Self {
            bar,
            per_round,
            round: 0,
            rounds: 0,
            precision: None,
            settled: None,
            ends: now,
            contender: String::new(),
            last: String::new(),
        }
    }

    /// Shows what is being done to somebody.
    fn turn_to(&mut self, contender: &str, doing: &str) {
        contender.clone_into(&mut self.contender);
        self.redraw(doing);
    }

    /// A line that stays.
    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(text)),
            None => output::note(text),
        }
    }

    fn warn(&self, contender: &str, what: &str, reason: &NotRun) {
        let text = format!("{contender} {what}: {}", output::reason(reason));
        match &self.bar {
            Some(bar) => bar.suspend(|| output::warning(&text)),
            None => output::warning(&text),
        }
    }

    fn redraw(&self, doing: &str) {
        let Some(bar) = &self.bar else { return };
        let left = self.ends.saturating_duration_since(Instant::now());
        bar.set_message(foreign::line(&self.line(doing, left)));
        bar.tick();
    }

    /// What people wait for stands first: the end of the line is cut where the terminal is narrow.
    fn line(&self, doing: &str, left: Duration) -> String {
        let parts = [
            (!left.is_zero()).then(|| format!("{} left", clock(left))),
            (self.rounds > 0).then(|| format!("round {}/{}", self.round + 1, self.rounds)),
            Some(format!("{} {doing}", self.contender)),
            Some(self.last.clone()).filter(|last| !last.is_empty()),
            self.settled.clone(),
            self.precision.map(precision_so_far),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    fn begin_round(&mut self, index: u32, of: u32) {
        (self.round, self.rounds) = (index, of);
        if let Some(bar) = &self.bar {
            bar.set_length(self.per_round * u64::from(of));
            bar.set_position(self.per_round * u64::from(index));
        }
    }

    fn look_long(&mut self, contenders: usize, length: Duration) {
        self.ends = Instant::now() + length;
        let everybody = if contenders == 1 { "the server" } else { "each server" };
        self.say(&format!(
            "one long look at {everybody}, for slow modes and pauses: {}; Ctrl-C ends it and keeps the rounds",
            clock(length)
        ));
    }

    fn end_round(&mut self, index: u32, of: u32, precision: Option<f64>, left: Duration) {
        self.precision = precision;
        self.ends = Instant::now() + left;
        if self.bar.is_none() {
            let precision = precision.map_or_else(String::new, |p| format!(", {}", precision_so_far(p)));
            let settled = self.settled.as_ref().map_or_else(String::new, |settled| format!(", {settled}"));
            self.say(&format!("round {} of {of} saved{precision}{settled}, {} left", index + 1, clock(left)));
        }
    }
}

impl Observer for Live {
    fn notice(&mut self, event: &Event<'_>) {
        match event {
            Event::Begun { id, prediction, outlook } => {
                self.ends = Instant::now() + prediction.total();
                let power = outlook.map_or_else(String::new, |of| format!("; {}", outlook::sentence(of)));
                let time = clock(prediction.total());
                self.say(&format!("run {id}: {} rounds, about {time}{power}", prediction.rounds));
            }
            Event::StartingDatabase { builds } => {
                let doing = if builds.is_some() { "building and starting" } else { "starting" };
                self.turn_to(builds.unwrap_or("the database"), doing);
            }
            Event::NoDatabase { reason } => self.warn("the database", "is not run", reason),
            Event::DatabaseLeft { problem } => self.say(&left_in_words(problem)),
            Event::Probing { contender } => self.turn_to(contender, "what it needs"),
            Event::Building { contender } => self.turn_to(contender, "building"),
            Event::Checking { contender } => self.turn_to(contender, "what it keeps of HTTP/1.1"),
            Event::Dropped { contender, setting, reason } => {
                self.warn(contender, &on("is not run", setting.as_ref()), reason);
            }
            Event::RoundBegun { index, of } => self.begin_round(*index, *of),
            Event::Split { common } => {
                let joined = common.map(|name| format!(" that share {name}")).unwrap_or_default();
                self.say(&format!(
                    "not all servers can live at once (memory, ports or the database): rounds are split into groups{joined}"
                ));
            }
            Event::Starting { contender } => {
                self.last.clear();
                self.turn_to(contender, "starting and warming up");
            }
            Event::Measuring { cell, .. } => self.redraw(&cell_name(cell)),
            Event::CrossChecking { generator, cell, .. } => {
                self.redraw(&format!("{} under {generator}", cell_name(cell)));
            }
            Event::Measured { per_second, failed, .. } => {
                let failed =
                    if *failed > 0 { format!(", {} failed", format::count(*failed)) } else { String::new() };
                self.last = format!("{}/s{failed}", format::rate(*per_second));
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                }
            }
            Event::Failed { contender, setting, reason } => {
                self.warn(contender, &on("ended early", setting.as_ref()), reason);
            }
            Event::LookingLong { contenders, length } => self.look_long(*contenders, *length),
            Event::NobodyLeft { rounds } => {
                let after = if *rounds == 1 { "one round".to_owned() } else { format!("{rounds} rounds") };
                self.say(&format!("nobody is left to be measured: the run ends after {after}"));
            }
            Event::RoundSaved { index, of, measured, precision, settling, left } => {
                self.settled = match measured {
                    0 => Some("nobody was measured in it".to_owned()),
                    _ => settling.as_ref().map(in_words),
                };
                self.end_round(*index, *of, *precision, *left);
            }
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Half-width of a typical ratio's interval. Two rounds can leave it beyond any use; then it is not a figure yet.
fn precision_so_far(half_width: f64) -> String {
    if half_width > 1.0 {
        "precision not known yet".to_owned()
    } else {
        format!("precision so far ±{}", format::percent(half_width))
    }
}

/// `4 of 6 pairs settled`; of nobody to compare with there is nothing to say.
fn in_words(settling: &Settling) -> String {
    match settling.pairs {
        0 if settling.searches > 0 => "searching".to_owned(),
        0 => "no pairs to settle".to_owned(),
        1 if settling.open == 0 => "the pair settled".to_owned(),
        1 => "the pair open".to_owned(),
        pairs => format!("{} of {pairs} pairs settled", pairs - settling.open),
    }
}

fn cell_name(cell: &Cell) -> String {
    let load = if cell.offered.is_capacity() { String::new() } else { format!(", load {}", cell.offered) };
    let setting = cell.setting();
    let on = if setting == Setting::USUAL { String::new() } else { format!(" on {setting}") };
    format!("{} at {} connections{on}{load}", cell.workload, cell.width())
}

/// What happened, and in which setting where it concerns but one.
fn on(what: &str, setting: Option<&Setting>) -> String {
    setting.map_or_else(|| what.to_owned(), |setting| format!("{what} on {setting}"))
}

/// A span as people say it: `45 s`, `3:05 min`.
pub(crate) fn clock(span: Duration) -> String {
    let seconds = span.as_secs_f64().round() as u64;
    if seconds < 60 { format!("{seconds} s") } else { format!("{}:{:02} min", seconds / 60, seconds % 60) }
}

/// What is said of a database that could not be removed.
pub(crate) fn left_in_words(problem: &str) -> String {
    format!("{problem}; `assay clean --database URL` removes it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_told_before_what_a_narrow_terminal_cuts() {
        let mut live = Live::new(4);
        (live.round, live.rounds, live.contender) = (11, 40, "a-contender-with-a-long-name".to_owned());
        let line = live.line("hello at 64 connections on user/xdp", Duration::from_secs(1265));
        assert_eq!(
            line,
            "21:05 min left · round 12/40 · a-contender-with-a-long-name hello at 64 connections on user/xdp"
        );
        assert!(live.line("building", Duration::ZERO).starts_with("round 12/40"));
    }
}
