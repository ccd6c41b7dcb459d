//! A soak: servers on our own TCP stack under load for a long time, with thousands of connections that open and close and every
//! byte checked. What it asks: is memory flat, is nothing wrong, does nothing stand still, is nothing left.

mod memory;
mod subject;
mod trial;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;

use crate::measure::Testbed;
use crate::measure::cable::create_cable;
use subject::{SUBJECTS, Subject};
use trial::{Trial, Wire};

#[derive(Args)]
pub(crate) struct Options {
    /// Length of all trials together
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "seconds")]
    minutes: u64,
    /// How long to go on, in seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Connections that are open at a time
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    connections: u32,
    /// One server instead of all that are there
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
}

impl Options {
    fn length(&self) -> Duration {
        self.seconds.map_or(Duration::from_secs(self.minutes * 60), Duration::from_secs)
    }
}

/// Soaks every server that is there on every wire that is to be had, one after the other.
///
/// # Errors
/// What was not as it should be, or kept a trial from running.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), Vec<String>> {
    let fault = |error: String| vec![format!("soak: {error}")];
    let testbed = Testbed::take(root).map_err(fault)?;
    let library = build_library(root).map_err(fault)?;
    let subjects: Vec<&Subject> = SUBJECTS.iter().filter(|subject| is_wanted(subject, options)).collect();
    let has_cable = can_have_cable();
    let wires: &[Wire] = if has_cable { &[Wire::Ring, Wire::Xdp] } else { &[Wire::Ring] };
    let trials: Vec<_> =
        wires.iter().flat_map(|wire| subjects.iter().map(move |one| (*wire, *one))).collect();
    let length = options.length() / u32::try_from(trials.len().max(1)).unwrap_or(u32::MAX);
    println!("{} trials of {} s each; {}", trials.len(), length.as_secs(), testbed.statement);
    let mut findings = Vec::new();
    for (wire, subject) in trials {
        testbed.go_on().map_err(fault)?;
        let trial = Trial {
            testbed: &testbed,
            library: &library,
            subject,
            wire,
            length,
            connections: options.connections,
        };
        let found = soak(&trial).unwrap_or_else(|error| vec![error]);
        findings.extend(
            found.into_iter().map(|finding| format!("{} on {}: {finding}", subject.name, wire.name())),
        );
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

fn is_wanted(subject: &Subject, options: &Options) -> bool {
    if options.server.as_ref().is_some_and(|name| name != subject.name) {
        return false;
    }
    let missing = subject.tool.filter(|tool| tool.find().is_none());
    if let Some(tool) = missing {
        println!("skipped: {}", tool.advice());
    }
    missing.is_none()
}

/// Runs a trial, for AF_XDP in a network of its own, which ends with the thread and its processes.
fn soak(trial: &Trial<'_>) -> Result<Vec<String>, String> {
    let within = || {
        if trial.wire == Wire::Xdp {
            create_cable()?;
        }
        trial.run()
    };
    let result = std::thread::scope(|scope| scope.spawn(within).join());
    result.unwrap_or_else(|_| Err("the trial panicked".to_owned()))
}

fn can_have_cable() -> bool {
    let tried = std::thread::scope(|scope| scope.spawn(create_cable).join());
    let problem = match tried {
        Ok(Ok(())) => return true,
        Ok(Err(problem)) => problem,
        Err(_) => "the attempt panicked".to_owned(),
    };
    println!("skipped: xdp: {problem}; it needs root's rights and iproute2");
    false
}

fn build_library(root: &Path) -> Result<PathBuf, String> {
    let arguments = ["build", "--quiet", "--release", "--locked", "-p", "assay-preload"];
    let built = Command::new("cargo").args(arguments).current_dir(root).status();
    let library = root.join("target/release/libassay_preload.so");
    match built {
        Ok(status) if status.success() && library.is_file() => Ok(library),
        Ok(_) => Err("the preload library does not compile; see above".into()),
        Err(error) => Err(format!("cargo: {error}")),
    }
}
