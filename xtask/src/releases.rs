//! The workspace's version is one that the changelog tells of, under a heading with its date (keepachangelog.com).

use std::collections::BTreeMap;

const CHANGELOG: &str = "CHANGELOG.md";
const WORKSPACE: &str = "Cargo.toml";

/// A version without a dated section.
pub(crate) fn check(files: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let text = |name: &str| files.get(name).and_then(Option::as_deref).unwrap_or_default();
    let Some(version) = version(text(WORKSPACE)) else {
        return vec![format!("{WORKSPACE}: [workspace.package] has no version")];
    };
    match text(CHANGELOG).lines().filter_map(released).any(|released| released == version) {
        true => Vec::new(),
        false => {
            vec![format!("{CHANGELOG}: no section `## [{version}] - YYYY-MM-DD`, the version in {WORKSPACE}")]
        }
    }
}

/// The version that all members share.
fn version(workspace: &str) -> Option<String> {
    let workspace: toml::Table = workspace.parse().ok()?;
    Some(workspace.get("workspace")?.get("package")?.get("version")?.as_str()?.to_owned())
}

/// The version of a heading with a date.
fn released(line: &str) -> Option<&str> {
    let (version, date) = line.strip_prefix("## [")?.split_once("] - ")?;
    let digits = |part: &str, length| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = date.split('-').collect();
    matches!(parts[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
        .then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_a_dated_section() {
        let findings = |changelog: &str| {
            let workspace = "[workspace.package]\nversion = \"1.2.3\"\n";
            let file = |name: &str, text: &str| (name.to_owned(), Some(text.to_owned()));
            check(&[file(WORKSPACE, workspace), file(CHANGELOG, changelog)].into()).len()
        };
        assert_eq!(findings("## [Unreleased]\n## [1.2.3] - 2026-11-22\n## [1.2.2] - 2026-01-01\n"), 0);
        for without in
            ["## [Unreleased]\n", "## [1.2.3]\n", "## [1.2.3] - soon\n", "## [1.2.2] - 2026-11-22\n"]
        {
            assert_eq!(findings(without), 1, "{without}");
        }
    }
}
