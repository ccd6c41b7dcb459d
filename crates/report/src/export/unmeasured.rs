//! Who was to be measured in a cell and has no figure there, with the reason.

use assay_model::experiment::Cell;
use assay_model::record::{Entry, NotRun, Record};
use assay_model::verdict::{RedlineStanding, Verdict};

use crate::words;

/// A contender in a cell of which the verdict tells nothing.
pub(super) struct Unmeasured<'r> {
    pub(super) contender: &'r str,
    pub(super) cell: Cell,
    why: &'r NotRun,
}

impl Unmeasured<'_> {
    /// At which step it failed, and why.
    pub(super) fn reason(&self) -> String {
        format!("{}: {}", words::stage_in_words(self.why.stage), self.why.reason)
    }
}

/// Each of them, in the order of the plan; nobody on networks that could not be had.
pub(super) fn unmeasured<'r>(record: &'r Record, verdict: &Verdict) -> Vec<Unmeasured<'r>> {
    let settings = record.settings_had();
    let planned = record.experiment.cells().into_iter().filter(|cell| settings.contains(&cell.setting()));
    let mut all: Vec<Unmeasured<'r>> = Vec::new();
    for cell in planned {
        for entry in record.contenders.iter().filter(|entry| is_planned(record, entry, &cell)) {
            let contender = entry.identity.name.as_str();
            let is_listed = all.iter().any(|known| known.contender == contender && known.cell == cell);
            let Some(why) = why_not(record, entry, &cell).filter(|_| !is_listed) else { continue };
            if !is_judged(verdict, contender, &cell) {
                all.push(Unmeasured { contender, cell: cell.clone(), why });
            }
        }
    }
    all
}

/// Whether a contender was to be measured in a cell. No redline is searched for the limit, and a control is another one's.
fn is_planned(record: &Record, entry: &Entry, cell: &Cell) -> bool {
    entry.control_of.is_none()
        && !(entry.identity.is_limit() && cell.offered.is_search())
        && answers(record, entry, cell)
        && record.experiment.takes(&entry.identity.name, cell)
}

/// Whether a contender answers a cell's workload, as far as somebody said what it answers.
pub(super) fn answers(record: &Record, entry: &Entry, cell: &Cell) -> bool {
    let workload = record.workloads.iter().find(|workload| workload.name == cell.workload);
    let called = |name: &String| workload.is_some_and(|workload| workload.is_called(name));
    entry.identity.workloads.is_empty() || entry.identity.workloads.iter().any(called)
}

/// Why a contender yielded nothing in a cell's setting: it took no part there, or its first life that ended early.
fn why_not<'r>(record: &'r Record, entry: &'r Entry, cell: &Cell) -> Option<&'r NotRun> {
    let setting = cell.setting();
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let mut own = runs.filter(|run| run.contender == entry.identity.name && run.setting() == setting);
    entry.absence_on(setting).or_else(|| own.find_map(|run| run.failure.as_ref()))
}

fn is_judged(verdict: &Verdict, contender: &str, cell: &Cell) -> bool {
    let mut searched = verdict.redlines.iter().filter(|of| of.cell == *cell).flat_map(|of| &of.standings);
    verdict.judged().any(|of| of.cell == cell && of.contender == contender)
        || searched.any(|of| of.contender == contender)
}

/// Whether nothing is known of where a redline lies.
pub(super) fn is_redline_unknown(standing: &RedlineStanding) -> bool {
    standing.kept_per_second.is_none() && standing.missed_per_second.is_none()
}
