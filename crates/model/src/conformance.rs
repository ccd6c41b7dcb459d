//! What a server keeps of the rules of HTTP and of a test type: `assay check --json`, and part of a record.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::not_run::NotRun;
use crate::program::Program;
use crate::protocol::Protocol;
use crate::units::Nanos;

/// Name and version of the format of [`CheckReport`].
pub const CHECK_SCHEMA: &str = "assay-check/1";

/// What `assay check --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// [`CHECK_SCHEMA`].
    pub schema: String,
    /// The program that asked.
    pub assay: Program,
    /// The servers in the order in which they were asked.
    pub servers: Vec<CheckedServer>,
    /// Names of those that were not asked any more, because the check was stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked: Vec<String>,
}

/// One server and what came of asking it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedServer {
    /// Unique name among the servers.
    pub name: String,
    /// How people call it.
    pub title: String,
    /// Path of the plain request that the rules vary.
    pub path: String,
    /// What it was asked over.
    #[serde(default, skip_serializing_if = "Protocol::is_plain")]
    pub protocol: Protocol,
    /// Why it could not be asked, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<NotRun>,
    /// What it keeps; absent when it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Conformance>,
}

/// What one server keeps of a set of rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conformance {
    /// How long the asking took.
    pub elapsed_ns: Nanos,
    /// One finding per rule, in the order of the suite.
    pub findings: Vec<RuleFinding>,
}

/// What one rule found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub struct RuleFinding {
    /// Stable name of the rule, such as `two-hosts`.
    pub rule: String,
    /// The rule in a sentence.
    pub sentence: String,
    /// Where it is written: a section of an RFC, or the rules of a test type.
    pub source: String,
    /// How much it weighs.
    pub severity: Severity,
    /// Whether it is kept.
    pub ruling: Ruling,
    /// What was sent and received when it is broken, or why it does not apply; absent when it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// How much a rule weighs, lightest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Recommended: a SHOULD of the RFC, or good manners.
    Should,
    /// Required: a MUST of the RFC, the answer a test type demands, or safety.
    Must,
}

/// Whether a rule is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// It is.
    Kept,
    /// It is not.
    Broken,
    /// The server offers nothing that the rule speaks of, or it could not be asked.
    NotApplicable,
}

/// How many of the rules that apply are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// Rules that are kept.
    pub kept: u32,
    /// Rules that are kept or broken.
    pub applicable: u32,
}

/// Rules of which the ruling changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes<'a> {
    /// Kept before and broken now.
    pub broken: Vec<&'a str>,
    /// Broken before and kept now.
    pub kept: Vec<&'a str>,
}

/// What servers kept when they were asked before, by their names.
pub type Earlier = BTreeMap<String, Conformance>;

impl Conformance {
    /// How many of the rules that apply are kept.
    pub fn score(&self) -> Score {
        let mut score = Score { kept: 0, applicable: 0 };
        for finding in &self.findings {
            score.kept += u32::from(finding.ruling == Ruling::Kept);
            score.applicable += u32::from(finding.ruling != Ruling::NotApplicable);
        }
        score
    }

    /// Rules that are broken, in the order of the suite.
    pub fn broken(&self) -> impl Iterator<Item = &RuleFinding> {
        self.findings.iter().filter(|finding| finding.ruling == Ruling::Broken)
    }

    /// Rules that were kept in `earlier` and are broken now, and those of which the contrary holds, in the order of the suite.
    pub fn changes_since(&self, earlier: &Self) -> Changes<'_> {
        let turned = |from: Ruling, to: Ruling| {
            let was =
                move |rule: &str| earlier.findings.iter().any(|one| one.rule == rule && one.ruling == from);
            let now = self.findings.iter().filter(move |one| one.ruling == to);
            now.map(|one| one.rule.as_str()).filter(|rule| was(rule)).collect()
        };
        Changes { broken: turned(Ruling::Kept, Ruling::Broken), kept: turned(Ruling::Broken, Ruling::Kept) }
    }

    /// Whether a required rule is broken.
    pub fn breaks_a_must(&self) -> bool {
        self.broken().any(|finding| finding.severity == Severity::Must)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_what_was_ruled_both_times_and_differently() {
        let of = |rulings: &[(&str, Ruling)]| Conformance {
            elapsed_ns: Nanos::ZERO,
            findings: (rulings.iter())
                .map(|(rule, ruling)| RuleFinding {
                    rule: (*rule).to_owned(),
                    sentence: String::new(),
                    source: String::new(),
                    severity: Severity::Must,
                    ruling: *ruling,
                    evidence: None,
                })
                .collect(),
        };
        use Ruling::{Broken, Kept, NotApplicable};
        let before = of(&[("a", Kept), ("b", Broken), ("c", Broken), ("d", NotApplicable), ("e", Kept)]);
        let now = of(&[
            ("a", Broken),
            ("b", Kept),
            ("c", Broken),
            ("d", Broken),
            ("e", NotApplicable),
            ("f", Broken),
        ]);
        assert_eq!(now.changes_since(&before), Changes { broken: vec!["a"], kept: vec!["b"] });
        assert_eq!(now.changes_since(&now), Changes::default());
    }
}
