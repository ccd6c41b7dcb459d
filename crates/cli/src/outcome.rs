//! The exit code that a finished run deserves.

use assay_lab::Exit;
use assay_model::load::ErrorClass;
use assay_model::record::{Measurement, Record, Stage, State};

/// Interrupted before all else; then failed contenders; then wrong answers. A missing toolchain is no failure as long as
/// something was measured.
pub(crate) fn exit(record: &Record) -> Exit {
    if record.state == State::Interrupted {
        return Exit::Interrupted;
    }
    let stages = || {
        let never = record.contenders.iter().filter_map(|c| c.not_run.as_ref());
        let sometimes = record.rounds.iter().flat_map(|r| &r.runs).filter_map(|r| r.failure.as_ref());
        never.chain(sometimes).map(|reason| reason.stage)
    };
    let failed = stages().any(|stage| matches!(stage, Stage::Build | Stage::Start | Stage::Load));
    if failed || measurements(record).next().is_none() {
        return Exit::ContenderFailed;
    }
    let wrong = stages().any(|stage| stage == Stage::Answer) || measurements(record).any(answered_wrongly);
    if wrong { Exit::WrongAnswer } else { Exit::Ok }
}

/// Exit code of a single measurement: whether what came back was right.
pub(crate) fn exit_of_errors<'a>(classes: impl IntoIterator<Item = &'a ErrorClass>) -> Exit {
    if classes.into_iter().any(|class| is_wrong_answer(*class)) { Exit::WrongAnswer } else { Exit::Ok }
}

fn measurements(record: &Record) -> impl Iterator<Item = &Measurement> {
    record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells)
}

fn answered_wrongly(measurement: &Measurement) -> bool {
    measurement.load.books.errors.keys().any(|class| is_wrong_answer(*class))
}

/// An answer came, and it was not the right one; unlike no answer, which a crowded machine can cause.
fn is_wrong_answer(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::Parse
            | ErrorClass::UnexpectedStatus
            | ErrorClass::WrongBody
            | ErrorClass::WrongLength
            | ErrorClass::WrongHeader
    )
}
