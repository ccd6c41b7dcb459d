//! The arguments of `assay compare`.

use std::path::PathBuf;

use assay_model::comparison::Threshold;
use assay_model::design::Design;
use assay_model::units::Nanos;
use clap::{ArgAction, Args, ValueEnum};

use super::{Comparing, DatabaseArguments, Places, Progress, RequestArguments, Rounds, RunArguments, value};

/// Tell what changed: between runs, between contenders, or between commands measured now.
///
/// Two commands are measured in the same rounds, which is the only comparison in which nothing else changed:
/// `assay compare --cmd './old' --cmd './new'`. Runs that were measured at different times are compared by their means.
#[derive(Args)]
pub(crate) struct CompareArguments {
    /// What to compare with, then what to compare: a run (its id, folder or record, `last`, `last~1`), or RUN:CONTENDER
    #[arg(value_name = "RUN", num_args = 2.., conflicts_with = "cmd")]
    pub(crate) sides: Vec<String>,
    /// Start this command and measure it now; given at least twice, the first is the base. It finds its port in $PORT
    #[arg(long, value_name = "COMMAND")]
    pub(crate) cmd: Vec<String>,
    /// The port that the command listens on; one for each --cmd, in order
    #[arg(long, value_name = "PORT", conflicts_with = "sides", help_heading = "Measuring commands")]
    pub(crate) port: Vec<u16>,
    /// Longest time until a command is ready [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = value::span, conflicts_with = "sides", help_heading = "Measuring commands")]
    pub(crate) ready_timeout: Option<Nanos>,
    /// Path that a command answers with 2xx when it is ready
    #[arg(long, value_name = "PATH", value_parser = value::path, conflicts_with = "sides", help_heading = "Measuring commands")]
    pub(crate) ready_path: Option<String>,
    /// Path to ask the commands for
    #[arg(
        long,
        value_name = "PATH",
        value_parser = value::path,
        conflicts_with = "sides",
        conflicts_with = "workload",
        help_heading = "Measuring commands"
    )]
    pub(crate) path: Option<String>,
    /// Workloads [default: GET of the path]
    #[arg(
        short,
        long,
        value_name = "NAME",
        value_delimiter = ',',
        conflicts_with = "sides",
        help_heading = "Measuring commands"
    )]
    pub(crate) workload: Vec<String>,
    #[command(flatten)]
    pub(crate) request: RequestArguments,
    /// Numbers of connections [default: 64]
    #[arg(short, long, value_name = "N,…", value_delimiter = ',', value_parser = value::connections, conflicts_with = "sides", help_heading = "Measuring commands")]
    pub(crate) connections: Vec<u32>,
    /// Length of one measured window [default: 1s]
    #[arg(short, long, value_name = "TIME", value_parser = value::span, conflicts_with = "sides", help_heading = "Measuring commands")]
    pub(crate) duration: Option<Nanos>,
    /// Longest load given to a fresh server until it no longer gets faster [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = value::span, conflicts_with = "sides", help_heading = "Measuring commands")]
    pub(crate) warmup: Option<Nanos>,
    /// How: duet (base and other under load at the same time, for builds of one server), alternating (one at a time, by
    /// turns) [default: duet where both are of one kind and can live so; the output says which, and why]
    #[arg(long, value_enum, conflicts_with = "sides", help_heading = "Measuring commands")]
    pub(crate) design: Option<DesignName>,
    /// Restarts of every command [default: 12]
    #[arg(long, value_name = "N", conflicts_with = "sides", help_heading = "Measuring commands")]
    pub(crate) rounds: Option<u32>,
    /// Longest time for all rounds
    #[arg(long, value_name = "TIME", value_parser = value::span, conflicts_with = "sides", help_heading = "Measuring commands")]
    pub(crate) budget: Option<Nanos>,
    /// Seed of every random choice [default: a random one, kept in the record]
    #[arg(long, value_name = "N", conflicts_with = "sides", help_heading = "Measuring commands")]
    pub(crate) seed: Option<u64>,

    /// Exit with 20 when a change beyond this is shown, with 12 when the sides do not answer alike: rps:-3%, p50:+5%, p99:+10%,
    /// cpu:+5%, memory:+20%
    #[arg(
        long,
        value_name = "CHANGE",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub(crate) fail_on: Vec<Threshold>,
    /// Exit with 12 when something that was to be compared had to be withheld
    #[arg(long, help_heading = "Output")]
    pub(crate) strict: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value = "table", help_heading = "Output")]
    pub(crate) format: ComparisonFormat,
    /// Write the comparison also here: .md, .json or .xml (JUnit)
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Vec<PathBuf>,
    /// Stay within ASCII
    #[arg(long, help_heading = "Output")]
    pub(crate) ascii: bool,
    /// How far the measurement is: the standings so far on a terminal (q ends it with the round, p pauses, ? helps), or a line a round
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        default_value = "auto",
        conflicts_with = "sides",
        help_heading = "Output"
    )]
    pub(crate) progress: Progress,
    /// Name every place of every warning, and all that was checked; tell on standard error why the run does what it does, and with
    /// -vv of each window (ASSAY_LOG=TOPIC=debug chooses)
    #[arg(short, long, action = ArgAction::Count, help_heading = "Output")]
    pub(crate) verbose: u8,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// How two sides are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DesignName {
    /// Both at the same time, on the same CPUs
    Duet,
    /// One at a time, by turns
    Alternating,
}

impl DesignName {
    fn design(self) -> Design {
        match self {
            Self::Duet => Design::Duet,
            Self::Alternating => Design::Alternating,
        }
    }
}

/// How a comparison can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparisonFormat {
    /// For a terminal
    Table,
    /// For a pull request
    Md,
    /// For a program
    Json,
    /// For a continuous integration server
    Junit,
}

/// Restarts with which a change of 3 % is usually found: twelve rounds tell 1.3 % where rounds differ by 2 %.
pub(super) const ROUNDS: u32 = 12;

impl CompareArguments {
    /// The comparison as arguments of `assay run`, which measures the commands.
    pub(crate) fn run(&self) -> RunArguments {
        RunArguments {
            cmd: self.cmd.clone(),
            port: self.port.clone(),
            ready_timeout: self.ready_timeout,
            ready_path: self.ready_path.clone(),
            path: self.path.clone(),
            workload: self.workload.clone(),
            request: self.request.clone(),
            connections: self.connections.clone(),
            duration: self.duration,
            warmup: self.warmup,
            rounds: Some(Rounds::Exactly(self.rounds.unwrap_or(ROUNDS))),
            rounds_may_be_cut: self.rounds.is_none(),
            is_length_ours: self.rounds.is_none() && self.budget.is_none(),
            least_contenders: self.cmd.len(),
            comparing: self.design.map_or(Comparing::AsFits, |name| Comparing::By(name.design())),
            // A comparison tells nothing of it, and its time is better spent on restarts.
            no_check: true,
            budget: self.budget,
            seed: self.seed,
            progress: self.progress,
            ascii: self.ascii,
            places: self.places.clone(),
            database: DatabaseArguments::of_environment(),
            ..RunArguments::default()
        }
    }
}
