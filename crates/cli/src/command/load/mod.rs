//! `assay load`: the bare generator, for people and for the lab.

mod answers;
mod drive;
mod fleet;
mod hdr_log;
mod live;
mod on_request;
mod plan;
mod seconds;
mod server;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_lab::contender::learn::Occasion;
use assay_lab::{Exit, running};
use assay_load::{LoadError, LoadPlan, News};
use assay_model::check::Check;
use assay_model::load::{ErrorClass, LoadReport};
use assay_model::network::Stack;
use assay_report::{foreign, load};
use assay_verdict::{Ending, built, ending_of_load};

use crate::args::LoadArguments;
use crate::command::run::program;
use crate::failure::Failure;
use crate::secrets::secrets;
use crate::{output, signals};
use answers::Answers;
use fleet::Crew;
use live::{LiveLoad, Shown};
use seconds::Seconds;
use server::{Server, Watch};

pub(crate) fn run(arguments: LoadArguments) -> Result<Exit, Failure> {
    if arguments.participant {
        return fleet::participant::run();
    }
    let target = plan::target(&arguments)?;
    // Whoever names the generator's CPUs or hosts has placed both, as the lab does.
    let is_placed = arguments.cpus.is_some() || arguments.lab.is_some() || !arguments.from.is_empty();
    let server = (!is_placed).then(|| Server::at(target));
    let crew = Crew::of(&arguments)?;
    let plan = plan::build(&arguments, target, server.as_ref())?;
    if arguments.on_request {
        return on_request::run(plan, &crew);
    }
    let mut seconds = Seconds::open(arguments.stream.as_deref(), arguments.hdr.as_deref())?;
    let shown = Shown::of(arguments.progress, arguments.json);
    let plan = LoadPlan { seconds: seconds.are_wanted() || shown != Shown::Nothing, ..plan };
    let stop = signals::flag()?;
    crew.check(&plan)?;
    let wanted = Answers::wanted(&arguments, &plan);
    let Some((mut answers, plan)) = wanted.learn(plan, Occasion::First, &stop) else {
        output::note("stopped before the load began: the server had not answered");
        return Ok(Exit::Interrupted);
    };
    let measure = |plan: &LoadPlan, seconds: &mut Seconds| {
        let live = LiveLoad::new(plan, shown, arguments.ascii);
        measure(plan, &crew, server.as_ref(), seconds, live, &stop)
    };
    let mut report = measure(&plan, &mut seconds)?;
    let is_suspicious = report.books.errors.keys().any(|class| class.is_wrong_answer());
    // Seconds that were told cannot be taken back.
    let is_to_be_repeated = is_suspicious && !seconds.are_wanted() && !stop.load(Ordering::Relaxed);
    if is_to_be_repeated && let Some((again, plan)) = answers.clone().learn(plan, Occasion::Later, &stop) {
        let varies_more = again.are_looser_than(&answers);
        answers = again;
        if varies_more {
            output::note("its answers vary: measured once more, without what varies");
            report = measure(&plan, &mut seconds)?;
        }
    }
    report.learnt = answers.learnt;
    secrets().hide_in(&mut report);
    if !arguments.json {
        report.checks.push(build(&report));
    }
    print(&report, &arguments)?;
    let was_interrupted = stop.load(Ordering::Relaxed) && !seconds.are_unread();
    seconds.finish()?;
    let ending = ending_of_load(&report, arguments.strict);
    // Who reads the exit code must know that the measurement was cut short, whatever came back; a server's end cuts it short, too.
    if ending != Ending::ContenderFailed && was_interrupted {
        return Ok(Exit::Interrupted);
    }
    Ok(ending.into())
}

fn measure(
    plan: &LoadPlan,
    crew: &Crew,
    server: Option<&Server>,
    seconds: &mut Seconds,
    mut live: LiveLoad,
    stop: &Arc<AtomicBool>,
) -> Result<LoadReport, Failure> {
    let watch = server.map(|server| server.watch(stop));
    let report = drive::once_only(plan, crew, stop, &mut |news| match news {
        News::Progress(progress) => live.tell_progress(&progress),
        News::Second(second) => {
            live.tell_second(&second);
            if !seconds.write(&second) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        News::Connected | News::Began(_) | News::Turn(_) => {}
    });
    drop(live);
    let seen = watch.map(Watch::finish);
    let mut report = report.map_err(explained)?;
    if let Some(seen) = seen {
        seen.tell(&mut report);
    }
    Ok(report)
}

/// Adds to a refused connection which other server the URL may mean.
fn explained(failure: Failure) -> Failure {
    let Failure::Load(LoadError::Unreachable { target, class: ErrorClass::ConnectRefused, why }) = &failure
    else {
        return failure;
    };
    match running::instead_of(*target) {
        Some(hint) => Failure::Unmeasured {
            exit: Exit::ContenderFailed,
            reason: format!("no connection to {target} could be made: {why}; {hint}"),
        },
        None => failure,
    }
}

/// Whether the generator is optimised for such a load. In JSON a run asks for it, which looks at that itself.
fn build(report: &LoadReport) -> Check {
    let (program, stack) = (program(), if report.stack.is_some() { Stack::User } else { Stack::Kernel });
    built(&program, program.is_optimised_for(report.protocol, stack))
}

/// Prints the report; where standard output carries the stream, people find the summary on standard error.
fn print(report: &LoadReport, arguments: &LoadArguments) -> Result<(), Failure> {
    if arguments.json {
        let text = serde_json::to_value(report).map(assay_report::words::in_words);
        let text = text.map_err(|e| Failure::Bug(e.to_string()))?.to_string();
        output::result(&(foreign::json(&text) + "\n"));
        return Ok(());
    }
    let text = load::summary(report, &plan::asked(arguments), &output::style(arguments.ascii))?;
    if arguments.stream.as_deref() == Some(Path::new("-")) {
        output::note(text.trim_end());
    } else {
        output::result(&text);
    }
    Ok(())
}
