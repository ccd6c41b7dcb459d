//! A single check of whether a number may be believed.

#[cfg(all(feature = "schemas", not(test)))]
use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Evidence;
use crate::JsonSchema;
use crate::rule::Rule;

/// The outcome of one rule about a measurement, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Check {
    /// The rule.
    pub rule: Rule,
    /// What the rule found.
    pub outcome: CheckOutcome,
    /// The figures and names that it rests on.
    #[serde(rename = "found")]
    pub evidence: Evidence,
}

/// How a check ended, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Outcome")]
pub enum CheckOutcome {
    /// Nothing to object.
    Pass,
    /// The number stands, with a caveat.
    Warn,
    /// The number must not be used as what it claims to be.
    Void,
}

impl Check {
    /// A check that did not pass.
    pub fn objection(rule: Rule, outcome: CheckOutcome, evidence: Evidence) -> Self {
        Self { rule, outcome, evidence }
    }

    /// A check that passed.
    pub fn pass(rule: Rule, evidence: Evidence) -> Self {
        Self { rule, outcome: CheckOutcome::Pass, evidence }
    }

    /// Whether the number must not be used for it.
    pub fn is_void(&self) -> bool {
        self.outcome == CheckOutcome::Void
    }
}

/// The outcome of one rule about a measurement, with its evidence.
#[derive(Deserialize, JsonSchema)]
struct Written {
    /// Stable name of the rule, such as `generator-saturated`.
    #[schemars(with = "String")]
    rule: Rule,
    /// What the rule found.
    outcome: CheckOutcome,
    /// The figures and names that it rests on; absent in records that were written before evidence had types.
    found: Option<Evidence>,
    /// The evidence in a sentence; only in what is written for readers, and in those records.
    evidence: Option<String>,
    /// What to do about it, where it objects; only there, too.
    #[serde(rename = "remedy")]
    _remedy: Option<String>,
}

impl From<Written> for Check {
    fn from(written: Written) -> Self {
        let told = || Evidence::Told { sentence: written.evidence.unwrap_or_default() };
        Self { rule: written.rule, outcome: written.outcome, evidence: written.found.unwrap_or_else(told) }
    }
}

#[cfg(all(feature = "schemas", not(test)))]
impl JsonSchema for Check {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Check".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_read_with_its_figures_or_as_the_sentence_of_an_older_record() {
        let read = |text: &str| serde_json::from_str::<Check>(text).expect("a check");
        let older = read(r#"{"rule":"answers","outcome":"void","evidence":"0 came","remedy":"wait"}"#);
        assert_eq!(older.evidence, Evidence::Told { sentence: "0 came".to_owned() });
        let check = Check::objection(Rule::Answers, CheckOutcome::Void, Evidence::RightAnswers { ok: 0 });
        let written = serde_json::to_string(&check).expect("json");
        assert_eq!(written, r#"{"rule":"answers","outcome":"void","found":{"kind":"right_answers","ok":0}}"#);
        assert_eq!(read(&written), check);
    }
}
