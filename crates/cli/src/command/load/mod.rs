//! `assay load`: the bare generator, for people and for the lab.

mod plan;
mod summary;

use std::io::IsTerminal;
use std::sync::atomic::Ordering;

use assay_lab::Exit;
use assay_load::{News, Progress};
use assay_report::format;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::LoadArguments;
use crate::failure::Failure;
use crate::{outcome, output, signals};

pub(crate) fn run(arguments: LoadArguments) -> Result<Exit, Failure> {
    let plan = plan::build(&arguments)?;
    let stop = signals::flag()?;
    let line = live_line(&arguments);
    let report = assay_load::run(&plan, &stop, |news| {
        if let News::Progress(progress) = news {
            draw(line.as_ref(), &progress)
        }
    })?;
    if let Some(line) = &line {
        line.finish_and_clear();
    }
    if arguments.json {
        let text = serde_json::to_string(&report).map_err(|e| Failure::Bug(e.to_string()))?;
        output::result(&(text + "\n"));
    } else {
        output::result(&summary::text(&report, &output::style(arguments.ascii))?);
    }
    // Who reads the exit code must know that the measurement was cut short, whatever came back.
    if stop.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    Ok(outcome::exit_of_errors(report.books.errors.keys()))
}

fn live_line(arguments: &LoadArguments) -> Option<ProgressBar> {
    if arguments.json || !std::io::stderr().is_terminal() {
        return None;
    }
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    line.set_style(ProgressStyle::with_template("{wide_msg}").ok()?);
    Some(line)
}

fn draw(line: Option<&ProgressBar>, progress: &Progress) {
    let Some(line) = line else { return };
    let seconds = progress.elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { progress.ok as f64 / seconds } else { 0.0 };
    line.set_message(format!(
        "{seconds:.0} s · {}/s · {} answered · {} failed · {} connections",
        format::rate(rate),
        format::count(progress.ok),
        format::count(progress.failed),
        format::count(progress.connections),
    ));
}
