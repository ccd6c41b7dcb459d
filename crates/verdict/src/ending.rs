//! How a run ended, for those who asked for it: the one thing that a script wants to know.

use assay_model::record::{Origin, Record, Stage, State};
use assay_model::rule::Rule;
use assay_model::verdict::{RedlineEnd, RedlineVerdict, Verdict};

use super::is_void;

/// How a run or a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As asked.
    Fine,
    /// A person stopped it.
    Interrupted,
    /// A contender could not be built, did not start, or died; or nobody was measured.
    ContenderFailed,
    /// A contender answered wrongly.
    WrongAnswer,
    /// A result is void, and that was not to be tolerated.
    Void,
    /// An objective was searched that no contender keeps at any rate.
    OutOfReach,
    /// A regression was shown.
    Regression,
}

/// How a run ended: what its worst contender did, and with `strict` also whether a number is void.
pub fn ending(record: &Record, verdict: &Verdict, strict: bool) -> Ending {
    if record.state == State::Interrupted {
        return Ending::Interrupted;
    }
    let for_good = record.contenders.iter().filter_map(|entry| entry.not_run.as_ref());
    let once = record.rounds.iter().flat_map(|round| &round.runs).filter_map(|run| run.failure.as_ref());
    let stages: Vec<Stage> = for_good.chain(once).map(|reason| reason.stage).collect();
    let standings = || verdict.cells.iter().flat_map(|cell| &cell.standings);
    let wrong = standings()
        .any(|standing| standing.checks.iter().any(|check| check.rule == Rule::Errors && is_void(check)));
    let nobody = standings().next().is_none();
    // What a contender of the catalogue lacks is no failure of the run; a command of the user's own was meant to be measured.
    let own = record.contenders.iter().filter(|entry| entry.origin == Origin::Command);
    let own_is_missing = own.filter(|entry| entry.twin_of.is_none()).any(|entry| entry.not_run.is_some());
    if stages.contains(&Stage::Answer) || wrong {
        Ending::WrongAnswer
    } else if nobody || own_is_missing || stages.iter().any(|stage| *stage != Stage::Needs) {
        Ending::ContenderFailed
    } else if strict
        && (verdict.trust.iter().any(is_void) || standings().any(|s| s.checks.iter().any(is_void)))
    {
        Ending::Void
    } else if is_out_of_reach(&verdict.redlines) {
        Ending::OutOfReach
    } else {
        Ending::Fine
    }
}

/// Whether nobody keeps some objective at any rate. One who does makes it a result like others.
fn is_out_of_reach(redlines: &[RedlineVerdict]) -> bool {
    let nobody = |verdict: &RedlineVerdict| {
        !verdict.standings.is_empty()
            && verdict.standings.iter().all(|standing| standing.end == RedlineEnd::BelowLowest)
    };
    redlines.iter().any(nobody)
}
