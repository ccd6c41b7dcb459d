//! Control groups of our own, with real processes.

#![allow(clippy::expect_used, reason = "helpers of tests")]

use std::process::{Command, Stdio};

use assay_host::group::Group;

/// Where this user may make no group, nothing is promised, and nothing is tested.
#[test]
fn a_group_holds_whoever_enters_bounds_them_and_ends_them_all() {
    let Some(group) = Group::create(20) else {
        return assay_skip::skip("cgroup", "needs a control group below which others may be made");
    };
    assert!(Group::abandoned().iter().all(|other| other != &group), "its owner is alive");
    let enter: Vec<String> =
        group.folders().iter().map(|folder| format!("echo $$ > {}/cgroup.procs", folder.display())).collect();
    let script = format!("{}; setsid sleep 1000 & setsid sleep 1000 & echo in; wait", enter.join("; "));
    let mut shell = Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().expect("shell");
    let mut said = [0; 3];
    std::io::Read::read_exact(shell.stdout.as_mut().expect("stdout"), &mut said).expect("entered");
    assert_eq!(group.members().len(), 3, "the shell and both of its children, whatever session they are in");
    assert!(group.members().contains(&shell.id()));
    for folder in group.folders().iter().filter(|folder| folder.join("pids.max").exists()) {
        assert_eq!(std::fs::read_to_string(folder.join("pids.max")).expect("pids.max").trim(), "20");
    }
    if !group.kill() {
        // Only version 1: nobody but the owner of the processes can end them.
        for pid in group.members() {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("pid");
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
        }
    }
    shell.wait().expect("reaped");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !group.members().is_empty() {
        assert!(std::time::Instant::now() < deadline, "members live on: {:?}", group.members());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    while group.folders().iter().any(|folder| folder.exists()) {
        assert!(std::time::Instant::now() < deadline, "it cannot be removed");
        group.remove();
    }
}
