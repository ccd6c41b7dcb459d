//! A binary by itself: no repository is above it, nor above where it is started.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

/// A copy of the binary, an empty folder to start it in, and one for its data.
struct Installed {
    folder: tempfile::TempDir,
}

impl Installed {
    fn new() -> Self {
        let it = Self { folder: tempfile::tempdir().expect("folder") };
        std::fs::create_dir(it.path("empty")).expect("folder");
        std::fs::create_dir(it.path("bin")).expect("folder");
        std::fs::create_dir(it.path("tmp")).expect("folder");
        std::fs::copy(env!("CARGO_BIN_EXE_assay"), it.path("bin/assay")).expect("a copy");
        it
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn assay(&self, arguments: &[&str]) -> Assert {
        let mut command = Command::new(self.path("bin/assay"));
        command.args(arguments).current_dir(self.path("empty")).env("XDG_DATA_HOME", self.path("data"));
        command.env("TMPDIR", self.path("tmp"));
        command.env_remove("ASSAY_CATALOGUE").env_remove("ASSAY_PRELOAD").assert()
    }
}

#[test]
fn an_installed_binary_brings_its_catalogue() {
    let installed = Installed::new();
    let assay = |arguments: &[&str]| installed.assay(arguments);
    let [empty, data] = ["empty", "data"].map(|name| installed.path(name));
    assay(&["list"]).code(0).stdout(contains("nginx").and(contains("node"))).stderr(contains("data/assay/"));
    assay(&["list", "workloads"]).code(0).stdout(contains("hello"));
    assay(&["run", "nginx", "-w", "hello", "--dry-run"]).code(0);
    let unpacked = || data.join("assay").read_dir().expect("folder").count();
    assert_eq!(unpacked(), 1);
    let cut_short = data.join("assay/.assay-part-a1B2c3");
    std::fs::create_dir_all(cut_short.join("whole/contenders")).expect("folders");
    assay(&["clean"]).code(0).stdout(contains(format!("removed {}", cut_short.display())));
    assert_eq!(unpacked(), 1);
    assay(&["list", "--catalogue", "/nowhere"]).code(2).stderr(contains("/nowhere"));
    assert_eq!(empty.read_dir().expect("folder").count(), 0, "the folder stays as it is");
}

#[test]
fn a_catalogue_that_anybody_may_have_put_above_is_passed_over_and_told() {
    let installed = Installed::new();
    let planted = "name = \"planted\"\ntitle = \"P\"\nlanguage = \"c\"\nkind = \"server\"\nworkloads = [\"hello\"]\n\
                   [run]\ncommand = [\"true\"]\n";
    for folder in ["contenders/c/planted", "workloads"] {
        std::fs::create_dir_all(installed.path(folder)).expect("folder");
    }
    std::fs::write(installed.path("contenders/c/planted/contender.toml"), planted).expect("written");
    let listed = |words: &str, is_passed_over: bool| {
        let told = installed.assay(&["list"]).code(0).stdout(contains(words));
        let note = String::from_utf8(told.get_output().stderr.clone()).expect("UTF-8");
        assert_eq!(note.contains("is passed over, because everybody may write to"), is_passed_over, "{note}");
    };
    listed("planted", false);
    let everybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(installed.path("."), everybody).expect("mode");
    listed("nginx", true);
    let named = installed.path(".").display().to_string();
    installed.assay(&["list", "--catalogue", &named]).code(0).stdout(contains("planted"));
}

#[test]
fn whoever_installs_assay_gets_assay_and_no_servers() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let said = Command::new("make")
        .args(["--dry-run", "install", "deb", "static"])
        .current_dir(root)
        .env_remove("SUDO_UID")
        .output();
    let said = String::from_utf8(said.expect("make").stdout).expect("UTF-8");
    assert!(said.contains("cargo build --release") && said.contains("man/man1"), "{said}");
    assert!(!said.contains("setup.sh"), "{said}");
}

#[test]
fn under_sudo_what_was_built_before_is_installed_and_cargo_is_not_run_as_root() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut make = Command::new("make");
    make.args(["--dry-run", "install"]).current_dir(root).env("SUDO_UID", "1000");
    let said = String::from_utf8(make.output().expect("make").stdout).expect("UTF-8");
    assert!(said.contains("man/man1") && said.contains("make shared-files"), "{said}");
    assert!(!said.contains("cargo build"), "{said}");
}

/// Only what is built for release carries the library (`build.rs`); `make package-check` installs such a one and uses it.
#[test]
fn a_preload_library_that_is_missing_is_told_with_how_to_get_it() {
    let installed = Installed::new();
    let memory = tempfile::tempdir_in("/dev/shm").expect("folder");
    let wire = format!("ring:{}", memory.path().join("ring").display());
    let exec = ["exec", "--wire", &wire, "--address", "10.77.0.1/24", "--", "true"];
    let told = installed.assay(&exec).code(4).stdout("");
    told.stderr(contains("there is no libassay_preload.so beside").and(contains("bin/assay")))
        .stderr(contains("cargo build --release --locked -p assay-preload").and(contains("ASSAY_PRELOAD")));
    assert_eq!(memory.path().read_dir().expect("folder").count(), 0, "nothing of the ring is left");
    assert!(!installed.path("data").exists(), "nothing is unpacked");
}
