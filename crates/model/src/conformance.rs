//! What a server keeps of the rules of HTTP/1.1 and of a test type: `assay check --json`, and part of a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{NotRun, Program};
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
    pub findings: Vec<Finding>,
}

/// What one rule found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
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
    pub fn broken(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.ruling == Ruling::Broken)
    }

    /// Whether a required rule is broken.
    pub fn breaks_a_must(&self) -> bool {
        self.broken().any(|finding| finding.severity == Severity::Must)
    }
}
