//! The exit code that a single measurement deserves; that of a run follows from its verdict ([`assay_verdict::ending`]).

use assay_lab::Exit;
use assay_model::load::ErrorClass;

/// Whether what came back was right.
pub(crate) fn exit_of_errors<'a>(classes: impl IntoIterator<Item = &'a ErrorClass>) -> Exit {
    if classes.into_iter().any(|class| class.is_wrong_answer()) { Exit::WrongAnswer } else { Exit::Ok }
}
