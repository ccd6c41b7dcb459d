//! Dependencies that nobody uses: a crate that a manifest names and no source file, or the workspace and no manifest.

use std::collections::{BTreeMap, BTreeSet};

use crate::unused::without_tests;

/// Packages whose library has another name than theirs.
const LIBRARY_NAMES: &[(&str, &str)] = &[("perf-event2", "perf_event")];

/// Manifests against the sources beside them; of all files by their paths.
pub(crate) fn check(files: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let text = |name: &str| files.get(name).and_then(Option::as_deref).unwrap_or_default();
    let manifests: Vec<(&str, toml::Table)> = files
        .keys()
        .filter(|name| name.ends_with("Cargo.toml") && is_ours(name))
        .filter_map(|name| Some((name.strip_suffix("Cargo.toml")?, text(name).parse().ok()?)))
        .collect();
    let sources = files.iter().filter(|(name, _)| name.ends_with(".rs"));
    let sources: Sources<'_> = sources
        .filter_map(|(name, text)| Some((name.as_str(), Source::of(name, text.as_deref()?))))
        .collect();
    let mut findings: Vec<String> =
        manifests.iter().flat_map(|(folder, manifest)| unused(folder, manifest, &sources)).collect();
    findings.extend(unclaimed(text("Cargo.toml"), &manifests));
    findings
}

/// A member of the workspace, or the workspace.
fn is_ours(name: &str) -> bool {
    name == "Cargo.toml" || name.starts_with("crates/") || name.starts_with("xtask/")
}

/// A table of dependencies, which files may use them, and whether their tests may.
type Kind<'a> = (&'a str, &'a dyn Fn(&str) -> bool, bool);

/// Dependencies of a crate that no file names in which they could be used.
fn unused(folder: &str, manifest: &toml::Table, sources: &Sources<'_>) -> Vec<String> {
    let is_source = |rest: &str| rest.starts_with("src/") && !rest.ends_with("tests.rs");
    let kinds: [Kind<'_>; 3] = [
        ("dependencies", &is_source, false),
        ("dev-dependencies", &|rest| rest != "build.rs", true),
        ("build-dependencies", &|rest| rest == "build.rs", true),
    ];
    let mut findings = Vec::new();
    for (kind, is_place, with_tests) in kinds {
        let readers = readers(folder, is_place, sources);
        let is_used = |name: &&str| {
            let library = library(name);
            readers.iter().any(|source| source.names(&library, with_tests))
        };
        findings.extend(
            names(manifest.get(kind)).filter(|name| !is_used(name)).map(|name| {
                format!("{folder}Cargo.toml: nothing uses {name} of [{kind}]; remove or move it")
            }),
        );
    }
    findings
}

/// The sources at some place of a crate, and those that they take from elsewhere.
fn readers<'s>(
    folder: &str,
    is_place: &dyn Fn(&str) -> bool,
    sources: &'s Sources<'s>,
) -> Vec<&'s Source<'s>> {
    let is_own = |name: &str| name.strip_prefix(folder).is_some_and(is_place);
    let own = sources.iter().filter(|(name, _)| is_own(name));
    let shared: Vec<&String> = own.flat_map(|(_, source)| &source.shared).collect();
    let is_shared = |name: &str| {
        let is_it = |path: &&String| {
            path.strip_suffix("mod.rs").map_or(name == path.as_str(), |folder| name.starts_with(folder))
        };
        shared.iter().any(is_it)
    };
    let all = sources.iter().filter(|(name, _)| is_own(name) || is_shared(name));
    all.map(|(_, source)| source).collect()
}

/// Files that a source file takes from elsewhere, by `#[path = "…"]`; a `mod.rs` stands for its folder.
fn shared(name: &str, text: &str) -> impl Iterator<Item = String> {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let paths = text.lines().filter_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]"));
    paths.map(move |path| {
        let mut parts: Vec<&str> = folder.split('/').collect();
        for part in path.split('/') {
            match part {
                ".." => parts.truncate(parts.len().saturating_sub(1)),
                _ => parts.push(part),
            }
        }
        parts.join("/")
    })
}

/// Dependencies of the workspace that no crate takes.
fn unclaimed(workspace: &str, manifests: &[(&str, toml::Table)]) -> Vec<String> {
    let workspace: toml::Table = workspace.parse().unwrap_or_default();
    let offered = workspace.get("workspace").and_then(|it| it.get("dependencies"));
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let taken: BTreeSet<&str> =
        manifests.iter().flat_map(|(_, it)| kinds.iter().flat_map(|kind| names(it.get(*kind)))).collect();
    let unclaimed = names(offered).filter(|name| !taken.contains(name));
    unclaimed.map(|name| format!("Cargo.toml: no crate uses {name}; remove it")).collect()
}

fn names(table: Option<&toml::Value>) -> impl Iterator<Item = &str> {
    table.and_then(toml::Value::as_table).into_iter().flat_map(|table| table.keys().map(String::as_str))
}

/// What code calls a package.
fn library(package: &str) -> String {
    let other = LIBRARY_NAMES.iter().find(|(name, _)| *name == package);
    other.map_or_else(|| package.replace('-', "_"), |(_, library)| (*library).to_owned())
}

/// All source files by their paths.
type Sources<'t> = BTreeMap<&'t str, Source<'t>>;

/// What a source file names; it is taken apart once, though several crates may ask for it.
struct Source<'t> {
    /// The words outside its comments and outside the tests at its end.
    code: BTreeSet<&'t str>,
    /// The words outside the comments of the tests at its end.
    tests: BTreeSet<&'t str>,
    /// The files that it takes from elsewhere.
    shared: Vec<String>,
}

impl<'t> Source<'t> {
    fn of(name: &str, text: &'t str) -> Self {
        let (code, tests) = text.split_at(without_tests(text).len());
        Self {
            code: words(code).collect(),
            tests: words(tests).collect(),
            shared: shared(name, text).collect(),
        }
    }

    fn names(&self, word: &str, with_tests: bool) -> bool {
        self.code.contains(word) || (with_tests && self.tests.contains(word))
    }
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), Some((*text).to_owned()));
        check(&files.iter().map(owned).collect())
    }

    #[test]
    fn what_no_source_names_is_found() {
        let workspace = "[workspace.dependencies]\na-b = '1'\nperf-event2 = '1'\ncc = '1'\ntar = '1'\n";
        let manifest = "[dependencies]\na-b.workspace = true\nperf-event2.workspace = true\n\
                        [dev-dependencies]\ntar.workspace = true\n[build-dependencies]\ncc.workspace = true\n";
        let used = [
            ("Cargo.toml", workspace),
            ("crates/x/Cargo.toml", manifest),
            ("crates/x/src/lib.rs", "use a_b::C; // cc\nperf_event::new();\n"),
            ("crates/x/tests/it.rs", "tar::new();\n"),
            ("crates/x/build.rs", "cc::build();\n"),
        ];
        assert_eq!(findings(&used), [""; 0]);
        let mut only_tested = used;
        only_tested[2].1 = "perf_event::new();\n// a_b\n#[cfg(test)]\nmod tests { a_b::new(); }\n";
        assert_eq!(
            findings(&only_tested),
            ["crates/x/Cargo.toml: nothing uses a-b of [dependencies]; remove or move it"]
        );
        let mut lent = used;
        lent[3].1 = "#[path = \"../../y/tests/lent.rs\"]\nmod lent;\n";
        let lent = [&lent[..], &[("crates/y/tests/lent.rs", "tar::new();\n")]].concat();
        assert_eq!(findings(&lent), [""; 0]);
        let mut lent_folder = used;
        lent_folder[3].1 = "#[path = \"../../y/tests/lent/mod.rs\"]\nmod lent;\n";
        let lent = [&lent_folder[..], &[("crates/y/tests/lent/part.rs", "tar::new();\n")]].concat();
        assert_eq!(findings(&lent), [""; 0]);
        let mut elsewhere = used;
        elsewhere[4].0 = "crates/xy/build.rs";
        assert!(findings(&elsewhere)[0].contains("nothing uses cc of [build-dependencies]"));
        assert_eq!(
            findings(&[used[0], ("crates/x/Cargo.toml", "")]).len(),
            4,
            "the workspace's, without a crate"
        );
    }
}
