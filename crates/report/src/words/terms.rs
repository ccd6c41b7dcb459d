//! What values of the model are called, in a word or two.

use assay_model::record::{Stage, State};
use assay_model::rule::Rule;
use assay_model::verdict::{LimitedBy, RedlineEnd};

/// Names of rules, divided by spaces.
pub(crate) fn rules_text(rules: impl IntoIterator<Item = Rule>) -> String {
    rules.into_iter().map(Rule::name).collect::<Vec<_>>().join(" ")
}

/// What a step in a contender's life is called after the fact.
pub(crate) fn stage_in_words(stage: Stage) -> &'static str {
    match stage {
        // Its reason tells what is missing: a toolchain, or a workload that it answers.
        Stage::Needs => "not run",
        Stage::Build => "did not build",
        Stage::Start => "did not start",
        Stage::Answer => "answered wrongly",
        Stage::Load => "failed under load",
    }
}

/// Why a run is not whole; `None` when it is.
pub(crate) fn state_in_words(state: State) -> Option<&'static str> {
    match state {
        State::Complete => None,
        State::Running => Some("the run had not ended; this is what was measured so far"),
        State::BudgetSpent => Some("the time allowed was spent before all planned rounds were measured"),
        State::Interrupted => Some("the run was stopped by hand; this is what was measured until then"),
    }
}

/// What held a throughput where it is, in a word or two.
pub(crate) fn limit_in_words(limited_by: LimitedBy) -> &'static str {
    match limited_by {
        LimitedBy::Server => "server",
        LimitedBy::ServerCore => "one core",
        LimitedBy::Generator => "generator",
        LimitedBy::Both => "both",
        LimitedBy::Database => "database",
        LimitedBy::Upstream => "upstream",
        LimitedBy::Link => "link",
        LimitedBy::Connections => "connections",
        LimitedBy::Neither => "waiting",
        LimitedBy::Unknown => "unknown",
    }
}

/// How a search for a redline ended, in a word or two; nothing for one that ended well.
pub(crate) fn redline_end_in_words(end: RedlineEnd) -> &'static str {
    match end {
        RedlineEnd::Confirmed => "",
        RedlineEnd::AboveHighest => "keeps all that was offered",
        RedlineEnd::BelowLowest => "cannot be kept at any rate",
        RedlineEnd::Unfinished => "not confirmed",
        RedlineEnd::TooManyVoid => "given up: void windows",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page has the words in a file of its own, so that none of them is written by hand a second time.
    #[test]
    fn the_page_says_what_everything_else_says() {
        let words: serde_json::Value =
            serde_json::from_str(include_str!("../../../../report-ui/src/words.json")).expect("JSON");
        fn all<E: serde::de::DeserializeOwned>(
            words: &serde_json::Value,
            of: &str,
            said: fn(E) -> &'static str,
        ) {
            let told = words[of].as_object().expect("an object");
            assert!(told.len() > 2, "{of}");
            for (name, word) in told {
                let known = serde_json::from_value(name.as_str().into()).expect("a name of the model");
                assert_eq!(said(known), word.as_str().expect("text"), "{of}: {name}");
            }
        }
        all(&words, "redline_end", redline_end_in_words);
        all(&words, "limited_by", limit_in_words);
        all(&words, "stage", stage_in_words);
    }
}
