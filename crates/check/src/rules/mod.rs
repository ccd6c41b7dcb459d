//! The rules of HTTP/1.1, one file per theme.

mod answers;
mod bodies;
mod delivery;
mod endurance;
mod framing;
mod grammar;
mod persistence;
mod refusal;
mod targets;

use crate::rule::Rule;

pub(crate) use answers::{date_of, moves};
pub(crate) use refusal::each;

/// A path that nobody has.
const NOWHERE: &str = "/assay-check/there-is-nothing-here";

/// The rules, in the order in which findings are told.
const ALL: [&[Rule]; 8] = [
    delivery::RULES,
    persistence::RULES,
    answers::RULES,
    bodies::RULES,
    targets::RULES,
    framing::RULES,
    grammar::RULES,
    endurance::RULES,
];

/// Every rule of HTTP/1.1, in the order in which findings are told.
pub fn of_http() -> impl Iterator<Item = &'static Rule> {
    ALL.iter().flat_map(|theme| theme.iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestType;

    #[test]
    fn every_rule_has_a_name_of_its_own_a_sentence_and_a_source() {
        let all: Vec<&Rule> = of_http().chain(TestType::ALL.into_iter().flat_map(TestType::rules)).collect();
        for (i, rule) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other.id != rule.id), "{} twice", rule.id);
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(rule.id.chars().all(plain), "{}", rule.id);
            assert!(rule.sentence.ends_with('.') && !rule.source.is_empty(), "{}", rule.id);
        }
    }
}
