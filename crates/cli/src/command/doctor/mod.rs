//! `assay doctor`: is this machine fit, what spoils it, how to mend it.

mod lab;
mod text;

use std::time::Duration;

use assay_engine::{Config, Uring};
use assay_host::doctor::{Facts, IoUring, diagnose, fix, measure};
use assay_lab::Exit;
use assay_model::doctor::{Diagnosis, Fitness, KernelSetting};
use assay_model::units::Nanos;
use assay_report::foreign;

use crate::args::DoctorArguments;
use crate::failure::Failure;
use crate::output;

/// Longest time that is watched.
const MAX_WATCH: Nanos = Nanos(60_000_000_000);

pub(crate) fn run(arguments: &DoctorArguments) -> Result<Exit, Failure> {
    if let Some(file) = &arguments.lab {
        return lab::run(file, arguments);
    }
    if arguments.watch > MAX_WATCH {
        return Err(Failure::usage(
            "--watch: a minute is the most; what comes and goes more slowly shows in the rounds",
        ));
    }
    let mut diagnosis = look(arguments)?;
    if arguments.fix && mend(&fix::settings(&diagnosis)) {
        diagnosis = look(arguments)?;
    }
    if arguments.json {
        print_json(serde_json::to_string_pretty(&diagnosis))?;
    } else {
        output::result(&text::render(&diagnosis, &output::style(arguments.ascii)));
    }
    Ok(exit(&diagnosis, arguments.strict))
}

fn print_json(json: serde_json::Result<String>) -> Result<(), Failure> {
    let json = json.map_err(|error| Failure::Bug(error.to_string()))?;
    output::result(&(foreign::json(&json) + "\n"));
    Ok(())
}

fn look(arguments: &DoctorArguments) -> Result<Diagnosis, Failure> {
    if let Some(root) = &arguments.root {
        if !root.join("proc/cpuinfo").is_file() {
            let text = format!(
                "--root: {} has no file proc/cpuinfo; give a folder that holds a saved /proc and /sys",
                root.display()
            );
            return Err(Failure::usage(text));
        }
        return Ok(diagnose(&Facts::read_saved(root)));
    }
    let facts = Facts::read();
    let measured = measure(&facts.allowed, &facts.pinned(), Duration::from_nanos(arguments.watch.0));
    Ok(diagnose(&Facts { io_uring: try_io_uring(), measured: Some(measured), ..facts }))
}

fn try_io_uring() -> IoUring {
    match Uring::new(Config { max_connections: 1 }) {
        Ok(_) => IoUring::Works,
        Err(error) => IoUring::Fails(error.to_string()),
    }
}

/// Sets what this user may set and tells each step; whether anything was set.
fn mend(settings: &[KernelSetting]) -> bool {
    if settings.is_empty() {
        output::note("nothing to set: what objects here is not mended by a setting");
        return false;
    }
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for setting in settings {
        match fix::apply(setting) {
            Ok(()) => done.push(setting),
            Err(error) => left.push((setting, error)),
        }
    }
    for setting in &done {
        output::note(format_args!("set {} from {} to {}", setting.path, setting.from, setting.to));
    }
    if !done.is_empty() {
        output::note("until the next boot; to take it back:");
        done.iter().for_each(|setting| output::note(format_args!("  {}", fix::undo(setting))));
    }
    for (setting, error) in &left {
        output::warning(format_args!(
            "{} is not set ({error}); as root:\n  {}",
            setting.path,
            fix::command(setting)
        ));
    }
    !done.is_empty()
}

fn exit(diagnosis: &Diagnosis, strict: bool) -> Exit {
    match diagnosis.fitness {
        Fitness::Fit => Exit::Ok,
        Fitness::UsableWithCaution if !strict => Exit::Ok,
        Fitness::UsableWithCaution | Fitness::Unfit => Exit::MachineUnfit,
    }
}
