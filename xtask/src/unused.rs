//! Code that nobody uses: a function that only tests call looks as if something depended on it.

use std::collections::BTreeSet;

/// The crate whose functions are used by code alone: a statistic that only tests call looks as if a verdict depended on it. Functions of
/// other crates may be there for tests and examples outside the crate's code.
const STATISTICS: &str = "crates/stats/src/";

/// Source files by name and text; what they test is left out.
#[derive(Default)]
pub(crate) struct Uses {
    /// The words of each file.
    words: Vec<(String, BTreeSet<String>)>,
    /// File and name of each public function.
    defined: Vec<(String, String)>,
}

impl Uses {
    /// Takes note of what a file defines and of what it names.
    pub(crate) fn read(&mut self, name: &str, text: &str) {
        if name.ends_with("tests.rs") || (name.contains("/src/") && name.contains("/tests/")) {
            return;
        }
        let code = without_tests(text);
        let lines = || code.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
        if is_code(name) {
            let defined = lines().filter_map(|line| line.strip_prefix("pub fn ").map(first_word));
            self.defined.extend(defined.map(|function| (name.to_owned(), function.to_owned())));
        }
        let words = lines().flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_')));
        self.words
            .push((name.to_owned(), words.filter(|word| !word.is_empty()).map(str::to_owned).collect()));
    }

    /// Functions that no other file names.
    pub(crate) fn findings(&self) -> Vec<String> {
        let is_used = |(at, function): &&(String, String)| {
            let counts = |file: &str| file != at && (is_code(file) || !at.starts_with(STATISTICS));
            self.words.iter().any(|(file, words)| counts(file) && words.contains(function))
        };
        let unused = self.defined.iter().filter(|function| !is_used(function));
        unused
            .map(|(at, function)| format!("{at}: only tests use `{function}`; remove it, or make it private"))
            .collect()
    }
}

/// Whether a file is part of a program, and not a test or an example.
fn is_code(name: &str) -> bool {
    (name.starts_with("crates/") && name.contains("/src/")) || name.starts_with("xtask/src/")
}

/// Everything before a module of tests that is in the file itself; one in a file of its own may be named anywhere.
pub(crate) fn without_tests(text: &str) -> &str {
    let begins = |(at, _): &(usize, &str)| {
        let module = text[*at..].lines().nth(1).unwrap_or_default();
        module.starts_with("mod ") && module.contains('{')
    };
    let tests = text.match_indices("#[cfg(test)]\nmod ").find(begins);
    tests.map_or(text, |(at, _)| &text[..at])
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_only_tests_use_is_found() {
        let mut uses = Uses::default();
        let own = "pub fn used() {}\n/// As lonely().\npub fn lonely<T>() {}\n#[cfg(test)]\nmod tests { lonely(); }\n";
        uses.read("crates/stats/src/a.rs", own);
        uses.read(
            "crates/stats/src/b.rs",
            "fn b() { a::used() }\n// lonely\n#[cfg(test)]\nmod tests { a::lonely() }\n",
        );
        uses.read("crates/stats/tests/c.rs", "lonely()");
        assert_eq!(
            uses.findings(),
            ["crates/stats/src/a.rs: only tests use `lonely`; remove it, or make it private"]
        );
    }

    #[test]
    fn functions_of_other_crates_may_be_there_for_tests_of_others() {
        let mut uses = Uses::default();
        let own = "#[cfg(test)]\nmod tests;\npub fn made() {}\npub fn lonely() {}\n#[cfg(test)]\nmod own { lonely(); }\n";
        uses.read("crates/host/src/a.rs", own);
        uses.read("crates/host/src/a/tests.rs", "lonely()");
        uses.read("crates/host/tests/b.rs", "made()");
        assert_eq!(
            uses.findings(),
            ["crates/host/src/a.rs: only tests use `lonely`; remove it, or make it private"]
        );
    }
}
