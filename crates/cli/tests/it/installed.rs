//! A binary by itself: no repository is above it, nor above where it is started.

use std::process::Command;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

#[test]
fn an_installed_binary_brings_its_catalogue() {
    let folder = tempfile::tempdir().expect("folder");
    let [binary, empty, data] = ["bin", "empty", "data"].map(|name| folder.path().join(name));
    std::fs::create_dir(&empty).expect("folder");
    std::fs::copy(env!("CARGO_BIN_EXE_assay"), &binary).expect("a copy");
    let assay = |arguments: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(arguments).current_dir(&empty).env("XDG_DATA_HOME", &data).env_remove("ASSAY_CATALOGUE");
        command.assert()
    };
    assay(&["list"]).code(0).stdout(contains("nginx").and(contains("node"))).stderr(contains("data/assay/"));
    assay(&["list", "workloads"]).code(0).stdout(contains("hello"));
    assay(&["run", "nginx", "-w", "hello", "--dry-run"]).code(0);
    assert_eq!(data.join("assay").read_dir().expect("folder").count(), 1);
    assay(&["list", "--catalogue", "/nowhere"]).code(2).stderr(contains("/nowhere"));
    assert_eq!(empty.read_dir().expect("folder").count(), 0, "the folder stays as it is");
}
