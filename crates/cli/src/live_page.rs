//! The page of a run while it goes on: served on this machine, silent while anything is measured.

use std::path::Path;
use std::time::{Duration, Instant};

use assay_lab::{Event, Observer};
use assay_live::Edition;
use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_model::verdict::Verdict;
use assay_report::html::{self, LiveEdition};
use assay_report::page::PageRun;
use assay_report::words::place_of_round;
use assay_report::{foreign, format};

use crate::failure::Failure;
use crate::progress::clock;
use crate::secrets::secrets;
use crate::{browser, output};

/// Shortest time between two words on turns: each makes the browser draw, on the CPUs of this machine unless it is elsewhere.
const TURNS_APART: Duration = Duration::from_secs(5);

/// The page that leads a browser to the served one. It goes with the run.
const ENTRANCE: &str = "live.html";

/// A run's page that is being served.
pub(crate) struct LivePage {
    server: assay_live::LivePage,
    ongoing: Ongoing,
    said: Option<Instant>,
    /// Whether it is shown in a browser.
    is_opened: bool,
}

impl LivePage {
    /// Serves on this port of loopback, or on a free one where it is 0; nobody is answered before the run has begun.
    pub(crate) fn begin(port: u16, has_fixed_rounds: bool, is_opened: bool) -> Result<Self, Failure> {
        let server = assay_live::LivePage::begin(port)?;
        Ok(Self {
            server,
            ongoing: Ongoing { has_fixed_rounds, ..Ongoing::default() },
            said: None,
            is_opened,
        })
    }

    pub(crate) fn address(&self) -> &str {
        self.server.address()
    }

    /// Hands the report over to all who watch; after that the page needs nobody any more.
    pub(crate) fn end(self, run: PageRun<'_>, report: &str) -> Result<(), Failure> {
        let LiveEdition { html, update } = html::ended(run, report)?;
        self.server.speak();
        Ok(self.server.end(&Edition { html: &html, update: &update })?)
    }

    /// What cannot be drawn now is an error at the end of the run.
    fn show(&self, record: &Record, verdict: &Verdict) {
        if let Ok(LiveEdition { html, update }) = html::live(record, verdict) {
            let _ = self.server.show(&Edition { html: &html, update: &update });
        }
    }

    /// Has a browser open a page in `work` that leads here: the key of the address must not stand in the arguments of processes, which
    /// every user of this machine can read.
    fn open(&self, work: &Path) {
        let entrance = work.join(ENTRANCE);
        if let Err(error) = assay_file::write_private(&entrance, entrance_to(self.address()).as_bytes()) {
            return output::warning(error);
        }
        // Some desktops wait until the browser is closed.
        std::thread::spawn(move || browser::open(&entrance).map_err(output::warning));
    }

    fn say(&mut self, event: &Event<'_>) {
        let is_turn = matches!(event, Event::Turned { .. });
        if self.ongoing.take(event) && !(is_turn && self.said.is_some_and(|at| at.elapsed() < TURNS_APART)) {
            self.server.say(&foreign::line(&secrets().hide(&self.ongoing.words(Instant::now()))));
            self.said = Some(Instant::now());
        }
    }
}

impl Observer for LivePage {
    fn notice(&mut self, event: &Event<'_>) {
        if matches!(event, Event::Measuring { .. } | Event::CrossChecking { .. } | Event::Profiling { .. }) {
            return self.server.hush();
        }
        self.server.speak();
        if let Event::Begun { work, .. } = event
            && self.is_opened
        {
            self.open(work);
        }
        match event {
            Event::Judged { record, verdict } => self.show(record, verdict),
            _ => self.say(event),
        }
    }

    fn wants_verdicts(&self) -> bool {
        true
    }
}

/// The followers of a run: the terminal, and the page where there is one.
pub(crate) struct Followers<'f> {
    pub(crate) terminal: &'f mut dyn Observer,
    pub(crate) page: Option<&'f mut LivePage>,
}

impl Observer for Followers<'_> {
    fn notice(&mut self, event: &Event<'_>) {
        self.terminal.notice(event);
        // Last, because it is to be silent from here to the end of a window.
        if let Some(page) = &mut self.page {
            page.notice(event);
        }
    }

    fn wants_verdicts(&self) -> bool {
        self.page.is_some() || self.terminal.wants_verdicts()
    }
}

/// How far the run is.
#[derive(Default)]
struct Ongoing {
    round: Option<(u32, u32)>,
    has_fixed_rounds: bool,
    doing: String,
    /// When the last round is expected to end.
    ends: Option<Instant>,
}

impl Ongoing {
    /// Takes note of an event; `false` when there is nothing new to be said.
    fn take(&mut self, event: &Event<'_>) -> bool {
        let left = |left: Duration| Some(Instant::now() + left);
        let doing = match event {
            Event::Begun { prediction, .. } => {
                self.ends = left(prediction.total());
                "preparing".to_owned()
            }
            Event::StartingDatabase { .. } => "starting the database".to_owned(),
            Event::ProbingNetwork => "measuring the network between hosts".to_owned(),
            Event::Probing { contender } => format!("{contender}: looking for what it needs"),
            Event::Building { contender } => format!("{contender}: building"),
            Event::Checking { contender } => format!("{contender}: asking for the rules of HTTP"),
            Event::Sizing { contender } => format!("{contender}: asking how long its answers are"),
            Event::Starting { contender } => format!("{contender}: starting and warming up"),
            Event::RoundBegun { index, of } => {
                self.round = Some((index + 1, *of));
                "measuring".to_owned()
            }
            Event::Turned { contender, cell, per_second, .. }
            | Event::Measured { contender, cell, per_second, .. } => measured(contender, cell, *per_second),
            Event::Paused => "paused".to_owned(),
            Event::LookingLong { length, .. } => {
                (self.round, self.ends) = (None, left(*length));
                "one long look at each server".to_owned()
            }
            Event::RoundSaved { left: rest, .. } => {
                self.ends = left(*rest);
                "the round is saved".to_owned()
            }
            _ => return false,
        };
        self.doing = doing;
        true
    }

    /// `round 2 of about 4 · nginx: 78.0k/s on hello at 64 connections · about 1:20 min left`.
    fn words(&self, now: Instant) -> String {
        let left = self.ends.map(|ends| ends.saturating_duration_since(now)).filter(|left| !left.is_zero());
        let parts = [
            self.round.map(|(round, of)| place_of_round(round, of, self.has_fixed_rounds)),
            Some(self.doing.clone()),
            left.map(|left| format!("about {} left", clock(left))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

/// A page that leads to `address`, which is one of ours and holds no markup.
fn entrance_to(address: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<title>assay</title>\n<p><a href=\"{address}\">The live \
         page</a></p>\n</html>\n"
    )
}

fn measured(contender: &str, cell: &Cell, per_second: f64) -> String {
    format!("{contender}: {}/s on {cell}", format::rate(per_second))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn while_a_window_is_measured_nobody_is_answered() {
        let mut page = LivePage::begin(0, true, false).expect("a page");
        let edition = |html| Edition { html, update: "{}" };
        page.server.show(&edition("first")).expect("shown");
        let (host, path) = page.address()["http://".len()..].split_once('/').expect("a path");
        let (host, path) = (host.to_owned(), path.to_owned());
        let cell = Cell::closed("hello", 64);
        page.notice(&Event::Measuring { contender: "nginx", cell: &cell });
        let mut asking = TcpStream::connect(&host).expect("connected");
        write!(asking, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("asked");
        page.server.show(&edition("second")).expect("shown");
        page.notice(&Event::Turned { contender: "nginx", cell: &cell, per_second: 1.0, failed: 0 });
        let mut answer = String::new();
        asking.read_to_string(&mut answer).expect("answered");
        assert!(answer.ends_with("second"), "it was answered after the window: {answer}");
    }

    #[test]
    fn the_page_says_how_far_the_run_is() {
        let mut ongoing = Ongoing::default();
        let now = Instant::now();
        assert!(ongoing.take(&Event::Building { contender: "nginx" }));
        assert_eq!(ongoing.words(now), "nginx: building");
        assert!(ongoing.take(&Event::RoundBegun { index: 1, of: 4 }));
        let cell = Cell::closed("hello", 64);
        let turned = Event::Turned { contender: "nginx", cell: &cell, per_second: 78_000.0, failed: 0 };
        assert!(ongoing.take(&turned));
        ongoing.ends = Some(now + Duration::from_secs(80));
        assert_eq!(
            ongoing.words(now),
            format!("round 2 of about 4 · nginx: 78.0k/s on {cell} · about 1:20 min left")
        );
        ongoing.has_fixed_rounds = true;
        assert!(ongoing.words(now).starts_with("round 2 of 4 · "));
        assert!(!ongoing.take(&Event::Split { common: None }));
    }
}
