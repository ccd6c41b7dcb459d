//! Assertions for debugging are compiled into crates that have any, or code with `unsafe`, which the standard library's own assertions
//! watch; into others they are not, because they would take a tenth of the tests' time.

use std::collections::BTreeMap;

/// In the manifest of the workspace, behind a package's name.
const SWITCHED_ON: &str = "debug-assertions = true";
/// What needs them.
const NEEDS: [&str; 8] = [
    "debug_assert",
    "cfg(debug_assertions)",
    "cfg!(debug_assertions)",
    "unsafe {",
    "unsafe fn ",
    "unsafe impl ",
    "unsafe extern ",
    "unsafe trait ",
];

/// Crates that need assertions for debugging and are tested without them, and the other way round; `files` are all texts by path.
pub(crate) fn check(files: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let workspace = files.get("Cargo.toml").and_then(Option::as_deref).unwrap_or_default();
    let manifests =
        files.iter().filter(|(name, _)| name.starts_with("crates/") && name.ends_with("/Cargo.toml"));
    manifests.filter_map(|(name, text)| check_crate(files, workspace, name, text.as_deref()?)).collect()
}

fn check_crate(
    files: &BTreeMap<String, Option<String>>,
    workspace: &str,
    manifest: &str,
    text: &str,
) -> Option<String> {
    let folder = manifest.strip_suffix("Cargo.toml")?;
    let package = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))?;
    let sources = files.iter().filter(|(name, _)| name.starts_with(folder) && name.ends_with(".rs"));
    let needing = sources.filter(|(_, text)| text.as_deref().is_some_and(needs_them)).map(|(name, _)| name);
    let settings = workspace.lines().filter(|line| line.contains(SWITCHED_ON));
    let is_on = settings.filter_map(|line| line.split([' ', '.']).next()).any(|name| name == package);
    match (needing.min(), is_on) {
        (Some(file), false) => Some(format!(
            "Cargo.toml: {file} has `unsafe` or an assertion for debugging; write `{package} = {{ {SWITCHED_ON} }}` below \
             [profile.dev.package]"
        )),
        (None, true) => {
            Some(format!("Cargo.toml: {package} has nothing that needs `{SWITCHED_ON}`; remove it"))
        }
        _ => None,
    }
}

fn needs_them(source: &str) -> bool {
    let code = source.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    code.into_iter().any(|line| NEEDS.iter().any(|needs| line.contains(needs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(setting: &str, source: &str) -> Vec<String> {
        let file = |name: &str, text: &str| (name.to_owned(), Some(text.to_owned()));
        let workspace = format!("[profile.dev.package]\n{setting}\nassay-ab = {{ {SWITCHED_ON} }}\n");
        let all = [
            file("Cargo.toml", &workspace),
            file("crates/a/Cargo.toml", "[package]\nname = \"assay-a\"\n"),
            file("crates/a/src/lib.rs", source),
        ];
        check(&all.into())
    }

    #[test]
    fn crates_have_the_assertions_that_they_need_and_no_others() {
        let on = "assay-a = { opt-level = 1, debug-assertions = true }";
        let sources = ["fn f() {\n    debug_assert!(true);\n}\n", "let x = unsafe { f() };\n"];
        for source in sources {
            assert_eq!(findings(on, source), Vec::<String>::new());
            assert!(findings("assay-a.opt-level = 1", source)[0].contains("crates/a/src/lib.rs has"));
        }
        assert_eq!(findings("", "// unsafe { is not here }\nfn f() {}\n"), Vec::<String>::new());
        assert!(findings(on, "fn f() {}\n")[0].contains("assay-a has nothing that needs"));
    }
}
