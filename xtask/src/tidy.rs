//! Style as a test: what a reviewer would otherwise have to say again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::unused::Uses;
use crate::{
    assertions, circles, claims, comments, dependencies, docstrings, examples, figures, layers, references,
    releases,
};

/// Longer files want to be two.
const LINES_AT_MOST: usize = 600;
/// Nothing larger belongs into a source tree.
const BYTES_AT_MOST: usize = 1 << 20;
/// Spelled apart, so that this file does not find itself.
const UNFINISHED: &str = concat!("TO", "DO");
/// Crates that may hold unsafe code.
const UNSAFE_ALLOWED: &[&str] = &["crates/engine", "crates/wire", "crates/preload"];

pub(crate) fn run(root: &Path) -> Result<(), Vec<String>> {
    let mut findings = Vec::new();
    let (mut functions, mut uses) = (BTreeSet::new(), Uses::default());
    let mut files = BTreeMap::new();
    for path in tracked_files(root)? {
        let Ok(bytes) = std::fs::read(root.join(&path)) else { continue };
        if bytes.len() > BYTES_AT_MOST {
            findings.push(format!("{}: {} bytes; keep it out of the tree", path.display(), bytes.len()));
        }
        let text = String::from_utf8(bytes).ok();
        if let Some(text) = &text {
            findings.extend(check_file(&path, text));
            if path.extension().is_some_and(|ending| ending == "rs") {
                functions.extend(claims::functions(text));
                uses.read(&path.to_string_lossy(), text);
            }
        }
        files.insert(path.to_string_lossy().into_owned(), text);
    }
    let document = |name: &str| files.get(name).and_then(Option::as_deref).unwrap_or_default();
    findings.extend(claims::check(document(claims::CLAIMS), &functions));
    findings.extend(claims::check_rules(document(claims::TRUST)));
    findings.extend(references::check(&files));
    findings.extend(circles::check(&files));
    findings.extend(dependencies::check(&files));
    findings.extend(examples::check(&files));
    findings.extend(assertions::check(&files));
    findings.extend(releases::check(&files));
    findings.extend(uses.findings());
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

fn tracked_files(root: &Path) -> Result<Vec<PathBuf>, Vec<String>> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root).output();
    let output = output
        .map_err(|e| vec![format!("git ls-files: {e}; tidy needs git to know which files are ours")])?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect())
}

fn check_file(path: &Path, text: &str) -> Vec<String> {
    let name = path.to_string_lossy();
    let mut findings = Vec::new();
    if name.starts_with("crates/") && name.ends_with("Cargo.toml") {
        findings.extend(layers::check(path, text));
    }
    if name.starts_with("crates/") && name.ends_with("src/lib.rs") {
        findings.extend(check_crate_root(&name, text));
    }
    if name == "Cargo.toml" {
        findings.extend(check_reasons(&name, text));
    }
    if [".md", ".yml", ".yaml"].iter().any(|ending| name.ends_with(ending)) {
        findings.extend(claims::check_workflows(&name, text));
    }
    let is_generated = text.lines().take(3).any(|line| line.contains("enerated from"));
    let is_source = [".rs", ".ts", ".tsx", ".css"].iter().any(|ending| name.ends_with(ending));
    if is_source && !is_generated {
        let lines = text.lines().count();
        if lines > LINES_AT_MOST {
            findings
                .push(format!("{name}: {lines} lines, {LINES_AT_MOST} at most; find the seam and split it"));
        }
        findings.extend(check_manners(&name, text));
        findings.extend(figures::check(&name, text));
        findings.extend(docstrings::check(&name, text));
        findings.extend(comments::check(&name, text));
    }
    findings
}

fn check_crate_root(name: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if !text.starts_with("//! ") {
        findings.push(format!("{name}: open with one sentence that says what the crate is"));
    }
    if !text.contains("Must not know") {
        findings.push(format!("{name}: say what the crate must not know"));
    }
    let may_be_unsafe = UNSAFE_ALLOWED.iter().any(|allowed| name.starts_with(allowed));
    if !may_be_unsafe && !text.contains("#![forbid(unsafe_code)]") {
        findings.push(format!("{name}: forbid unsafe code"));
    }
    findings
}

/// Each outside dependency stands on one line with its reason.
fn check_reasons(name: &str, text: &str) -> Vec<String> {
    let theirs = text.split("# theirs:").nth(1).unwrap_or_default().split("\n[").next().unwrap_or_default();
    let without = theirs.lines().skip(1).filter(|l| !l.trim().is_empty() && !l.contains(" # "));
    without.map(|line| format!("{name}: no reason given: {line}")).collect()
}

fn check_manners(name: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate().map(|(i, l)| (i + 1, l)) {
        if line.ends_with(' ') || line.contains('\t') {
            findings.push(format!("{name}:{number}: trailing space or tab"));
        }
        if line.contains(UNFINISHED) {
            findings.push(format!("{name}:{number}: unfinished; do it or open an issue"));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        findings.push(format!("{name}: no newline at the end"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, text: &str) -> Vec<String> {
        check_file(Path::new(name), text)
    }

    #[test]
    fn a_good_crate_root_passes() {
        let text = "//! A thing.\n//!\n//! Must not know: the rest.\n#![forbid(unsafe_code)]\n";
        assert!(findings("crates/model/src/lib.rs", text).is_empty());
    }

    #[test]
    fn a_crate_root_without_manners_is_found() {
        assert_eq!(findings("crates/model/src/lib.rs", "mod a;\n").len(), 3);
        assert_eq!(findings("crates/engine/src/lib.rs", "//! A thing. Must not know: the rest.\n").len(), 0);
    }

    #[test]
    fn long_files_tabs_and_missing_newlines_are_found() {
        assert_eq!(findings("a.rs", &"\n".repeat(601)).len(), 1);
        assert_eq!(findings("a.rs", "\tlet x;\n").len(), 1);
        assert_eq!(findings("a.rs", "x").len(), 1);
        assert!(findings("a.md", "\tx").is_empty(), "prose has its own manners");
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let text = "# theirs: x\nserde = '1' # data\ntoml = '1'\n\n[other]\nx = 1\n";
        assert_eq!(findings("Cargo.toml", text), ["Cargo.toml: no reason given: toml = '1'"]);
    }
}
