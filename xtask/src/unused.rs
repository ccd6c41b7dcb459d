//! Statistics that nobody uses: a function that only tests call looks as if a verdict depended on it.

use std::collections::BTreeSet;

/// The crate whose public functions must be used.
const CRATE: &str = "crates/stats/src/";

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
        let is_source =
            (name.starts_with("crates/") && name.contains("/src/")) || name.starts_with("xtask/src/");
        if !is_source || name.ends_with("tests.rs") {
            return;
        }
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = || code.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
        if name.starts_with(CRATE) {
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
            self.words.iter().any(|(file, words)| file != at && words.contains(function))
        };
        let unused = self.defined.iter().filter(|function| !is_used(function));
        unused
            .map(|(at, function)| format!("{at}: only tests use `{function}`; remove it, or make it private"))
            .collect()
    }
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
        uses.read("crates/host/src/d.rs", "pub fn somebody_elses() {}");
        assert_eq!(
            uses.findings(),
            ["crates/stats/src/a.rs: only tests use `lonely`; remove it, or make it private"]
        );
    }
}
