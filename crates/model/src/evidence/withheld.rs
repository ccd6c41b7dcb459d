//! Why a number is withheld.

use serde::{Deserialize, Serialize};

use super::Proportion;
use super::check::Check;
use crate::JsonSchema;
use crate::experiment::Protocol;
use crate::rule::Rule;

/// Why a number is not told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Withheld {
    /// A check makes it void.
    Void {
        /// That check.
        check: Box<Check>,
    },
    /// No window counts.
    NoWindow,
    /// The rate follows from a capacity of which no window counts, so that none was offered.
    NoCapacity,
    /// The rate follows from a whole round, and there was none after the first.
    NoLaterRound,
    /// There was not one right answer in a window.
    NoRightAnswer,
    /// Every window is void.
    AllVoid {
        /// The rules that were broken.
        rules: Vec<Rule>,
    },
    /// Too few runs gave a result.
    FewRuns {
        /// Those that did.
        runs: Proportion,
    },
    /// Too few windows count.
    FewWindows {
        /// Those that do.
        windows: Proportion,
        /// The rules that the others broke.
        rules: Vec<Rule>,
    },
    /// The source counted no right answer.
    SourceSilent,
    /// It is withheld on one of two stacks.
    OnStack {
        /// Whether that is the one in user space, or the kernel's.
        user_space: bool,
        /// The reason why it is withheld there.
        because: Box<Withheld>,
    },
    /// It is withheld over one of two protocols.
    OverProtocol {
        /// Over which.
        protocol: Protocol,
        /// The reason why it is withheld there.
        because: Box<Withheld>,
    },
    /// No round has both that are compared.
    NoCommonRound,
    /// It is withheld of one of two that are compared.
    Of {
        /// Of whom.
        contender: String,
        /// The reason why it is withheld there.
        because: Box<Withheld>,
    },
    /// Too many requests failed while another server was under load beside it.
    FailedAtOnce {
        /// Share of them.
        share: f64,
    },
    /// It was not measured on both sides.
    NotOnBothSides,
}

impl Withheld {
    /// A check makes it void.
    pub fn void(check: &Check) -> Self {
        Self::Void { check: Box::new(check.clone()) }
    }
}
