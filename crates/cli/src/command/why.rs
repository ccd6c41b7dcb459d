//! `assay why`: a run whose servers are profiled besides, told as an explanation.

use assay_lab::Exit;
use assay_model::offered::Offered;

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
        is_length_ours: given.rounds.is_none() && !is_open_ended,
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
