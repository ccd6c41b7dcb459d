//! The project's own chores: is the house tidy, are generated files fresh, what does the instrument cost, does it tell the
//! truth. Run as `cargo xtask TASK`.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command for developers talks to them")]

mod assertions;
mod bench;
mod circles;
mod claims;
mod comments;
mod dependencies;
mod docstrings;
mod examples;
mod figures;
mod gauge;
mod layers;
mod licences;
mod measure;
mod names;
mod oracle;
mod process_tests;
mod references;
mod releases;
mod schemas;
mod simulate;
mod soak;
mod test_cost;
mod tidy;
mod trials;
mod ui;
mod unused;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own chores.")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check the layers, the sizes and the manners of every source file, every dependency, and every reference to a document.
    Tidy,
    /// Check the licences of all dependencies against deny.toml.
    Licences,
    /// Write schemas/*.json from the types; with --check only compare.
    Schemas {
        /// Write nothing; fail when a file is stale.
        #[arg(long)]
        check: bool,
    },
    /// Measure the load generator against `assay stub` at full length; for a quiet machine with two CPUs or more.
    Oracle(oracle::Options),
    /// Measure the load generator, or the reference server, beside its peers, or two designs of a run; for a quiet machine with
    /// two CPUs or more.
    Bench {
        /// The part to measure.
        #[command(subcommand)]
        subject: bench::Subject,
    },
    /// Judge simulated runs whose truth is known: how often the verdict errs, and what it shows.
    Simulate(simulate::Options),
    /// Judge runs made of lives that were measured, drawn from records: how often the verdict errs on this machine's noise.
    Calibrate(simulate::records::Options),
    /// Tell what the gauge of the CPUs says in records: how turns follow it, whether it depends on the server, and what it is worth.
    Gauge(gauge::Options),
    /// Keep servers on our own TCP stack under load for a long time: memory, errors, stalls, and what is left behind.
    Soak(soak::Options),
    /// Try whole measurements many times on servers whose truth is known; for a quiet machine with two CPUs or more.
    Trials {
        /// What is tried.
        #[command(subcommand)]
        subject: trials::Subject,
    },
    /// Run tests with real processes, many at once; with --alone those that failed, one by one.
    ProcessTests(process_tests::Options),
    /// Run tests one after the other and tell what CPU time each takes, its processes' included; the dearest first.
    TestCost(test_cost::Options),
    /// Build the report page from report-ui; with --check only compare.
    Ui {
        /// Write nothing; fail when the committed page is stale.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let root = workspace_root();
    let findings = match Arguments::parse().task {
        Task::Tidy => tidy::run(&root),
        Task::Licences => licences::run(&root),
        Task::Schemas { check } => schemas::run(&root, check),
        Task::Bench { subject } => bench::run(&root, &subject),
        Task::Oracle(options) => oracle::run(&root, &options),
        Task::Simulate(options) => simulate::run(&options),
        Task::Calibrate(options) => simulate::records::run(&options),
        Task::Gauge(options) => gauge::run(&options),
        Task::Soak(options) => soak::run(&root, &options),
        Task::Trials { subject } => trials::run(&root, &subject),
        Task::ProcessTests(options) => process_tests::run(&root, &options),
        Task::TestCost(options) => test_cost::run(&root, &options),
        Task::Ui { check } => ui::run(&root, check),
    };
    match findings {
        Ok(()) => ExitCode::SUCCESS,
        Err(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            eprintln!("{} to mend", findings.len());
            ExitCode::FAILURE
        }
    }
}

fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
