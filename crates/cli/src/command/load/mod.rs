//! `assay load`: the bare generator, for people and for the lab.

mod answers;
mod hdr_log;
mod live;
mod on_request;
mod plan;
mod seconds;
mod server;
mod summary;
mod tls;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_lab::Exit;
use assay_load::{LoadPlan, News};
use assay_model::load::LoadReport;
use assay_report::foreign;
use assay_verdict::ending_of_load;

use crate::args::LoadArguments;
use crate::failure::Failure;
use crate::secrets::secrets;
use crate::{output, signals};
use answers::Answers;
use live::Live;
use seconds::Seconds;
use server::Server;

pub(crate) fn run(arguments: LoadArguments) -> Result<Exit, Failure> {
    let target = plan::target(&arguments)?;
    // Whoever names the generator's CPUs has placed both, as the lab does.
    let server = arguments.cpus.is_none().then(|| Server::at(target));
    let plan = plan::build(&arguments, target, server.as_ref())?;
    if arguments.on_request {
        return on_request::run(plan);
    }
    let mut seconds = Seconds::open(arguments.stream.as_deref(), arguments.hdr.as_deref())?;
    let mut plan = LoadPlan { seconds: seconds.are_wanted(), ..plan };
    let stop = signals::flag()?;
    assay_load::check(&plan)?;
    let mut answers = Answers::learn(&arguments, &mut plan);
    let mut measure = |plan: &LoadPlan| measure(plan, server.as_ref(), &mut seconds, &arguments, &stop);
    let mut report = measure(&plan)?;
    let is_suspicious = report.books.errors.keys().any(|class| class.is_wrong_answer());
    // Seconds that were told cannot be taken back.
    let is_to_be_repeated = is_suspicious && !plan.seconds && !stop.load(Ordering::Relaxed);
    if is_to_be_repeated && answers.are_looser(&mut plan) {
        output::note("its answers vary: measured once more, without what varies");
        report = measure(&plan)?;
    }
    report.learnt = answers.learnt.into_iter().collect();
    secrets().hide_in(&mut report);
    print(&report, &arguments)?;
    seconds.finish()?;
    // Who reads the exit code must know that the measurement was cut short, whatever came back.
    if stop.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    Ok(ending_of_load(&report, arguments.strict).into())
}

fn measure(
    plan: &LoadPlan,
    server: Option<&Server>,
    seconds: &mut Seconds,
    arguments: &LoadArguments,
    stop: &AtomicBool,
) -> Result<LoadReport, Failure> {
    let mut live = Live::new(plan, !arguments.json);
    let watch = server.map(Server::watch);
    let report = assay_load::run(plan, stop, |news| match news {
        News::Progress(progress) => live.draw(&progress),
        News::Second(second) => {
            if !seconds.write(&second) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        News::Connected | News::Turn(_) => {}
    });
    live.clear();
    let mut report = report?;
    if let Some(watch) = watch {
        watch.finish(&mut report);
    }
    Ok(report)
}

/// Prints the report; where standard output carries the stream, people find the summary on standard error.
fn print(report: &LoadReport, arguments: &LoadArguments) -> Result<(), Failure> {
    if arguments.json {
        let text = serde_json::to_value(report).map(assay_report::words::in_words);
        let text = text.map_err(|e| Failure::Bug(e.to_string()))?.to_string();
        output::result(&(foreign::json(&text) + "\n"));
        return Ok(());
    }
    let text = summary::text(report, &plan::asked(arguments), &output::style(arguments.ascii))?;
    if arguments.stream.as_deref() == Some(Path::new("-")) {
        output::note(text.trim_end());
    } else {
        output::result(&text);
    }
    Ok(())
}
