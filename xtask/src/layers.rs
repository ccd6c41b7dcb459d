//! The layer rule: a crate may use only crates of lower layers.

use std::path::Path;

/// Every crate of the house with its layer, lowest first. ARCHITECTURE.md says what each is for.
const LAYERS: &[(&str, u8)] = &[
    ("assay-no-schema", 0),
    ("assay-descriptors", 1),
    ("assay-file", 1),
    ("assay-model", 1),
    ("assay-http", 1),
    ("assay-h2", 1),
    ("assay-grpc", 1),
    ("assay-ws", 1),
    ("assay-skip", 1),
    ("assay-stats", 2),
    ("assay-host", 2),
    ("assay-engine", 2),
    ("assay-link", 2),
    ("assay-wire", 2),
    ("assay-live", 2),
    ("assay-fleet", 3),
    ("assay-sim", 3),
    ("assay-tcp", 3),
    ("assay-verdict", 3),
    ("assay-profile", 3),
    ("assay-tls", 4),
    ("assay-check", 5),
    ("assay-load", 5),
    ("assay-serve", 5),
    ("assay-preload", 5),
    ("assay-lab", 6),
    ("assay-report", 6),
    ("assay", 7),
];

/// Dependencies of a crate that the rule forbids, and crates that the table does not know.
pub(crate) fn check(manifest_path: &Path, manifest: &str) -> Vec<String> {
    let place = manifest_path.display();
    let table: toml::Table = match manifest.parse() {
        Ok(table) => table,
        Err(error) => return vec![format!("{place}: {error}")],
    };
    let name =
        table.get("package").and_then(|p| p.get("name")).and_then(toml::Value::as_str).unwrap_or_default();
    let Some(own) = layer(name) else {
        return vec![format!(
            "{place}: {name} has no layer; give it one in xtask/src/layers.rs and ARCHITECTURE.md"
        )];
    };
    let dependencies = table.get("dependencies").and_then(toml::Value::as_table);
    dependencies
        .into_iter()
        .flat_map(|d| d.keys())
        .filter_map(|dependency| Some((dependency, layer(dependency)?)))
        .filter(|&(_, theirs)| theirs >= own)
        .map(|(d, theirs)| format!("{place}: {name} (layer {own}) may not use {d} (layer {theirs})"))
        .collect()
}

fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(n, _)| *n == name).map(|&(_, layer)| layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(manifest: &str) -> Vec<String> {
        check(Path::new("Cargo.toml"), manifest)
    }

    #[test]
    fn using_a_lower_layer_is_fine() {
        let manifest =
            "[package]\nname = 'assay-load'\n[dependencies]\nassay-engine.workspace = true\nserde = '1'";
        assert!(findings(manifest).is_empty());
    }

    #[test]
    fn using_the_same_or_a_higher_layer_is_found() {
        let manifest = "[package]\nname = 'assay-report'\n[dependencies]\nassay-lab.workspace = true\nassay.workspace = true";
        assert_eq!(findings(manifest).len(), 2);
    }

    #[test]
    fn what_a_record_means_does_not_depend_on_who_measured_it() {
        let manifest = "[package]\nname = 'assay-verdict'\n[dependencies]\nassay-model.workspace = true\nassay-lab.workspace = true";
        assert_eq!(findings(manifest).len(), 1);
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        assert!(findings("[package]\nname = 'assay-new'")[0].contains("no layer"));
    }
}
