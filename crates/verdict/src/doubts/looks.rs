//! When the results of a run are looked at (docs/method/stopping.md#stopping-early).

use assay_model::record::{Record, State};
use assay_stats::simultaneous::Looks;

/// When the results of a run are looked at, which decides how wide their intervals must be. A person who ends a run may have
/// watched it and waited for a result, and so may who watches one that goes on.
pub(crate) fn looks(record: &Record) -> Looks {
    let planned = record.experiment.rounds as usize;
    match (record.experiment.until_settled, record.state) {
        (true, _) => Looks::EveryRound { most_rounds: planned },
        (false, State::Interrupted | State::Running) => {
            Looks::EveryRound { most_rounds: planned.max(record.rounds.len()) }
        }
        (false, State::Complete | State::BudgetSpent) => Looks::Once,
    }
}
