//! Where a run stands, in words.

use assay_model::record::State;

/// Why a run is not whole; `None` when it is.
pub(crate) fn state_in_words(state: State) -> Option<&'static str> {
    match state {
        State::Complete => None,
        State::Running => Some("the run had not ended; this is what was measured so far"),
        State::BudgetSpent => Some("the time allowed was spent before all planned rounds were measured"),
        State::Interrupted => Some("the run was stopped by hand; this is what was measured until then"),
    }
}
