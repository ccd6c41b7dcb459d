//! `assay redline`: a run that searches for nothing but the highest rate that keeps an objective.

use assay_lab::Exit;
use assay_model::offered::Offered;
use assay_model::units::Nanos;

use super::run;
use crate::args::{RedlineArguments, RunArguments};
use crate::failure::Failure;

/// Longest time of a search, unless another is given.
const DEFAULT_BUDGET: Nanos = Nanos::from_millis(10 * 60 * 1000);

pub(crate) fn run(arguments: RedlineArguments) -> Result<Exit, Failure> {
    let RedlineArguments { slo, run: given } = arguments;
    if given.selectors.is_empty() && given.cmd.is_empty() {
        return Err(Failure::usage("whose redline? Give a contender, a URL, or a command with --cmd"));
    }
    if !given.rate.is_empty() || given.latency {
        return Err(Failure::usage("a redline searches for the rate itself: leave -r and --latency out"));
    }
    run::run(RunArguments {
        rate: vec![Offered::Redline(slo)],
        latency: false,
        budget: given.budget.or(Some(DEFAULT_BUDGET)),
        is_length_ours: given.budget.is_none() && given.rounds.is_none() && given.precision.is_none(),
        no_aa: true,
        one_at_a_time: false,
        no_limit: true,
        ..given
    })
}
