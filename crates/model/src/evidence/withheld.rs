//! Why a number is withheld.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Part;
use crate::check::Check;
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
        runs: Part,
    },
    /// Too few windows count.
    FewWindows {
        /// Those that do.
        windows: Part,
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

/// Says in a schema that documents for readers have a sentence beside these findings.
pub(crate) fn with_sentences(schema: &mut schemars::Schema) {
    let sentences = [
        (
            "withheld_for",
            "withheld",
            "Why it is withheld, in a sentence; only in what is written for readers.",
        ),
        (
            "limit_found",
            "limit_evidence",
            "What the limit was concluded from, in a sentence; only there, too.",
        ),
    ];
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (finding, sentence, about) in sentences {
        if properties.contains_key(finding) {
            let text = serde_json::json!({ "description": about, "type": ["string", "null"] });
            properties.insert(sentence.to_owned(), text);
        }
    }
}
