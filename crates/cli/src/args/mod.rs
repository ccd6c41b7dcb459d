//! What a person can type.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help on a terminal, where brackets are no links"
)]

mod check;
mod compare;
mod database;
mod doctor;
mod exec;
mod import;
mod init;
mod load;
mod new;
mod plan;
mod ports;
mod progress;
mod report;
mod request;
mod run;
mod serve;
mod socket;
mod stack;
mod stub;
mod tls;
pub(crate) mod value;

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use assay_engine::EngineKind;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::output;
pub(crate) use check::CheckArguments;
pub(crate) use compare::{CompareArguments, ComparisonFormat};
pub(crate) use database::DatabaseArguments;
pub(crate) use doctor::DoctorArguments;
pub(crate) use exec::ExecArguments;
pub(crate) use import::ImportArguments;
pub(crate) use init::InitArguments;
pub(crate) use load::{ArrivalName, HttpName, LoadArguments};
pub(crate) use new::NewArguments;
pub(crate) use plan::PlanArguments;
pub(crate) use ports::with_ports;
pub(crate) use progress::Progress;
pub(crate) use report::{ExportArguments, Format, ReportArguments};
pub(crate) use request::RequestArguments;
pub(crate) use run::{Comparing, RedlineArguments, Rounds, RunArguments, WhyArguments};
pub(crate) use serve::ServeArguments;
pub(crate) use stub::StubArguments;

/// Exit codes are part of the interface; scripts rely on them.
const EXIT_CODES: &str = "Exit codes:
    0  ok
    1  a fault in assay
    2  wrong usage, or a file that cannot be understood
    3  nothing selected
    4  the machine does not allow what was asked, or is unfit (doctor)
   10  a contender could not be built, did not start, or died; under `load`: the server ended
   11  a contender answered wrongly, or (check) broke a rule that must be kept
   12  a number had to be withheld (with --strict), servers that are compared do not answer alike
       (with --fail-on or --strict), one of several generators was lost, or a redline was searched
       and none was found
   13  no contender keeps the objective at any rate (redline)
   20  a regression was shown (assay compare --fail-on)
  130  interrupted; what was measured is kept";

/// A laboratory for web servers: how fast each is, how sure that is, and how far from what this machine can do.
#[derive(Parser)]
#[command(name = "assay", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    // What has no line here is described at length where its arguments are; a line here would hide that from `--help`.
    Run(RunArguments),
    Init(InitArguments),
    New(NewArguments),
    Plan(PlanArguments),
    /// Search for the highest rate at which a server keeps an objective such as p99<10ms
    Redline(RedlineArguments),
    Why(WhyArguments),
    Check(CheckArguments),
    Compare(CompareArguments),
    Load(LoadArguments),
    /// Serve with the reference server, which stands for what this machine can do
    Serve(ServeArguments),
    Exec(ExecArguments),
    /// Serve with programmed delays and faults and count exactly, to test a load generator against
    Stub(StubArguments),
    /// Print a run again
    Show(ShowArguments),
    Report(ReportArguments),
    /// Write a run as JSON, CSV, Markdown, JUnit XML, OpenMetrics or SVG
    Export(ExportArguments),
    Import(ImportArguments),
    /// Tell whether this machine is fit to measure on, what spoils it, and how to fix it
    Doctor(DoctorArguments),
    /// List the catalogue: contenders, workloads, experiments; or the runs, or the rules that are checked
    List(ListArguments),
    Clean(CleanArguments),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
        /// Where to write them [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print the manual page (roff)
    Man {
        /// Where to write it [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Do on this host what a lab asks for over standard input and output (used by assay itself)
    #[command(hide = true, disable_help_flag = true)]
    Agent {
        /// The process that watches over it; it is that process itself when absent
        #[arg(long, requires = "work")]
        parent: Option<u32>,
        /// Its own folder
        #[arg(long, requires = "parent")]
        work: Option<PathBuf>,
        /// Be no agent: carry the command of a transport, whose streams are this process's
        #[arg(long, conflicts_with = "parent", requires = "command")]
        carry: bool,
        /// The command that is carried
        #[arg(last = true)]
        command: Vec<OsString>,
    },
    /// Keep a PostgreSQL of its own on this host for a lab on another one, until it is asked to end (used by assay itself)
    #[command(hide = true, disable_help_flag = true)]
    Database {
        address: IpAddr,
        port: u16,
    },
    /// Hold the network namespaces of a link (used by assay itself)
    #[command(hide = true, disable_help_flag = true)]
    HoldNetns {
        link: assay_link::Spec,
        queues: u16,
    },
    /// Start a command and end everything it started (used by assay itself)
    #[command(hide = true, disable_help_flag = true)]
    Supervise {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<OsString>,
    },
    /// Remove the names of a ring when a process has ended and nobody sits there (used by assay itself)
    #[command(hide = true, disable_help_flag = true)]
    Sweep {
        ring: PathBuf,
        process: Option<i32>,
    },
}

impl Command {
    /// How often `-v` was given to a command that has a diagnostic log.
    pub(crate) fn verbosity(&self) -> Option<u8> {
        match self {
            Self::Run(arguments) => Some(arguments.verbose),
            Self::Redline(arguments) => Some(arguments.run.verbose),
            Self::Why(arguments) => Some(arguments.run.verbose),
            Self::Compare(arguments) => Some(arguments.verbose),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// io_uring where the kernel has it, else epoll
    Auto,
    Epoll,
    Uring,
}

impl EngineName {
    /// The engine that is meant on this machine; warns when it is not the best there is.
    pub(crate) fn kind(self) -> EngineKind {
        match self {
            Self::Epoll => EngineKind::Epoll,
            Self::Uring => EngineKind::IoUring,
            Self::Auto => {
                let (kind, obstacle) = EngineKind::best();
                if let Some(obstacle) = obstacle {
                    output::warning(format_args!("using {}: {obstacle}", kind.name()));
                }
                kind
            }
        }
    }
}

/// The folder of all runs unless another is named.
const RUNS: &str = "runs";

/// Where things are.
#[derive(Args, Clone)]
pub(crate) struct Places {
    /// Folder that holds contenders/, workloads/ and experiments/ [default: the nearest above, or assay's own, unpacked to $XDG_DATA_HOME/assay]
    #[arg(long, value_name = "DIR", env = "ASSAY_CATALOGUE", help_heading = "Places")]
    pub(crate) catalogue: Option<PathBuf>,
    /// Folder of all runs
    #[arg(long, value_name = "DIR", env = "ASSAY_RUNS", default_value = RUNS, help_heading = "Places")]
    pub(crate) runs: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Self { catalogue: None, runs: PathBuf::from(RUNS) }
    }
}

#[derive(Args)]
pub(crate) struct ShowArguments {
    /// The run: its id, its folder or record, `last`, `last~1`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Print record and verdict as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Tell where the time of those goes that were profiled, and why one spends more than another, in place of the summary
    #[arg(long, conflicts_with = "json")]
    pub(crate) why: bool,
    /// Stay within ASCII
    #[arg(long)]
    pub(crate) ascii: bool,
    /// Name every place of every warning, all that was checked, and the rules of HTTP that contenders of the catalogue break
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// Remove what crashed runs left behind.
///
/// That is of runs that were killed: scratch folders of contenders and databases in TMPDIR, wires in /dev/shm, the working
/// folders of unfinished runs, and catalogues whose unpacking was interrupted; with --database also databases of assay's own on
/// that server, by their mark, unless somebody is connected to them, as a living run is. One that has only the name of such is
/// told and left. Records and logs stay. Processes and network namespaces need no cleaning: they end with the run.
#[derive(Args)]
pub(crate) struct CleanArguments {
    /// Say what would be removed; remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) database: DatabaseArguments,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Args)]
pub(crate) struct ListArguments {
    /// What to list
    #[arg(value_enum, default_value = "contenders")]
    pub(crate) what: Listing,
    /// All runs, and not only the latest
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Stay within ASCII
    #[arg(long)]
    pub(crate) ascii: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    Contenders,
    Workloads,
    Experiments,
    /// The rules that `assay check` asks for
    Rules,
    /// What was measured: when, whom, by which command, with which result
    Runs,
}
