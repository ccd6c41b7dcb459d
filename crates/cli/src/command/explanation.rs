//! Where the time of a run's answers goes, for a terminal: what `assay why`, `assay run` and `assay show --why` tell.

use std::collections::BTreeSet;

use assay_lab::Exit;
use assay_model::record::Record;
use assay_model::state::State;
use assay_model::verdict::Verdict;
use assay_report::terminal::{self, Style};

use crate::failure::Failure;

/// Where the time goes, for a terminal.
///
/// # Errors
/// [`Failure::Unmeasured`] where nobody was profiled, with the reasons that the record knows.
pub(crate) fn text(record: &Record, verdict: &Verdict, style: &Style) -> Result<String, Failure> {
    terminal::explanation(record, verdict, style).ok_or_else(|| unexplained(record))
}

/// Nobody was asked to be profiled, or nobody could be.
fn unexplained(record: &Record) -> Failure {
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let refused = runs.flat_map(|run| &run.profiles).flat_map(|profile| &profile.refused);
    let reasons: BTreeSet<&str> = refused.map(|refused| refused.why.as_str()).collect();
    let told = reasons.into_iter().collect::<Vec<_>>().join("; ");
    match (told.is_empty(), !record.experiment.profile.is_never()) {
        (_, true) if record.state == State::Interrupted => Failure::Unmeasured {
            exit: Exit::Interrupted,
            reason: format!("run {} was stopped before anybody was profiled", record.id),
        },
        (false, _) => Failure::Machine(format!("run {}: nobody could be profiled: {told}", record.id)),
        (true, true) => Failure::Unmeasured {
            exit: Exit::ContenderFailed,
            reason: format!(
                "run {}: nobody could be profiled: they did not live long enough, or their processes cannot be seen from here; \
                 `assay show` tells what happened",
                record.id
            ),
        },
        (true, false) => Failure::usage(format_args!(
            "run {} has no profiles; `assay why` makes them, and `assay run --profile`",
            record.id
        )),
    }
}
