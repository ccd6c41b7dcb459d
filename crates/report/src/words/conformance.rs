//! The rules that a contender breaks or keeps, in words.

use assay_model::conformance::{Changes, Conformance, Severity};

/// The rules of HTTP/1.1 or of its test types that a contender breaks, in words; nothing where it keeps all.
pub(crate) fn broken_rules(conformance: &Conformance) -> Option<String> {
    let of = |severity, word: &str| {
        let broken = conformance.broken().filter(|finding| finding.severity == severity);
        named(word, &broken.map(|finding| finding.rule.as_str()).collect::<Vec<_>>())
    };
    in_one([of(Severity::Must, "must keep but breaks"), of(Severity::Should, "should keep but breaks")])
}

/// The rules that it no longer keeps, or keeps now, in words; nothing where there is none.
pub(crate) fn changed_rules(changes: &Changes<'_>) -> Option<String> {
    in_one([named("newly breaks", &changes.broken), named("newly keeps", &changes.kept)])
}

fn named(what: &str, rules: &[&str]) -> Option<String> {
    (!rules.is_empty()).then(|| format!("{what} {}", rules.join(", ")))
}

fn in_one(parts: [Option<String>; 2]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
