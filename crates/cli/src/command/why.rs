//! `assay why`: a run whose servers are profiled besides, told as an explanation.

use std::collections::BTreeSet;

use assay_lab::Exit;
use assay_model::offered::Offered;
use assay_model::record::Record;
use assay_model::verdict::Verdict;
use assay_report::terminal::{self, Style};

use super::run;
use crate::args::{Rounds, RunArguments, WhyArguments};
use crate::failure::Failure;

/// Restarts of every server, unless others are asked for: the fewest with which differences of a few per cent are usually shown.
const ROUNDS: u32 = 5;
/// The loads, unless others are asked for: as much as each can bear, and as much as all can.
const RATES: [Offered; 2] = [Offered::Capacity, Offered::Common];

pub(crate) fn run(arguments: WhyArguments) -> Result<Exit, Failure> {
    let given = arguments.run;
    if given.selectors.is_empty() && given.cmd.is_empty() && given.experiment.is_none() {
        return Err(Failure::usage(
            "why what? Name servers, as in `assay why nginx node`, or give commands with --cmd",
        ));
    }
    let is_free = given.experiment.is_none() && given.rate.is_empty() && !given.latency;
    let is_open_ended = given.precision.is_some() || given.budget.is_some() || given.quick;
    run::run(RunArguments {
        rate: if is_free { RATES.to_vec() } else { given.rate },
        rounds: given.rounds.or((!is_open_ended).then_some(Rounds::Exactly(ROUNDS))),
        profile: true,
        explains: true,
        no_aa: true,
        no_long_look: true,
        no_check: true,
        no_limit: true,
        ..given
    })
}

/// Where the time goes, for a terminal.
///
/// # Errors
/// [`Failure::Unmeasured`] where nobody was profiled, with the reasons that the record knows.
pub(crate) fn explanation(record: &Record, verdict: &Verdict, style: &Style) -> Result<String, Failure> {
    terminal::explanation(record, verdict, style).ok_or_else(|| unexplained(record))
}

/// Nobody was asked to be profiled, or nobody could be.
fn unexplained(record: &Record) -> Failure {
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let refused = runs.flat_map(|run| &run.profiles).flat_map(|profile| &profile.refused);
    let reasons: BTreeSet<&str> = refused.map(|refused| refused.why.as_str()).collect();
    let told = reasons.into_iter().collect::<Vec<_>>().join("; ");
    match (told.is_empty(), record.experiment.profile) {
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
