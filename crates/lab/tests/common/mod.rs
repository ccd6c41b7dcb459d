//! What the integration tests share.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The program that `examples/testkit.rs` makes; cargo builds examples before it runs tests.
pub(crate) fn testkit() -> PathBuf {
    let mut path = std::env::current_exe().expect("test program");
    path.pop();
    path.pop();
    let path = path.join("examples/testkit");
    assert!(path.is_file(), "cargo did not build {}", path.display());
    path
}

/// Command lines of the living processes that mention `mark`, other than this one.
pub(crate) fn processes_with(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(mark) && pid != std::process::id() {
            found.push(format!("{pid}: {line}"));
        }
    }
    found
}

/// Waits until something holds, for as long as a loaded machine may need.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
