//! Docstrings are read alone, in a list or beside an editor's cursor: the first sentence of each names its subject, instead of
//! pointing at the line above or asking a question.

/// Words with which no docstring begins.
const OPENINGS: &[&str] = &["The same", "Which", "Whose", "Ditto"];

/// Docstrings of a source file that do not say what they are about.
pub(crate) fn check(name: &str, text: &str) -> Vec<String> {
    if !name.ends_with(".rs") {
        return Vec::new();
    }
    let mut before = None;
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let said = doc(line);
        if let (None, Some(said)) = (before, said) {
            let fault = opening(said).map(|opening| format!("begins with “{opening}”"));
            let fault = fault.or_else(|| is_one_word(said).then(|| format!("says no more than “{said}”")));
            findings.extend(
                fault.map(|fault| format!("{name}:{}: a docstring {fault}; name its subject", index + 1)),
            );
        }
        before = said;
    }
    findings
}

/// The text of a line of documentation; empty between two paragraphs.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start)
}

fn opening(text: &str) -> Option<&'static str> {
    let is_word_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
    OPENINGS.iter().copied().find(|opening| text.strip_prefix(opening).is_some_and(is_word_end))
}

/// Whether a sentence is one word; what is written as code or with a digit names something, and a flag's help has no full stop.
fn is_one_word(text: &str) -> bool {
    let word = text.trim_end().strip_suffix('.');
    word.is_some_and(|word| !word.is_empty() && word.chars().all(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_docstring_that_names_no_subject_is_found_at_its_first_line_only() {
        let text = [
            "//! Cells of a table.",
            "//!",
            "//! Which is told in two paragraphs.",
            "",
            "/// Which.",
            "struct A;",
            "    /// A cell.",
            "    /// The same again.",
            "    a: u8,",
            "/// The same of the other.",
            "fn b() {}",
            "// Whose.",
            "/// Whichever comes first.",
            "fn c() {}",
        ]
        .join("\n");
        let found = check("crates/x/src/a.rs", &text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("a.rs:5: a docstring begins with “Which”"), "{found:?}");
        assert!(found[1].contains("a.rs:10: a docstring begins with “The same”"), "{found:?}");
        assert!(check("a.md", &text).is_empty());
    }

    #[test]
    fn a_docstring_of_one_word_is_found_and_a_name_or_a_flags_help_is_not() {
        let text = [
            "/// Why.",
            "a: u8,",
            "/// `close(2)`.",
            "/// Connections",
            "",
            "/// Connections",
            "",
            "/// HTTP/1.1.",
        ]
        .join("\n");
        let found = check("crates/x/src/a.rs", &text);
        assert_eq!(found, ["crates/x/src/a.rs:1: a docstring says no more than “Why.”; name its subject"]);
    }
}
