//! What a run tells while it goes on.

use std::path::Path;
use std::time::Duration;

use assay_model::experiment::Cell;
use assay_model::generator::GeneratorName;
use assay_model::outlook::Outlook;
use assay_model::record::{NotRun, Record};
use assay_model::setting::Setting;
use assay_model::verdict::Verdict;
use assay_verdict::Settling;

use crate::prediction::Prediction;

/// Something that happened in a run.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// The run's folder exists; nothing was started yet.
    Begun {
        /// Name of the run.
        id: &'a str,
        /// Where things lie that go with the run.
        work: &'a Path,
        /// How long it will take after the preparation.
        prediction: Prediction,
        /// What it would show; absent where nobody is compared at capacity.
        outlook: Option<&'a Outlook>,
    },
    /// The database is being made and filled, or reached.
    StartingDatabase {
        /// Name of its program, where that is built first.
        builds: Option<&'a str>,
    },
    /// There is no database; what needs it will not be run.
    NoDatabase {
        /// The reason why there is none.
        reason: &'a NotRun,
    },
    /// Whether anything is left on another host is not known.
    HostLeft {
        /// What to do.
        problem: &'a str,
    },
    /// The database that was made on a server of the user's could not be removed.
    DatabaseLeft {
        /// What it is, and why.
        problem: &'a str,
    },
    /// What the network between hosts carries is being measured.
    ProbingNetwork,
    /// What a contender needs is being probed.
    Probing {
        /// Name of the contender.
        contender: &'a str,
    },
    /// A contender is being built.
    Building {
        /// Name of the contender.
        contender: &'a str,
    },
    /// A contender is being asked what it keeps of the rules of HTTP/1.1.
    Checking {
        /// Name of the contender.
        contender: &'a str,
    },
    /// A contender is being asked how long its answers are, so that those of the limit can be as long.
    Sizing {
        /// Name of the contender.
        contender: &'a str,
    },
    /// A contender will not take part, or no longer.
    Dropped {
        /// Name of the contender.
        contender: &'a str,
        /// In which setting only; absent where there is but one.
        setting: Option<Setting>,
        /// The reason why it takes no part.
        reason: &'a NotRun,
    },
    /// A round begins.
    RoundBegun {
        /// 0, 1, 2 …
        index: u32,
        /// How many there will probably be.
        of: u32,
    },
    /// Not all servers can live at once: rounds are split into groups. Told once.
    Split {
        /// Name of the contender that lives in every group; absent where none can.
        common: Option<&'a str>,
    },
    /// A contender is being started and warmed up.
    Starting {
        /// Name of the contender.
        contender: &'a str,
    },
    /// A contender got warm on a workload. That is no measurement, but the first that is known of it.
    WarmedUp {
        /// Name of the contender.
        contender: &'a str,
        /// Name of the workload.
        workload: &'a str,
        /// Answers per second when its warm-up ended.
        per_second: f64,
    },
    /// A cell is about to be measured.
    Measuring {
        /// Name of the contender.
        contender: &'a str,
        /// The cell.
        cell: &'a Cell,
    },
    /// A generator, ours or another, is about to load a contender for comparison.
    CrossChecking {
        /// Name of the contender.
        contender: &'a str,
        /// The generator.
        generator: GeneratorName,
        /// The cell.
        cell: &'a Cell,
    },
    /// A contender is about to be profiled under load that is not measured.
    Profiling {
        /// Name of the contender.
        contender: &'a str,
        /// The cell.
        cell: &'a Cell,
    },
    /// One turn of a contender is over; what all its turns in the cell were together follows as [`Event::Measured`].
    Turned {
        /// Name of the contender.
        contender: &'a str,
        /// The cell.
        cell: &'a Cell,
        /// Right answers per second.
        per_second: f64,
        /// Failed requests.
        failed: u64,
    },
    /// A cell was measured.
    Measured {
        /// Name of the contender.
        contender: &'a str,
        /// The cell.
        cell: &'a Cell,
        /// Right answers per second.
        per_second: f64,
        /// Failed requests.
        failed: u64,
    },
    /// One run of a contender ended early.
    Failed {
        /// Name of the contender.
        contender: &'a str,
        /// In which setting only; absent where there is but one.
        setting: Option<Setting>,
        /// The reason why it failed.
        reason: &'a NotRun,
    },
    /// There is a verdict on what was measured so far: before anything is built, and when lives or a round have ended. Told to an
    /// observer that [wants](Observer::wants_verdicts) it.
    Judged {
        /// What was measured so far, as it is on disk or will be after the round.
        record: &'a Record,
        /// What it means.
        verdict: &'a Verdict,
    },
    /// The run waits, because a person wants a pause.
    Paused,
    /// The run goes on.
    Resumed {
        /// How long it waited.
        length: Duration,
    },
    /// All rounds were measured, and everybody is looked at once more, for long.
    LookingLong {
        /// How many contenders are looked at.
        contenders: usize,
        /// How long it takes in all.
        length: Duration,
    },
    /// Too few contenders are left for the run to go on.
    NobodyLeft {
        /// Rounds that were measured.
        rounds: u32,
        /// Contenders that are left, the limit and the A/A control aside.
        left: usize,
        /// Contenders without which there is nothing to find out.
        least: usize,
    },
    /// A round was measured and saved.
    RoundSaved {
        /// 0, 1, 2 …
        index: u32,
        /// How many there will probably be.
        of: u32,
        /// Contenders that have a window in it, the limit aside.
        measured: usize,
        /// Half-width of a typical interval of a ratio so far, as a share; absent before the second round.
        precision: Option<f64>,
        /// What is settled; absent in a run whose number of rounds is fixed.
        settling: Option<Settling>,
        /// Time until the run ends, probably.
        left: Duration,
    },
}

/// Somebody who wants to know.
pub trait Observer {
    /// Takes note of an event. It is called between measurements, never during one.
    fn notice(&mut self, event: &Event<'_>);

    /// Whether it is told the verdict so far ([`Event::Judged`]), which takes time to compute.
    fn wants_verdicts(&self) -> bool {
        false
    }
}

impl<F: FnMut(&Event<'_>)> Observer for F {
    fn notice(&mut self, event: &Event<'_>) {
        self(event);
    }
}
