//! How a run tells on standard error how far it is: the standings, drawn anew between measurements, on a terminal; else a line a
//! round. What does not go on as was asked is told on a line that stays, either way.

mod board;
mod words;

use std::time::Duration;

use assay_lab::Stop;
use assay_lab::{Event, Observer};
use assay_model::record::NotRun;
use assay_report::terminal::live::settled_in_words;
use assay_report::words::{count_of, place_of_round};
use assay_verdict::Settling;

use crate::args::Progress;
use crate::{output, screen};
use board::Drawn;
pub(crate) use words::{Length, clock, left_in_words};
use words::{begun, failed, on, precision_so_far};

/// Follows a run on standard error.
pub(crate) struct Live {
    /// The standings, where they are drawn.
    drawn: Option<Drawn>,
    /// Whether lines are told of what goes on as was asked.
    is_told: bool,
    length: Length,
}

impl Live {
    /// For a run of some length that listens to `stop`, which keys may ask for.
    pub(crate) fn new(progress: Progress, ascii: bool, length: Length, stop: &Stop) -> Self {
        let is_drawn = progress == Progress::Auto && screen::can_be_drawn_on();
        Self {
            drawn: is_drawn.then(|| Drawn::begin(ascii, length.is_fixed, stop)),
            is_told: progress != Progress::None,
            length,
        }
    }

    /// A line that stays.
    fn say(&self, text: &str) {
        if self.is_told {
            output::note(text);
        }
    }

    fn warn(&self, contender: &str, what: &str, reason: &NotRun) {
        output::warning(format_args!("{contender} {what}: {}", output::reason(reason)));
    }

    fn look_long(&self, contenders: usize, length: Duration) {
        let everybody = if contenders == 1 { "the server" } else { "each server" };
        self.say(&format!(
            "one long look at {everybody}, for slow modes and pauses: {}; Ctrl-C ends it and keeps the rounds",
            clock(length)
        ));
    }

    /// A line for each round, where the standings are not drawn.
    fn end_round(&self, round: &EndedRound<'_>) {
        if self.drawn.is_some() {
            return;
        }
        let precision = round.precision.map_or_else(String::new, |p| format!(", {}", precision_so_far(p)));
        let settled = match round.measured {
            0 => ", nobody was measured in it".to_owned(),
            _ => round.settling.map_or_else(String::new, |of| format!(", {}", settled_in_words(of))),
        };
        let place = place_of_round(round.index + 1, round.of, self.length.is_fixed);
        let left = clock(round.left);
        self.say(&format!("{place} saved{precision}{settled}, {left} left"));
    }

    /// Tells what is to stay on standard error.
    fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Begun { id, prediction, outlook, .. } => {
                self.say(&format!("run {id}: {}", begun(prediction, *outlook, self.length)));
            }
            Event::NoDatabase { reason } => self.warn("the database", "is not run", reason),
            Event::HostLeft { problem } => output::warning(problem),
            Event::DatabaseLeft { problem } => output::note(left_in_words(problem)),
            Event::Dropped { contender, setting, reason } => {
                self.warn(contender, &on("is not run", setting.as_ref()), reason);
            }
            Event::Split { common } => {
                let joined = common.map(|name| format!(" that share {name}")).unwrap_or_default();
                self.say(&format!(
                    "not all servers can live at once (memory, ports or the database): rounds are split into groups{joined}"
                ));
            }
            Event::Failed { contender, setting, reason } => {
                self.warn(contender, &on(failed(reason.stage), setting.as_ref()), reason);
            }
            Event::Resumed { length } => self.say(&format!("paused for {}", clock(*length))),
            Event::LookingLong { contenders, length } => self.look_long(*contenders, *length),
            Event::NobodyLeft { rounds, left, least } => self.say(&nobody_left(*rounds, *left, *least)),
            Event::RoundSaved { index, of, measured, precision, settling, left } => {
                let (index, of, left, settling) = (*index, *of, *left, settling.as_ref());
                self.end_round(&EndedRound {
                    index,
                    of,
                    measured: *measured,
                    precision: *precision,
                    settling,
                    left,
                });
            }
            _ => {}
        }
    }
}

/// Why a run ends before its time: `left` contenders are left, and it needs `least`.
fn nobody_left(rounds: u32, left: usize, least: usize) -> String {
    let when = match rounds {
        0 => "before its first round".to_owned(),
        rounds => format!("after {}", count_of(rounds as usize, "round")),
    };
    let who = match (left, least) {
        (0, _) => "nobody is left to be measured".to_owned(),
        (1, 2) => "one of two is left, and there is nothing to compare it with".to_owned(),
        (1, least) => format!("one of {least} is left, and there is nothing to compare it with"),
        (left, least) => format!("{left} of {least} are left, too few for what was asked"),
    };
    format!("{who}: the run ends {when}")
}

/// A round that was saved.
struct EndedRound<'a> {
    index: u32,
    of: u32,
    measured: usize,
    precision: Option<f64>,
    settling: Option<&'a Settling>,
    left: Duration,
}

impl Observer for Live {
    fn notice(&mut self, event: &Event<'_>) {
        self.tell(event);
        if let Some(drawn) = &self.drawn {
            drawn.notice(event);
        }
    }

    fn wants_verdicts(&self) -> bool {
        self.drawn.is_some()
    }
}
