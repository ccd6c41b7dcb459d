//! How a run ended, for those who asked for it: the one thing that a script wants to know.

use assay_model::check::Check;
use assay_model::judged::Judged;
use assay_model::load::{ErrorClass, LoadReport};
use assay_model::not_run::NotRun;
use assay_model::record::{Origin, Record, Stage, State};
use assay_model::rule::Rule;
use assay_model::units::total;
use assay_model::verdict::{RedlineEnd, RedlineStanding, RedlineVerdict, Verdict};

use crate::MAX_ERROR_SHARE;

/// How a run or a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The run ended as asked.
    Fine,
    /// A person stopped it.
    Interrupted,
    /// A contender could not be built, did not start, or died; or nobody was measured.
    ContenderFailed,
    /// A contender answered wrongly.
    WrongAnswer,
    /// A result is void, and that was not to be tolerated; or the one that was asked for is missing.
    Void,
    /// An objective was searched that no contender keeps at any rate.
    OutOfReach,
    /// A regression was shown.
    Regression,
}

/// How a single measurement ended, by the rules of a run: a failed contender when the server ended meanwhile; wrong when more than one
/// request in a thousand failed for a reason of the server's; void when one of several generators was lost, so that the load was never
/// made, and with `strict` when any rule says so.
pub fn ending_of_load(report: &LoadReport, strict: bool) -> Ending {
    let errors = report.books.errors.iter().filter(|(class, _)| is_the_servers(**class));
    let failed = total(errors.map(|(_, count)| *count));
    let all = report.books.ok.saturating_add(failed);
    if report.checks.iter().any(|check| check.rule == Rule::ServerEnded && check.is_void()) {
        Ending::ContenderFailed
    } else if failed as f64 > MAX_ERROR_SHARE * all as f64 {
        Ending::WrongAnswer
    } else if (strict && report.checks.iter().any(Check::is_void))
        || report.generators.iter().any(|share| share.lost.is_some())
    {
        Ending::Void
    } else {
        Ending::Fine
    }
}

/// Whether a failure speaks against the server: not what the generator had no port, no connection or no time for.
fn is_the_servers(class: ErrorClass) -> bool {
    use ErrorClass::{AddressExhausted, ClientInternal, UnsentEnd, UnsentNoConnection};
    !matches!(class, AddressExhausted | ClientInternal | UnsentEnd | UnsentNoConnection)
}

/// How a run ended: what its worst contender did, whether a host of the load was lost, which is no contender's doing, whether a redline was
/// found where one was searched, and with `strict` also whether a number is void.
pub fn ending(record: &Record, verdict: &Verdict, strict: bool) -> Ending {
    if record.state == State::Interrupted {
        return Ending::Interrupted;
    }
    let for_good = record.contenders.iter().filter_map(|entry| entry.not_run.as_ref());
    let once = record.rounds.iter().flat_map(|round| &round.runs).filter_map(|run| run.failure.as_ref());
    let is_loads = |why: &&NotRun| why.lost_host().is_some();
    let (lost, failed): (Vec<&NotRun>, Vec<&NotRun>) = for_good.chain(once).partition(is_loads);
    let objections = || verdict.judged().flat_map(|judged| judged.checks);
    let wrong = objections().any(|check| check.rule == Rule::Errors && check.is_void());
    // What a contender of the catalogue lacks is no failure of the run; a command of the user's own was meant to be measured.
    let own = record.contenders.iter().filter(|entry| entry.identity.origin == Origin::Command);
    let mut own = own.filter(|entry| entry.control_of.is_none()).filter_map(|entry| entry.not_run.as_ref());
    let own_is_missing = own.any(|why| !is_loads(&why));
    if failed.iter().any(|why| why.stage == Stage::Answer) || wrong {
        Ending::WrongAnswer
    } else if own_is_missing
        || failed.iter().any(|why| why.stage != Stage::Needs)
        || (is_nobody_measured(record) && lost.is_empty())
    {
        Ending::ContenderFailed
    } else if !lost.is_empty() || (strict && is_anything_void(verdict)) {
        Ending::Void
    } else if is_out_of_reach(&verdict.redlines) {
        Ending::OutOfReach
    } else if verdict.redlines.iter().any(is_missing) {
        Ending::Void
    } else {
        Ending::Fine
    }
}

/// Whether no server was under load in any cell, be it at capacity, at a rate or in search of one.
fn is_nobody_measured(record: &Record) -> bool {
    record.rounds.iter().flat_map(|round| &round.runs).all(|run| run.cells.is_empty())
}

/// Whether the run or a number of it is void, a number is withheld, or a redline is not confirmed.
fn is_anything_void(verdict: &Verdict) -> bool {
    let is_void = |judged: Judged<'_>| judged.withheld.is_some() || judged.checks.iter().any(Check::is_void);
    let mut redlines = verdict.redlines.iter().flat_map(|cell| &cell.standings);
    verdict.trust.iter().any(Check::is_void)
        || verdict.judged().any(is_void)
        || verdict.added_latency.iter().any(|of| of.withheld.is_some())
        || redlines.any(|standing| !standing.is_settled())
}

/// Whether nobody keeps some objective at any rate. If one contender does, it is a result like others.
fn is_out_of_reach(redlines: &[RedlineVerdict]) -> bool {
    let nobody = |verdict: &RedlineVerdict| {
        !verdict.standings.is_empty()
            && verdict.standings.iter().all(|standing| standing.end == RedlineEnd::BelowLowest)
    };
    redlines.iter().any(nobody)
}

/// Whether a search found nobody's redline, not even between which rates one lies. One that did makes it a result like others.
fn is_missing(verdict: &RedlineVerdict) -> bool {
    !verdict.standings.iter().any(RedlineStanding::is_found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, little, load_report};
    use assay_model::check::CheckOutcome;
    use assay_model::evidence::{Evidence, ServerEnded};
    use assay_model::experiment::Cell;
    use assay_model::load::Arrival;
    use assay_model::offered::Offered;
    use assay_model::record::{Measurement, Run};

    fn standing(end: RedlineEnd) -> RedlineStanding {
        RedlineStanding {
            contender: "a".to_owned(),
            kept_per_second: None,
            missed_per_second: Some(16.0),
            median_at_missed_ns: Some(203e6),
            fastest_at_missed_ns: Some(201e6),
            recovered_per_second: None,
            share_of_capacity: None,
            trials: 2,
            servers: 2,
            windows: 2,
            void_windows: 0,
            end,
        }
    }

    fn of_redlines(standings: Vec<RedlineStanding>) -> RedlineVerdict {
        let cell = Cell { offered: "redline:p99<20ms".parse().expect("load"), ..Cell::closed("get", 64) };
        RedlineVerdict { cell, standings }
    }

    #[test]
    fn a_redline_that_was_searched_and_not_found_is_a_missing_answer() {
        let found = |kept, end| RedlineStanding { kept_per_second: kept, ..standing(end) };
        let missing = |standings| is_missing(&of_redlines(standings));
        let unknown = || found(None, RedlineEnd::Unfinished);
        assert!(missing(vec![]) && missing(vec![unknown(), found(None, RedlineEnd::TooManyVoid)]));
        assert!(!missing(vec![unknown(), found(Some(12.0), RedlineEnd::Unfinished)]));
        assert!(!missing(vec![found(Some(12.0), RedlineEnd::Confirmed)]));

        let record = testing::record(&[("a", &[1000.0, 1000.0])]);
        let ended = |end, kept, strict| {
            let mut verdict = crate::judge(&record).expect("a verdict");
            verdict.redlines = vec![of_redlines(vec![found(kept, end)])];
            ending(&record, &verdict, strict)
        };
        assert_eq!(ended(RedlineEnd::Unfinished, None, false), Ending::Void);
        assert_eq!(ended(RedlineEnd::Unfinished, Some(12.0), false), Ending::Fine);
        assert_eq!(ended(RedlineEnd::Unfinished, Some(12.0), true), Ending::Void, "not confirmed");
        assert_eq!(ended(RedlineEnd::BelowLowest, None, false), Ending::OutOfReach);
    }

    /// Two rounds of `a` in `cell` alone.
    fn alone_in(cell: &Cell) -> Record {
        let mut record = testing::record(&[("a", &[1000.0, 1000.0])]);
        record.experiment.measures[0].rates = vec![cell.offered];
        for window in windows(&mut record) {
            window.cell = cell.clone();
            if cell.offered.is_rate() {
                window.load.arrival = Arrival::Poisson { per_second: 1000.0 };
            }
        }
        record
    }

    fn windows(record: &mut Record) -> impl Iterator<Item = &mut Measurement> {
        record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells)
    }

    fn in_cell(offered: &str) -> Cell {
        Cell { offered: offered.parse().expect("load"), ..Cell::closed("hello", 64) }
    }

    fn ended(record: &Record, strict: bool) -> Ending {
        ending(record, &testing::judged(record), strict)
    }

    #[test]
    fn a_run_without_a_capacity_ends_as_asked() {
        let of_requests = Cell { offered: Offered::Requests(1000), ..Cell::closed("hello", 64) };
        for cell in [Cell::closed("hello", 64), in_cell("5k/s"), of_requests] {
            let mut record = alone_in(&cell);
            assert_eq!(ended(&record, true), Ending::Fine, "{cell}");
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).for_each(|run| run.cells.clear());
            assert_eq!(ended(&record, false), Ending::ContenderFailed, "{cell}");
        }
    }

    #[test]
    fn a_lost_host_of_the_load_is_no_failure_of_a_contender() {
        let mut record = alone_in(&Cell::closed("hello", 64));
        let with = |record: &mut Record, reason: String| {
            let failure = NotRun { stage: Stage::Load, reason, remedy: None, log_tail: Vec::new() };
            record.rounds[1].runs[0].failure = Some(failure);
            ended(record, false)
        };
        let lost = NotRun::lost_host_reason("box1", "its host is lost");
        assert_eq!(with(&mut record, format!("exit status 12 assay: {lost}")), Ending::Void);
        assert_eq!(with(&mut record, "it ended with exit status 1".to_owned()), Ending::ContenderFailed);
        record.rounds.iter_mut().flat_map(|round| &mut round.runs).for_each(|run| run.cells.clear());
        assert_eq!(with(&mut record, lost), Ending::Void, "though nobody was measured");
    }

    #[test]
    fn what_is_withheld_is_void_at_any_load() {
        for cell in [Cell::closed("hello", 64), in_cell("5k/s")] {
            let mut record = alone_in(&cell);
            record.contenders.push(testing::record(&[("b", &[])]).contenders.remove(0));
            let quiet: Vec<Run> = record.rounds.iter().map(|round| round.runs[0].clone()).collect();
            for (round, run) in record.rounds.iter_mut().zip(quiet) {
                round.runs.push(Run { contender: "b".to_owned(), ..run });
            }
            assert_eq!(ended(&record, true), Ending::Fine, "{cell}");
            // Others were at work in all windows of one of two, so that the whole run is not void.
            for run in record.rounds.iter_mut().map(|round| &mut round.runs[0]) {
                run.cells[0].machine.steal_share = 0.5;
            }
            assert_eq!((ended(&record, false), ended(&record, true)), (Ending::Fine, Ending::Void), "{cell}");
        }
    }

    #[test]
    fn wrong_answers_are_that_at_any_load() {
        for cell in [Cell::closed("hello", 64), in_cell("5k/s"), in_cell("1000 requests")] {
            let mut record = alone_in(&cell);
            for window in windows(&mut record) {
                window.load.books.errors.insert(ErrorClass::WrongBody, 100);
            }
            assert_eq!(ended(&record, false), Ending::WrongAnswer, "{cell}");
        }
    }

    #[test]
    fn an_objective_is_out_of_reach_when_nobody_keeps_it() {
        let of = |ends: &[RedlineEnd]| {
            is_out_of_reach(&[of_redlines(ends.iter().map(|end| standing(*end)).collect())])
        };
        assert!(of(&[RedlineEnd::BelowLowest]) && of(&[RedlineEnd::BelowLowest; 2]));
        assert!(!of(&[RedlineEnd::BelowLowest, RedlineEnd::Confirmed]) && !of(&[RedlineEnd::Unfinished]));
        assert!(!of(&[]) && !is_out_of_reach(&[]));
    }

    #[test]
    fn one_measurement_ends_as_a_run_does() {
        let with = |class, failed| {
            let mut report = load_report(64, 10_000.0);
            report.books.errors.insert(class, failed);
            ending_of_load(&report, true)
        };
        assert_eq!(with(ErrorClass::HeadTimeout, 11), Ending::WrongAnswer);
        assert_eq!(with(ErrorClass::HeadTimeout, 10), Ending::Fine);
        assert_eq!(with(ErrorClass::UnsentEnd, 1000), Ending::Fine, "the generator's own");
        let mut ended = load_report(64, 10_000.0);
        ended.books.errors.insert(ErrorClass::ConnectRefused, 1000);
        let evidence = Evidence::ServerEnded(ServerEnded::default());
        ended.checks.push(Check::objection(Rule::ServerEnded, CheckOutcome::Void, evidence));
        assert_eq!(ending_of_load(&ended, false), Ending::ContenderFailed);
        let mut void = load_report(64, 10_000.0);
        void.checks.push(little(CheckOutcome::Void));
        assert_eq!((ending_of_load(&void, true), ending_of_load(&void, false)), (Ending::Void, Ending::Fine));
    }
}
