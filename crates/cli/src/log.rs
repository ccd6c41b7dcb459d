//! The diagnostic log: why a run does what it does, on standard error (docs/log.md).
//!
//! What happens is told by `tracing` where it is decided, which is in the lab; generator and servers are processes of their own
//! and know nothing of it. This module decides what is shown, and makes text of others harmless.

use std::env;
use std::io::{self, Write};
use std::time::Instant;

use assay_lab::log::TOPICS;
use assay_model::check::CheckOutcome;
use assay_model::verdict::Verdict;
use assay_report::words;
use tracing::info;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::Failure;
use crate::output;

/// Says what is shown, and goes before any `-v`.
const VARIABLE: &str = "ASSAY_LOG";

/// Begins the log, as the variable says, or else as loud as `-v` was given often. Without either there is none.
///
/// # Errors
/// [`Failure::Usage`] when the variable names a topic or a level that does not exist.
pub(crate) fn begin(verbosity: u8) -> Result<(), Failure> {
    let shown = match env::var(VARIABLE) {
        Ok(text) if !text.trim().is_empty() => targets(&text)?,
        _ => Targets::new().with_default(level(verbosity)),
    };
    let lines = fmt::layer().with_ansi(false).with_timer(Since(Instant::now())).with_writer(|| Lines);
    // Fails only where another log has begun in this process.
    tracing_subscriber::registry().with(lines).with(shown).try_init().map_err(|e| Failure::Bug(e.to_string()))
}

/// Whether anything is shown at all.
pub(crate) fn is_on() -> bool {
    LevelFilter::current() != LevelFilter::OFF
}

/// Tells what each warning of a result rests on, and what follows from that.
pub(crate) fn remedies(verdict: &Verdict) {
    let standings = verdict.cells.iter().flat_map(|cell| &cell.standings);
    let of_contenders = standings.flat_map(|of| of.checks.iter().map(|check| (of.contender.as_str(), check)));
    let of_all = verdict.trust.iter().map(|check| ("the run", check));
    for (whose, check) in of_all.chain(of_contenders).filter(|(_, check)| check.outcome != CheckOutcome::Pass)
    {
        let (rule, outcome, found) = (check.rule, check.outcome, words::evidence(check));
        let remedy = words::remedy(check).unwrap_or_else(|| "no remedy is known".to_owned());
        info!(target: "remedy", ?outcome, "{whose}, {rule}: {found}; {remedy}");
    }
}

fn level(verbosity: u8) -> LevelFilter {
    match verbosity {
        0 => LevelFilter::OFF,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    }
}

/// Topics and levels divided by commas: `debug`, `warmup=debug,stop`, `info,window=off`.
fn targets(text: &str) -> Result<Targets, Failure> {
    let refused = |problem: String| {
        Failure::usage(format_args!(
            "{VARIABLE}: {problem}; write off, info or debug, or topics with one, such as info,window=debug. Topics are {}",
            TOPICS.join(", ")
        ))
    };
    let targets: Targets = text.parse().map_err(|_| refused(format!("cannot read `{text}`")))?;
    match targets.iter().find(|(topic, _)| !TOPICS.contains(topic)) {
        Some((unknown, _)) => Err(refused(format!("there is no topic `{unknown}`"))),
        None => Ok(targets),
    }
}

/// Seconds since the log began.
struct Since(Instant);

impl FormatTime for Since {
    fn format_time(&self, out: &mut Writer<'_>) -> std::fmt::Result {
        let elapsed = self.0.elapsed();
        write!(out, "{:4}.{:03}s", elapsed.as_secs(), elapsed.subsec_millis())
    }
}

/// One event after the other, each on a line of its own whatever it holds.
struct Lines;

impl Write for Lines {
    /// The layer hands over a whole event at once.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        output::log(String::from_utf8_lossy(event).trim_end());
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn the_variable_names_topics_and_levels() {
        let shown = targets("info,warmup=debug,window=off").expect("read");
        assert!(shown.would_enable("warmup", &Level::DEBUG) && shown.would_enable("stop", &Level::INFO));
        assert!(!shown.would_enable("stop", &Level::DEBUG) && !shown.would_enable("window", &Level::ERROR));
        assert!(targets("stop").expect("read").would_enable("stop", &Level::DEBUG), "all of a topic");
    }

    #[test]
    fn what_does_not_exist_is_told_with_what_does() {
        let told = |text: &str| targets(text).expect_err("refused").to_string();
        assert!(told("warmpu=debug").contains("no topic `warmpu`") && told("warmpu").contains("warmup, "));
        assert!(told("warmup=much").contains("cannot read `warmup=much`"));
    }

    #[test]
    fn more_of_v_is_louder() {
        assert_eq!([0, 1, 2, 9].map(level).map(|it| it.to_string()), ["off", "info", "debug", "debug"]);
    }
}
