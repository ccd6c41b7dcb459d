//! A quota of CPU time that the kernel enforces, in either version.

#![allow(clippy::expect_used, reason = "helpers of tests")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use assay_host::cgroup::throttling;

/// A fifth of a CPU.
const QUOTA_US: [&str; 2] = ["20000", "100000"];

/// A group with that quota; `None` where this user may make none.
fn group_with_quota() -> Option<PathBuf> {
    let [quota, period] = QUOTA_US;
    let name = format!("assay-test-quota-{}", std::process::id());
    let set = |folder: &Path, file: &str, text: &str| {
        let mut file = std::fs::OpenOptions::new().write(true).open(folder.join(file)).ok()?;
        file.write_all(text.as_bytes()).ok()
    };
    for top in
        ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
    {
        let folder = Path::new(top).join(&name);
        if !Path::new(top).join("cgroup.procs").exists() || std::fs::create_dir(&folder).is_err() {
            continue;
        }
        let unified = set(&folder, "cpu.max", &format!("{quota} {period}"));
        let legacy = || {
            set(&folder, "cpu.cfs_period_us", period)?;
            set(&folder, "cpu.cfs_quota_us", quota)
        };
        if unified.or_else(legacy).is_some() {
            return Some(folder);
        }
        let _ = std::fs::remove_dir(&folder);
    }
    None
}

#[test]
fn what_a_quota_does_to_a_process_is_seen() {
    let Some(folder) = group_with_quota() else {
        return assay_skip::skip("cgroup", "needs a control group with the cpu controller to make others in");
    };
    let script = format!("echo $$ > {}/cgroup.procs; while :; do :; done", folder.display());
    let mut spinner = Command::new("sh").args(["-c", &script]).spawn().expect("spinner");
    let deadline = Instant::now() + Duration::from_secs(60);
    let seen = loop {
        let seen = throttling(spinner.id());
        if seen.is_some_and(|seen| seen.throttled_ns.0 > 0) || Instant::now() >= deadline {
            break seen;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    spinner.kill().expect("killed");
    spinner.wait().expect("reaped");
    std::fs::remove_dir(&folder).expect("removed");
    let seen = seen.expect("a quota");
    assert!((seen.quota_cpus - 0.2).abs() < 1e-9 && seen.throttled_ns.0 > 0, "{seen:?}");
    let more = assay_host::cgroup::Throttling { throttled_ns: seen.throttled_ns + seen.throttled_ns, ..seen };
    assert_eq!(more.since(Some(seen)).throttled_ns, seen.throttled_ns);
}
