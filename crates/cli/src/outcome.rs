//! The exit code that a single measurement deserves; that of a run is the lab's ([`assay_lab::verdict::exit`]).

use assay_lab::Exit;
use assay_model::load::ErrorClass;

/// Whether what came back was right.
pub(crate) fn exit_of_errors<'a>(classes: impl IntoIterator<Item = &'a ErrorClass>) -> Exit {
    if classes.into_iter().any(|class| is_wrong_answer(*class)) { Exit::WrongAnswer } else { Exit::Ok }
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
