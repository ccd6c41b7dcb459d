//! What documents promise: every claim of docs/security.md names its tests, and every test that it names exists; every
//! workflow in a document names its actions by commit and leaves no token on the disk; every rule of trust has its entry.

use std::collections::BTreeSet;

use assay_model::rule::Rule;

/// The document whose bullets with a test are claims.
pub(crate) const CLAIMS: &str = "docs/security.md";
/// Where its claims begin: above are only words about them.
const FIRST_SECTION: &str = "\n## ";
/// The page with tables of all rules of trust, whose names are in the first column.
pub(crate) const TRUST: &str = "docs/method/trust.md";
/// Hexadecimal digits of a commit.
const COMMIT_DIGITS: usize = 40;

/// Names of the functions in a source file.
pub(crate) fn functions(source: &str) -> impl Iterator<Item = String> {
    let named = |line: &str| {
        let name = line.trim_start().strip_prefix("fn ")?.split(['(', '<']).next()?;
        Some(name.to_owned())
    };
    source.lines().filter_map(named)
}

/// Claims without a test, and tests that do not exist.
pub(crate) fn check(text: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let claims = text.split_once(FIRST_SECTION).map_or("", |(_, claims)| claims);
    claims.split("\n- ").skip(1).flat_map(|claim| check_claim(claim, tests)).collect()
}

fn check_claim(claim: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let claim = claim.split("\n\n").next().unwrap_or_default();
    let told = claim.lines().next().unwrap_or_default();
    let names = claim.split_once("(test: ").or_else(|| claim.split_once("(tests: "));
    let Some((_, names)) = names else {
        return vec![format!("{CLAIMS}: no test beside the claim `{told}`")];
    };
    let names = names.split('`').skip(1).step_by(2);
    let absent = names.filter(|name| !tests.contains(*name));
    absent.map(|name| format!("{CLAIMS}: there is no test `{name}`, of the claim `{told}`")).collect()
}

/// Rules without an entry in the page on trust.
pub(crate) fn check_rules(text: &str) -> Vec<String> {
    let entries = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let told: BTreeSet<&str> = entries.flat_map(|entry| entry.split('`').skip(1).step_by(2)).collect();
    let untold = Rule::ALL.iter().filter(|rule| !told.contains(rule.name()));
    untold.map(|rule| format!("{TRUST}: no table tells of the rule `{rule}`")).collect()
}

/// Actions that a document names by a tag, which can be moved, and checkouts that leave their token behind.
pub(crate) fn check_workflows(name: &str, text: &str) -> Vec<String> {
    let is_commit = |reference: &str| {
        reference.len() == COMMIT_DIGITS && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let uses = || text.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("uses: "));
    let mut findings = Vec::new();
    for action in uses().filter_map(|action| action.split_whitespace().next()) {
        if !action.split_once('@').is_some_and(|(_, reference)| is_commit(reference)) {
            findings.push(format!("{name}: {action}: name the commit; a tag can be moved to other code"));
        }
    }
    let checkouts = uses().filter(|action| action.starts_with("actions/checkout@")).count();
    if text.matches("persist-credentials: false").count() < checkouts {
        findings.push(format!(
            "{name}: a checkout without `persist-credentials: false` leaves a token on the disk"
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_without_a_test_that_exists_is_found() {
        let tests = functions("#[test]\nfn one() {}\n    fn two(engine: Kind) {}\n").collect();
        let head = "# Promises\n\n- no claim\n\n## Part\n\n";
        let of = |claims: &str| check(&format!("{head}{claims}"), &tests);
        assert!(of("- so it is\n  (tests: `one`, `two`)\n- and so (test: `one`)\n\nProse.\n").is_empty());
        assert!(of("- so it is\n\n(test: `one`)\n")[0].contains("no test beside the claim `so it is`"));
        assert!(of("- so\n  (test: `three`)\n")[0].contains("there is no test `three`"));
    }

    #[test]
    fn a_rule_without_an_entry_in_a_table_is_found() {
        let ours = include_str!("../../docs/method/trust.md");
        assert!(check_rules(ours).is_empty());
        let findings = check_rules(&ours.replace("| `at-limit` |", "| it | `at-limit`"));
        assert_eq!(findings, ["docs/method/trust.md: no table tells of the rule `at-limit`"]);
    }

    #[test]
    fn actions_are_named_by_commit_and_leave_no_token() {
        let pinned = format!("- uses: actions/checkout@{}\n", "0123456789".repeat(4));
        assert_eq!(check_workflows("a.md", &pinned).len(), 1, "the token");
        let whole = format!("{pinned}  with: {{ persist-credentials: false }}\n");
        assert!(check_workflows("a.md", &whole).is_empty());
        assert_eq!(check_workflows("a.md", "  uses: actions/upload-artifact@v4\n").len(), 1);
        let ours = include_str!("../../docs/github-actions.md");
        assert!(ours.contains("uses: actions/checkout@") && check_workflows("ours", ours).is_empty());
    }
}
