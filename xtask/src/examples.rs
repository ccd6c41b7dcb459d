//! Examples in documentation are run, and rustdoc is not started for crates that have none: it takes as long to find that out as a
//! compiler takes to check the crate.

use std::collections::BTreeMap;

/// In a crate's manifest: rustdoc looks for no examples.
const SWITCHED_OFF: &str = "doctest = false";

/// Crates whose examples are not run, and crates in which rustdoc looks for examples in vain; `files` are all texts by path.
pub(crate) fn check(files: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let manifests =
        files.iter().filter(|(name, _)| name.starts_with("crates/") && name.ends_with("/Cargo.toml"));
    manifests.filter_map(|(name, manifest)| check_crate(files, name, manifest.as_deref()?)).collect()
}

fn check_crate(files: &BTreeMap<String, Option<String>>, manifest: &str, text: &str) -> Option<String> {
    let sources = format!("{}src/", manifest.strip_suffix("Cargo.toml")?);
    if !files.contains_key(&format!("{sources}lib.rs")) {
        return None;
    }
    let of_crate = files.iter().filter(|(name, _)| name.starts_with(&sources) && name.ends_with(".rs"));
    let with_example =
        of_crate.filter(|(_, text)| text.as_deref().is_some_and(has_example)).map(|(name, _)| name);
    match (with_example.min(), text.contains(SWITCHED_OFF)) {
        (Some(file), true) => {
            Some(format!("{manifest}: {file} has an example; remove `{SWITCHED_OFF}`, so that it is run"))
        }
        (None, false) => {
            Some(format!("{manifest}: its documentation has no example; write `{SWITCHED_OFF}` below [lib]"))
        }
        _ => None,
    }
}

/// Whether the documentation in a source file has a fence that opens with nothing, or with words that are rustdoc's own.
fn has_example(source: &str) -> bool {
    let lines = source.lines().map(str::trim_start);
    let documentation =
        lines.filter_map(|line| line.strip_prefix("///").or_else(|| line.strip_prefix("//!")));
    let fences = documentation.filter_map(|line| line.trim().strip_prefix("```"));
    // Every second one closes.
    fences.step_by(2).any(|language| !["text", "ignore", "console", "toml", "json"].contains(&language))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "/// ```\n/// assert!(true);\n/// ```\n";
    const DRAWING: &str = "//! ```text\n//! a → b\n//! ```\n";

    fn findings(manifest: &str, source: &str) -> Vec<String> {
        let file = |name: &str, text: &str| (format!("crates/a/{name}"), Some(text.to_owned()));
        check(&[file("Cargo.toml", manifest), file("src/lib.rs", source)].into())
    }

    #[test]
    fn rustdoc_looks_where_there_are_examples_and_nowhere_else() {
        let both = format!("{DRAWING}{EXAMPLE}");
        assert_eq!(findings("[package]\n", &both), Vec::<String>::new());
        assert_eq!(findings("[lib]\ndoctest = false\n", DRAWING), Vec::<String>::new());
        assert!(findings("[lib]\ndoctest = false\n", &both)[0].contains("src/lib.rs has an example"));
        assert!(findings("[package]\n", DRAWING)[0].contains("has no example"));
    }
}
