//! The binary `assay`: arguments in, calls out. The only crate that prints.
//!
//! Results go to standard output, progress and warnings to standard error. Must not know: how anything is measured,
//! judged or drawn.
#![forbid(unsafe_code)]

mod args;
mod ask;
mod browser;
mod command;
mod destination;
mod embedded;
mod failure;
mod keys;
mod live_page;
mod log;
mod output;
mod progress;
mod screen;
mod secrets;
mod signals;

use std::process::ExitCode;
use std::sync::Arc;

use assay_lab::Exit;
use clap::Parser;
use signal_hook::consts::SIGXFSZ;

use args::{Arguments, Command};
use failure::Failure;

fn main() -> ExitCode {
    let exit = match run(command()).and_then(|exit| output::unwritten().map(|()| exit)) {
        Ok(exit) => exit,
        Err(failure) => {
            output::error(&failure);
            failure.exit()
        }
    };
    ExitCode::from(exit.code())
}

/// What the arguments ask for. Three supervisors are started with each server and each generator, so theirs are read without building
/// the description of all commands.
fn command() -> Command {
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(first) if first == "supervise" => Command::Supervise { rest: words.collect() },
        _ => Arguments::try_parse().unwrap_or_else(|error| output::usage(&error)).command,
    }
}

/// Lets a write beyond the limit of a file's size (`ulimit -f`, setrlimit(2)) fail with `EFBIG`, which is told with its remedy, where the
/// signal's default would end the process. A handler rather than SIG_IGN: a handler is reset by exec(2), so whatever is started finds
/// the signal at its default.
fn outlive_size_limits() -> Result<(), Failure> {
    // That it came is told by the write.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(|e| Failure::Bug(e.to_string()))?;
    Ok(())
}

fn run(command: Command) -> Result<Exit, Failure> {
    outlive_size_limits()?;
    if let Some(verbosity) = command.verbosity() {
        log::begin(verbosity)?;
    }
    match command {
        Command::Run(arguments) => command::run::run(arguments),
        Command::Init(arguments) => command::init::run(&arguments),
        Command::New(arguments) => command::new::run(&arguments),
        Command::Plan(arguments) => command::plan::run(&arguments),
        Command::Redline(arguments) => command::redline::run(arguments),
        Command::Why(arguments) => command::why::run(arguments),
        Command::Check(arguments) => command::check::run(&arguments),
        Command::Compare(arguments) => command::compare::run(&arguments),
        Command::Load(arguments) => command::load::run(arguments),
        Command::Serve(arguments) => command::serve::run(&arguments),
        Command::Exec(arguments) => command::exec::run(&arguments),
        Command::Stub(arguments) => command::stub::run(&arguments),
        Command::Show(arguments) => command::show::run(&arguments),
        Command::Report(arguments) => command::report::run(&arguments),
        Command::Export(arguments) => command::export::run(&arguments),
        Command::Import(arguments) => command::import::run(&arguments),
        Command::Doctor(arguments) => command::doctor::run(&arguments),
        Command::List(arguments) => command::list::run(&arguments),
        Command::Completions { shell, output } => command::shell::completions(shell, output.as_deref()),
        Command::Man { output } => command::shell::man(output.as_deref()),
        Command::Clean(arguments) => command::clean::run(&arguments),
        Command::Agent { carry: true, command, .. } => command::agent::carry(&command),
        Command::Agent { parent, work, .. } => command::agent::run(parent.zip(work)),
        Command::Database { address, port } => command::database::run(address, port),
        Command::HoldNetns { link, queues } => command::hold_netns::run(link, queues),
        Command::Supervise { rest } => command::supervise::run(rest),
        Command::Sweep { ring, process } => command::sweep::run(&ring, process),
    }
}
