//! `assay check`: which rules do servers keep?

mod junit;
mod plan;
mod summary;

use assay_lab::Event;
use assay_lab::conformance;
use assay_lab::store::Store;
use assay_lab::{Exit, Stop};
use assay_model::conformance::{CHECK_SCHEMA, CheckReport, CheckedServer};
use assay_model::record::Stage;
use assay_report::foreign;

use crate::args::CheckArguments;
use crate::failure::Failure;
use crate::{command, output, progress, signals};

pub(crate) fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let inquiry = plan::build(arguments)?;
    arguments.consent.to_hosts(inquiry.servers.iter().filter_map(|asked| asked.subject.host()))?;
    let stop = signals::stop(|stop| {
        // There is nothing to finish: once is twice.
        stop.request();
        output::note("stopping");
    })?;
    let mut told = |server: &CheckedServer| {
        if !arguments.json {
            output::result(&summary::server(server, arguments.quiet));
        }
    };
    let store = Store::new(&arguments.places.runs);
    let servers = conformance::check(&inquiry, &store, &mut notice, &stop, &mut told)?;
    let exit = exit(&servers, &stop);
    let unasked = inquiry.servers.iter().skip(servers.len());
    let unasked = unasked.map(|asked| asked.subject.identity.name.clone()).collect();
    show(servers, unasked, arguments)?;
    Ok(exit)
}

fn notice(event: &Event<'_>) {
    match event {
        Event::Building { contender } => output::note(format_args!("building {contender}")),
        Event::StartingDatabase { builds: None } => output::note("starting the database"),
        Event::StartingDatabase { builds: Some(program) } => {
            output::note(format_args!("building and starting {program}"));
        }
        Event::DatabaseLeft { problem } => output::warning(progress::left_in_words(problem)),
        _ => {}
    }
}

/// Tells scripts of the servers that were asked, and everybody of those that were `unasked` when the check was stopped.
fn show(
    servers: Vec<CheckedServer>,
    unasked: Vec<String>,
    arguments: &CheckArguments,
) -> Result<(), Failure> {
    if !unasked.is_empty() {
        output::note(format_args!("not asked: {}", foreign::line(&unasked.join(", "))));
    }
    if let Some(path) = &arguments.junit {
        assay_file::write(path, junit::text(&servers, &unasked)?.as_bytes())?;
    }
    if arguments.json {
        let (schema, assay) = (CHECK_SCHEMA.to_owned(), command::run::program());
        let report = CheckReport { schema, assay, servers, unasked };
        let text = serde_json::to_string_pretty(&report).map_err(|error| Failure::Bug(error.to_string()))?;
        output::result(&(foreign::json(&text) + "\n"));
    } else if servers.len() > 1 {
        output::result(&summary::table(&servers));
    }
    Ok(())
}

/// A server that is not installed is no failure, unless it is the only one.
fn exit(servers: &[CheckedServer], stop: &Stop) -> Exit {
    let stages: Vec<Stage> =
        servers.iter().filter_map(|server| server.not_run.as_ref()).map(|reason| reason.stage).collect();
    let broken = servers.iter().filter_map(|server| server.conformance.as_ref()).any(|c| c.breaks_a_must());
    if stop.is_requested() {
        Exit::Interrupted
    } else if broken || stages.contains(&Stage::Answer) {
        Exit::WrongAnswer
    } else if stages.len() == servers.len() || stages.iter().any(|stage| *stage != Stage::Needs) {
        Exit::ContenderFailed
    } else {
        Exit::Ok
    }
}
