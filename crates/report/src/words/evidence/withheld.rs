//! Why a number is not told.

use assay_model::evidence::Withheld;
use assay_model::rule::Rule;

use super::{evidence, part};
use crate::format;

/// The reason, without a full stop.
pub fn withheld(reason: &Withheld) -> String {
    match reason {
        Withheld::Void { check } => evidence(check),
        Withheld::NoWindow => "no window counts".to_owned(),
        Withheld::NoCapacity => "no window at capacity counts, so no rate is known".to_owned(),
        Withheld::NoLaterRound => {
            "the rate follows from a whole round, and there was none after the first".to_owned()
        }
        Withheld::NoRightAnswer => "not one right answer in a window".to_owned(),
        Withheld::AllVoid { rules } => format!("every window is void ({})", names(rules)),
        Withheld::FewRuns { runs } => format!("only {} gave a result", part(*runs, "run")),
        Withheld::FewWindows { windows, rules } => {
            format!("only {} count ({})", part(*windows, "window"), names(rules))
        }
        Withheld::SourceSilent => "the source counted no right answer".to_owned(),
        Withheld::OnStack { user_space, because } => {
            let stack = if *user_space { "user-space" } else { "kernel's" };
            format!("on the {stack} stack: {}", withheld(because))
        }
        Withheld::OverProtocol { protocol, because } => format!("over {protocol}: {}", withheld(because)),
        Withheld::NoCommonRound => "no round has both".to_owned(),
        Withheld::Of { contender, because } => format!("{contender}: {}", withheld(because)),
        Withheld::FailedAtOnce { share } => {
            format!("{} of its requests failed while both were under load", format::percent(*share))
        }
        Withheld::NotOnBothSides => "not measured on both sides".to_owned(),
    }
}

fn names(rules: &[Rule]) -> String {
    rules.iter().map(|rule| rule.name()).collect::<Vec<_>>().join(", ")
}
