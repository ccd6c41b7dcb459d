//! The licences of all that is built in, against the list of deny.toml: what cargo-deny asks, without having to be installed.

use std::path::Path;
use std::process::Command;

use spdx::{Expression, Licensee, ParseMode};

/// Names the licences that the project may depend on.
const POLICY: &str = "deny.toml";
/// What is built for; other systems' dependencies are not downloaded.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

pub(crate) fn run(root: &Path) -> Result<(), Vec<String>> {
    let policy = std::fs::read_to_string(root.join(POLICY)).map_err(|e| vec![format!("{POLICY}: {e}")])?;
    let allowed = allowed(&policy).map_err(|problem| vec![format!("{POLICY}: {problem}")])?;
    let findings: Vec<String> =
        packages(root)?.iter().filter_map(|package| objection(package, &allowed)).collect();
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

fn allowed(policy: &str) -> Result<Vec<Licensee>, String> {
    let table: toml::Table = policy.parse().map_err(|error| format!("{error}"))?;
    let setting = |name| table.get("licenses").and_then(|licenses| licenses.get(name));
    if setting("include-dev").and_then(toml::Value::as_bool) != Some(true) {
        return Err(
            "[licenses] has no `include-dev = true`, so cargo-deny leaves tests' dependencies out".into()
        );
    }
    let list = setting("allow").and_then(toml::Value::as_array);
    let names = list.ok_or("[licenses] has no list `allow`")?.iter();
    names
        .map(|name| {
            let name = name.as_str().ok_or("a licence that is no text")?;
            Licensee::parse(name).map_err(|error| format!("{name}: {error}"))
        })
        .collect()
}

/// Every package of the lock file that our platform needs, tests' included.
fn packages(root: &Path) -> Result<Vec<serde_json::Value>, Vec<String>> {
    let asked =
        ["metadata", "--format-version", "1", "--locked", "--all-features", "--filter-platform", PLATFORM];
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(asked).current_dir(root).output();
    let output = output.map_err(|error| vec![format!("cargo metadata: {error}")])?;
    if !output.status.success() {
        return Err(vec![format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim())]);
    }
    let mut metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| vec![format!("cargo metadata: {error}")])?;
    let of_platform: Vec<String> = (metadata["resolve"]["nodes"].as_array().into_iter().flatten())
        .filter_map(|node| Some(node["id"].as_str()?.to_owned()))
        .collect();
    let all = metadata["packages"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let is_needed = |package: &serde_json::Value| {
        package["id"].as_str().is_some_and(|id| of_platform.iter().any(|node| node == id))
    };
    Ok(all.into_iter().filter(is_needed).collect())
}

/// Why a package may not be depended on.
fn objection(package: &serde_json::Value, allowed: &[Licensee]) -> Option<String> {
    let (name, version) = (package["name"].as_str()?, package["version"].as_str()?);
    let Some(licence) = package["license"].as_str() else {
        return Some(format!("{name} {version}: names no licence; look for one, or for another crate"));
    };
    let is_allowed = Expression::parse_mode(licence, ParseMode::LAX)
        .is_ok_and(|terms| terms.evaluate(|term| allowed.iter().any(|ours| ours.satisfies(term))));
    (!is_allowed).then(|| {
        format!("{name} {version}: {POLICY} does not allow its licence, {licence}; `cargo tree -i {name}` says who needs it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_that_is_not_on_the_list_is_found() {
        let policy = "[licenses]\ninclude-dev = true\nallow = ['MIT', 'Apache-2.0 WITH LLVM-exception']";
        let allowed = allowed(policy).unwrap();
        let of = |licence: serde_json::Value| {
            objection(&serde_json::json!({"name": "x", "version": "1.0.0", "license": licence}), &allowed)
        };
        for licence in ["MIT", "MIT OR LGPL-3.0", "MIT/Apache-2.0", "Apache-2.0 WITH LLVM-exception"] {
            assert_eq!(of(licence.into()), None, "{licence}");
        }
        for licence in ["LGPL-3.0", "MIT AND Unicode-3.0", "Apache-2.0", "whatever"] {
            let told = of(licence.into()).unwrap();
            assert!(told.contains(licence) && told.contains("cargo tree -i x"), "{told}");
        }
        assert!(of(serde_json::Value::Null).unwrap().contains("names no licence"));
    }

    #[test]
    fn a_list_that_cannot_be_read_is_told() {
        assert!(allowed("[licenses]\ninclude-dev = true").unwrap_err().contains("allow"));
        assert!(allowed("[licenses]\ninclude-dev = true\nallow = ['MITT']").unwrap_err().contains("MITT"));
        for told in ["", "include-dev = false\n"] {
            let policy = format!("[licenses]\n{told}allow = ['MIT']");
            assert!(allowed(&policy).unwrap_err().contains("tests' dependencies"), "{policy}");
        }
    }
}
