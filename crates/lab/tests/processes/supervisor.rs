//! The supervisor with real processes: nothing survives it, and it tells the truth.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

use std::path::Path;
use std::time::Duration;

use assay_lab::secrets::Secrets;
use assay_lab::supervisor::{RunError, Supervised, SupervisorOptions, tail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::common::{eventually, processes_with, testkit};

/// A name that no other process on the machine has in its command line.
fn mark(folder: &TempDir) -> String {
    folder.path().display().to_string()
}

fn options(folder: &TempDir, script: &str) -> SupervisorOptions {
    let script = script.replace("MARK", &mark(folder));
    let mut options =
        SupervisorOptions::new(folder.path().join("log"), ["sh", "-c", &script].map(Into::into).to_vec());
    options.grace = Duration::from_millis(200);
    options
}

fn start(options: &SupervisorOptions) -> Result<Supervised, RunError> {
    Supervised::start(&testkit(), options, Path::new("/"), [])
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("folder")
}

fn log(folder: &TempDir) -> Vec<String> {
    tail(&folder.path().join("log"), 100, &Secrets::default())
}

/// Children, grandchildren, an orphan, one in another session, and one that ignores SIGTERM.
const FAMILY: &str = "
    sh -c ': MARK; sleep 1000; :' &
    (sh -c ': MARK orphan; sleep 1000; :' &)
    setsid sh -c ': MARK session; sleep 1000 & sleep 1000; :' &
    sh -c ': MARK stubborn; trap \"\" TERM; echo deaf; while :; do sleep 1000; done' &
    wait";

fn family(folder: &TempDir) -> Supervised {
    let supervised = start(&options(folder, FAMILY)).expect("started");
    eventually("the stubborn one is deaf", || log(folder).contains(&"deaf".to_owned()));
    eventually("all have started", || supervised.processes().len() >= 10);
    supervised
}

#[test]
fn stopping_leaves_nobody() {
    let folder = folder();
    let mut supervised = family(&folder);
    let pids = supervised.processes();
    assert!(supervised.stop());
    assert_eq!(processes_with(&mark(&folder)), Vec::<String>::new());
    assert!(pids.iter().all(|pid| assay_host::process::find(*pid).is_none()), "{pids:?}");
}

#[test]
fn those_that_begin_together_run_and_leave_nobody() {
    let folders = [folder(), folder()];
    let begin = |folder: &TempDir| {
        let options = options(folder, "sh -c ': MARK; echo here; sleep 1000; :' & wait");
        Supervised::begin(&testkit(), &options, Path::new("/"), []).expect("begun")
    };
    let [mut awaited, dropped] = [0, 1].map(|number| begin(&folders[number]));
    assert_eq!((awaited.pid(), dropped.pid()), (0, 0), "nobody has waited for it");
    eventually("both run", || folders.iter().all(|folder| log(folder).contains(&"here".to_owned())));
    awaited.await_start().expect("started");
    assert!(assay_host::process::find(awaited.pid()).is_some());
    drop(dropped);
    assert_eq!(processes_with(&mark(&folders[1])), Vec::<String>::new());
    assert!(awaited.stop());
    assert_eq!(processes_with(&mark(&folders[0])), Vec::<String>::new());
}

#[test]
fn dropping_and_killing_leave_nobody() {
    let folder = folder();
    drop(family(&folder));
    assert_eq!(processes_with(&mark(&folder)), Vec::<String>::new());
    assert!(family(&folder).kill());
    assert_eq!(processes_with(&mark(&folder)), Vec::<String>::new());
}

#[test]
fn whoever_is_killed_leaves_nobody() {
    // The supervisor's owner is a shell here, which is killed without a chance to clean up.
    let folder = folder();
    let arguments = options(&folder, ": MARK; sleep 1000; :").to_arguments();
    let mut owner = std::process::Command::new("sh")
        .args(["-c", "sleep 1000 | \"$@\"; :", "owner"])
        .arg(testkit())
        .arg("supervise")
        .args(arguments)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("owner");
    let kept = || processes_with(": ").into_iter().filter(|line| line.contains(&mark(&folder))).count();
    eventually("the command runs", || kept() >= 3);
    for process in
        assay_host::process::descendants(owner.id()).iter().filter(|process| process.name == "sleep")
    {
        if process.parent == owner.id() {
            kill_process(Pid::from_raw(process.pid.cast_signed()).expect("pid"), Signal::KILL)
                .expect("killed");
        }
    }
    owner.kill().expect("killed");
    owner.wait().expect("reaped");
    eventually("nobody is left", || processes_with(&mark(&folder)).is_empty());
}

#[test]
fn a_command_whose_guard_is_killed_has_its_grace_while_others_begin() {
    let (folder, other) = (folder(), folder());
    let script = "trap 'sleep 1; echo tidy > MARK/tidied; exit' TERM; echo here; while :; do sleep 0.1; done";
    let mut patient = options(&folder, script);
    patient.grace = Duration::from_secs(60);
    let supervised = start(&patient).expect("started");
    eventually("it waits for its end", || log(&folder).contains(&"here".to_owned()));
    let parent = |pid: u32| assay_host::process::find(pid).expect("alive").parent;
    let guard = Pid::from_raw(parent(parent(supervised.pid())).cast_signed()).expect("a guard");
    kill_process(guard, Signal::KILL).expect("killed");
    // Whoever begins ends what was abandoned, and this was not.
    eventually("it has tidied up", || {
        assert!(start(&options(&other, "true")).is_ok());
        folder.path().join("tidied").exists()
    });
    drop(supervised);
    eventually("nobody is left", || processes_with(&mark(&folder)).is_empty());
}

#[test]
fn a_command_runs_where_its_owners_group_is_in_another_pid_namespace() {
    let folder = folder();
    let inside = || {
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]);
        command
    };
    if !inside().arg("true").status().is_ok_and(|done| done.success()) {
        return assay_skip::skip("userns", "needs user and pid namespaces (unshare -rpf)");
    }
    let mut owner = inside()
        .args(["sh", "-c", "\"$@\"; :", "owner"])
        .arg(testkit())
        .arg("supervise")
        .args(options(&folder, "echo here; sleep 1000").to_arguments())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("owner");
    eventually("the command runs", || log(&folder).contains(&"here".to_owned()));
    drop(owner.stdin.take());
    owner.wait().expect("ended");
}

#[test]
fn the_supervisor_ignores_interrupts_and_obeys_termination() {
    let folder = folder();
    let supervised = start(&options(&folder, ": MARK; sleep 1000; :")).expect("started");
    let supervisor = assay_host::process::find(supervised.pid()).expect("command").parent;
    let supervisor = Pid::from_raw(supervisor.cast_signed()).expect("supervisor");
    // It has left the terminal, whose interrupts go to a group of ours.
    assert_eq!(rustix::process::getsid(Some(supervisor)), Ok(supervisor));
    kill_process(supervisor, Signal::INT).expect("signalled");
    kill_process(supervisor, Signal::HUP).expect("signalled");
    // A signal handled after these is proof that they were survived.
    assert!(!supervised.processes().is_empty());
    kill_process(supervisor, Signal::TERM).expect("signalled");
    eventually("nobody is left", || processes_with(&mark(&folder)).is_empty());
}

#[test]
fn the_end_of_a_command_is_told() {
    let folder = folder();
    for (script, wanted, left) in [
        ("echo bye >&2; exit 3", "exit status 3", 0),
        ("kill -9 $$", "signal 9 (SIGKILL)", 0),
        ("setsid sleep 1000 & exit 0", "exit status 0", 1),
    ] {
        let mut supervised = start(&options(&folder, script)).expect("started");
        let ended = supervised.wait(Duration::from_secs(60)).expect("ended");
        assert_eq!((ended.to_string().as_str(), ended.left_behind), (wanted, left), "{script}");
        assert!(supervised.stop());
    }
    let mut supervised = start(&options(&folder, "echo out; echo err >&2")).expect("started");
    supervised.wait(Duration::from_secs(60)).expect("ended");
    assert!(supervised.stop());
    assert_eq!(log(&folder), ["out", "err"]);
}

#[test]
fn what_cannot_be_started_is_told_with_a_remedy() {
    let folder = folder();
    let error_of = |options: &SupervisorOptions| start(options).expect_err("no start").to_string();
    let mut options = options(&folder, "");
    options.command = vec!["no-such-program-anywhere".into()];
    assert!(error_of(&options).contains("install it"), "{}", error_of(&options));
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "").expect("file");
    options.command = vec![plain.into()];
    assert!(error_of(&options).contains("chmod +x"), "{}", error_of(&options));
    options.cpus = Some("1000".parse().expect("cpus"));
    assert!(error_of(&options).contains("1000"), "{}", error_of(&options));
    let error = Supervised::start(Path::new("/no/such/assay"), &options, Path::new("/"), [])
        .expect_err("no supervisor");
    assert!(matches!(error, RunError::Supervisor(_)), "{error}");
}

#[test]
fn a_command_gets_its_cpus_its_files_and_a_bounded_log() {
    let folder = folder();
    let cpu = assay_host::cpuset::allowed().first().expect("a CPU");
    let script = "grep Cpus_allowed_list /proc/self/status; ulimit -S -n; cat /proc/self/fd/0 | wc -c";
    let mut options = options(&folder, script);
    options.cpus = Some([cpu].into_iter().collect());
    let mut supervised = start(&options).expect("started");
    supervised.wait(Duration::from_secs(60)).expect("ended");
    supervised.stop();
    let hard = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(u64::MAX);
    assert_eq!(
        log(&folder),
        [format!("Cpus_allowed_list:\t{cpu}"), hard.min(1 << 20).to_string(), "0".to_owned()]
    );

    options.command = ["sh", "-c", "yes | head -c 3000000; echo done >&2"].map(Into::into).to_vec();
    options.log_limit_bytes = 1000;
    let mut supervised = start(&options).expect("started");
    assert_eq!(supervised.wait(Duration::from_secs(60)).expect("ended").code, Some(0));
    supervised.stop();
    let size = std::fs::metadata(folder.path().join("log")).expect("log").len();
    assert!((1000..1200).contains(&size), "{size}");
}

#[test]
fn scratch_is_made_and_removed_and_standard_output_kept_whole() {
    let folder = folder();
    let scratch = folder.path().join("scratch");
    let mut options = options(&folder, "echo whole; echo log >&2; mkdir MARK/scratch/deep; sleep 1000");
    options.scratch = vec![scratch.clone()];
    options.stdout = Some(folder.path().join("out"));
    let supervised = start(&options).expect("started");
    eventually("it has written", || scratch.join("deep").is_dir());
    drop(supervised);
    assert!(!scratch.exists());
    assert_eq!(std::fs::read_to_string(folder.path().join("out")).expect("out"), "whole\n");
    assert_eq!(log(&folder), ["log"]);
}
