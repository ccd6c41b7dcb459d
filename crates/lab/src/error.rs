//! What can go wrong with a run as a whole, and the exit status it leads to.

use std::io::ErrorKind;
use std::path::PathBuf;

use assay_model::record::{RECORD_SCHEMA, Record};
use assay_verdict::Ending;
use thiserror::Error;

use crate::host_error::HostError;

/// Exit statuses of the program: the one table that scripts rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything that was asked for was done.
    Ok = 0,
    /// A fault of assay itself.
    Bug = 1,
    /// The arguments or a file that a person wrote cannot be understood.
    Usage = 2,
    /// No contender was left to measure.
    NothingSelected = 3,
    /// The machine does not allow what was asked.
    MachineUnfit = 4,
    /// A contender could not be built, did not start, or died.
    ContenderFailed = 10,
    /// A contender answered wrongly.
    WrongAnswer = 11,
    /// A result is void, and `--strict` was given; or one of several generators of a load was lost, or a redline was not found.
    Void = 12,
    /// No contender keeps the objective at any rate.
    OutOfReach = 13,
    /// A regression was shown.
    Regression = 20,
    /// Stopped by a person.
    Interrupted = 130,
}

impl Exit {
    /// The status as a number for the operating system.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The status with this number, of a command of ours that failed.
    pub fn of_code(code: u8) -> Option<Self> {
        let failures =
            [Self::Bug, Self::Usage, Self::NothingSelected, Self::MachineUnfit, Self::ContenderFailed];
        failures.into_iter().find(|exit| exit.code() == code)
    }
}

impl From<Ending> for Exit {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Fine => Self::Ok,
            Ending::Interrupted => Self::Interrupted,
            Ending::ContenderFailed => Self::ContenderFailed,
            Ending::WrongAnswer => Self::WrongAnswer,
            Ending::Void => Self::Void,
            Ending::OutOfReach => Self::OutOfReach,
            Ending::Regression => Self::Regression,
        }
    }
}

/// A place in a text file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl std::fmt::Display for SourcePlace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// Why a run could not be planned, stored or found again. What befalls a single contender is no such error: it is part
/// of the record ([`assay_model::record::NotRun`]).
#[derive(Debug, Error)]
pub enum LabError {
    /// No catalogue where one was said to be.
    #[error(
        "no catalogue found (a folder that holds contenders/ and workloads/); looked in {looked_in}: \
         give one with --catalogue or ASSAY_CATALOGUE"
    )]
    NoCatalogue {
        /// The folder that was named.
        looked_in: String,
    },
    /// Another host cannot do what is needed of it.
    #[error(transparent)]
    Host(#[from] HostError),
    /// TLS of the run could not be set up.
    #[error(transparent)]
    Tls(#[from] assay_tls::TlsError),
    /// A file or folder could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that a person wrote is wrong at a place.
    #[error("{place}: {problem}; {mend}")]
    File {
        /// The place in the file.
        place: SourcePlace,
        /// What is wrong.
        problem: String,
        /// How to mend it.
        mend: String,
    },
    /// Two files define the same name.
    #[error("two {what}s are called `{name}`: {} and {}; rename one of them", first.display(), second.display())]
    Duplicate {
        /// Contender, workload or experiment.
        what: &'static str,
        /// The name.
        name: String,
        /// One file.
        first: PathBuf,
        /// The other file.
        second: PathBuf,
    },
    /// A name that is not in the catalogue.
    #[error("there is no {what} `{name}`; {hint}")]
    UnknownName {
        /// Contender, workload, experiment, language or kind.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// What was perhaps meant.
        hint: String,
    },
    /// A selector, URL or command line that makes no sense.
    #[error("`{given}`: {problem}")]
    Argument {
        /// What was given.
        given: String,
        /// What is wrong with it, and how to mend it.
        problem: String,
    },
    /// The selectors exclude everything.
    #[error("nothing selected: {reason}")]
    NothingSelected {
        /// Why nothing is left, and how to mend it.
        reason: String,
    },
    /// The folder of runs cannot be written.
    #[error(
        "cannot write {}: {source}; {}choose another folder with --runs or ASSAY_RUNS",
        path.display(),
        mend_of_store(source)
    )]
    StoreNotWritable {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A run whose rounds could be saved no longer; what was measured is a record.
    #[error("{cause}; rounds measured: {}; rounds kept: {kept}", measured.rounds.len())]
    Unsaved {
        /// What keeps it from being saved.
        cause: Box<LabError>,
        /// The record as it is in memory, with one round at least.
        measured: Box<Record>,
        /// Rounds of it that are on disk.
        kept: usize,
    },
    /// Client and server cannot be joined as was asked.
    #[error(transparent)]
    Link(#[from] assay_link::LinkError),
    /// No such run.
    #[error("there is no run `{wanted}` in {}; {hint}", runs.display())]
    UnknownRun {
        /// What was asked for.
        wanted: String,
        /// The folder of runs.
        runs: PathBuf,
        /// What was perhaps meant.
        hint: String,
    },
    /// A record that cannot be understood.
    #[error("{} is no record of a run: {problem}; it may have been cut or edited", path.display())]
    BadRecord {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A histogram of a record cannot be read.
    #[error(transparent)]
    Unreadable(#[from] assay_verdict::Unreadable),
    /// A record written in another format.
    #[error("{} has the format `{found}`, this assay reads `{RECORD_SCHEMA}`; use the version that wrote it", path.display())]
    OtherSchema {
        /// The file.
        path: PathBuf,
        /// The schema of the record.
        found: String,
    },
    /// Something of the machine is missing.
    #[error("this machine cannot do that: {problem}; {mend}")]
    Machine {
        /// What is missing.
        problem: String,
        /// How to mend it.
        mend: String,
    },
    /// Our own program did something it should never do.
    #[error("a fault in assay: {0}")]
    Bug(String),
}

/// What mends a folder of runs beside choosing another one.
fn mend_of_store(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "something that is no folder is in the way: move it, or "
        }
        _ => "make it writable or make room there, or ",
    }
}

impl LabError {
    /// The exit status that belongs to the error.
    pub fn exit(&self) -> Exit {
        match self {
            Self::NoCatalogue { .. }
            | Self::Read { .. }
            | Self::File { .. }
            | Self::Duplicate { .. }
            | Self::UnknownName { .. }
            | Self::Argument { .. }
            | Self::UnknownRun { .. }
            | Self::BadRecord { .. }
            | Self::Unreadable(_)
            | Self::OtherSchema { .. } => Exit::Usage,
            Self::NothingSelected { .. } => Exit::NothingSelected,
            Self::Host(HostError::Unwanted { .. }) => Exit::Interrupted,
            Self::StoreNotWritable { .. }
            | Self::Machine { .. }
            | Self::Link(_)
            | Self::Tls(_)
            | Self::Host(_) => Exit::MachineUnfit,
            Self::Unsaved { cause, .. } => cause.exit(),
            Self::Bug(_) => Exit::Bug,
        }
    }

    pub(crate) fn read(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Read { path: path.to_owned(), source }
    }

    pub(crate) fn not_writable(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::StoreNotWritable { path: path.to_owned(), source }
    }
}
