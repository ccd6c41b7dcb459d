//! Nothing that was started survives, whoever of assay, guard and supervisor is killed with SIGKILL, and when; and nothing else is
//! killed. Each with control groups and without, for not every machine has them to give.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use assay_host::process::{descendants, find};
use assay_lab::supervisor::{Supervised, SupervisorOptions};
use assay_skip::skip;
use common::{eventually, processes_with, testkit};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A child, an orphan, one in another session, one that forks twice, leaves its session and forgets its environment, and
/// one that ignores SIGTERM.
const FAMILY: &str = "
    sh -c ': MARK; sleep 1000; :' &
    (sh -c ': MARK orphan; sleep 1000; :' &)
    setsid sh -c ': MARK session; sleep 1000 & sleep 1000; :' &
    (setsid env -i PATH=\"$PATH\" sh -c '(sh -c \": MARK daemon; sleep 1000; :\" &)' &)
    sh -c ': MARK stubborn; trap \"\" TERM; while :; do sleep 1000; done' &
    wait";
/// Processes with the mark in their command line while the family is complete, without supervisors.
const FAMILY_SIZE: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Groups {
    AsTheyAre,
    None,
}

/// A process that has a command supervised.
struct Owner {
    folder: TempDir,
    process: Child,
    said: BufReader<ChildStdout>,
}

impl Owner {
    fn start(groups: Groups, script: &str) -> Self {
        Self::start_in(tempfile::tempdir().expect("folder"), groups, script)
    }

    fn start_in(folder: TempDir, groups: Groups, script: &str) -> Self {
        let script = script.replace("MARK", &folder.path().display().to_string());
        let hide = match groups {
            Groups::AsTheyAre => "",
            // Where this is not allowed, groups are not either.
            Groups::None => "umount -l -R /sys/fs/cgroup 2>/dev/null;",
        };
        // A mount namespace of its own, where that is allowed: the machine keeps its groups.
        let cap = if script.contains("bomb") { CAP } else { ":" };
        let prepare = format!("{cap}; {hide} exec \"$@\"");
        let is_root = rustix::process::geteuid().is_root();
        let mut command = Command::new(if is_root { "unshare" } else { "env" });
        command.args(is_root.then_some("--mount")).args(["sh", "-c", &prepare, "sh"]).arg(testkit());
        command.arg("own").arg(folder.path()).args(["sh", "-c", &script]);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("owner");
        let said = BufReader::new(process.stdout.take().expect("stdout"));
        Self { folder, process, said }
    }

    fn wait_for(&mut self, word: &str) {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("read");
        assert_eq!(line.trim(), word);
    }

    /// Processes that have the mark, but are none of assay's.
    fn family(&self) -> Vec<String> {
        let all = processes_with(&self.folder.path().display().to_string());
        all.into_iter().filter(|line| !line.contains(" supervise ") && !line.contains(" own ")).collect()
    }

    fn everybody(&self) -> Vec<String> {
        processes_with(&self.folder.path().display().to_string())
    }

    /// Owner, guard and supervisor, as far as they live.
    fn parts(&self) -> Vec<u32> {
        let is_supervisor = |pid: u32| {
            std::fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.windows(11).any(|word| word == b"\0supervise\0"))
        };
        let child = |parent: u32| {
            descendants(parent)
                .into_iter()
                .find(|process| process.parent == parent && is_supervisor(process.pid))
        };
        let mut parts = vec![self.process.id()];
        parts.extend(child(parts[0]).map(|guard| guard.pid));
        parts.extend(parts.get(1).and_then(|guard| child(*guard)).map(|supervisor| supervisor.pid));
        parts
    }

    /// Whether it made a control group.
    fn has_group(&self) -> bool {
        self.everybody().iter().any(|line| line.contains(" --group "))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Kills all of these in one moment: nobody of them can do anything about it.
fn kill_at_once(pids: &[u32]) {
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in pids {
            let _ = kill_process(Pid::from_raw(pid.cast_signed()).expect("pid"), signal);
        }
    }
}

/// Has the kernel allow no more than so many tasks, behind whatever is tested: the machine is not only ours.
const CAP: &str = "for top in /sys/fs/cgroup/pids /sys/fs/cgroup; do
    cap=$top/assay-test-cap
    if [ -f $top/cgroup.procs ] && mkdir -p $cap && [ -f $cap/pids.max ] && echo 1500 > $cap/pids.max; then
        echo $$ > $cap/cgroup.procs && break
    fi
    done 2>/dev/null";

/// Each choice of one or two of owner, guard and supervisor.
const CHOICES: [&[usize]; 6] = [&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]];

#[test]
fn whoever_of_the_three_is_left_ends_everything() {
    for groups in [Groups::AsTheyAre, Groups::None] {
        for choice in CHOICES {
            let mut owner = Owner::start(groups, FAMILY);
            owner.wait_for("started");
            eventually("the family is complete", || owner.family().len() >= FAMILY_SIZE);
            let parts = owner.parts();
            assert_eq!(parts.len(), 3);
            assert!(owner.folder.path().join("scratch").is_dir());
            kill_at_once(&choice.iter().map(|index| parts[*index]).collect::<Vec<_>>());
            // Without a group a daemon that forgot its environment is known by its ancestors alone, and both are gone.
            let knows_all = choice != [1, 2] || owner.has_group();
            let left =
                || owner.family().into_iter().filter(|line| knows_all || !line.contains("daemon")).count();
            eventually(&format!("nobody is left after {choice:?} with {groups:?}"), || left() == 0);
            eventually("scratch is gone", || !owner.folder.path().join("scratch").exists());
            end_strays(&owner);
        }
    }
}

/// What the tests know to be left, they end themselves.
fn end_strays(owner: &Owner) {
    for line in owner.family() {
        let pid: i32 = line.split(':').next().and_then(|pid| pid.parse().ok()).expect("pid");
        let _ = kill_process(Pid::from_raw(pid).expect("pid"), Signal::KILL);
    }
}

#[test]
fn at_any_moment() {
    let seed = rand::random();
    let mut random = StdRng::seed_from_u64(seed);
    for round in 0..40 {
        let groups = if round % 2 == 0 { Groups::AsTheyAre } else { Groups::None };
        let mut owner =
            Owner::start(groups, ": MARK; (setsid sh -c ': MARK; sleep 1000; :' &) ; sleep 1000; :");
        std::thread::sleep(Duration::from_micros(random.random_range(0..60_000)));
        let choice = CHOICES[random.random_range(0..CHOICES.len())];
        let parts = owner.parts();
        let doomed: Vec<u32> = choice.iter().filter_map(|index| parts.get(*index)).copied().collect();
        kill_at_once(&doomed);
        // Alive, the owner ends what is left; it has to be given the time for it, else all three were killed.
        if doomed.is_empty() || doomed.contains(&parts[0]) {
            owner.process.kill().expect("killed");
        }
        eventually(&format!("nobody is left: seed {seed}, round {round}, {choice:?}, {groups:?}"), || {
            owner.everybody().iter().all(|line| line.contains(" own "))
        });
    }
}

/// A pipe that nobody opens at its other end: the launcher waits for that to read, the supervisor to have it written.
#[test]
fn who_waits_for_a_pipe_of_a_killed_assay_is_ended() {
    for (pipe, part) in [("input", " launcher "), ("output", " supervisor ")] {
        let folder = tempfile::tempdir().expect("folder");
        let made = Command::new("mkfifo").arg(folder.path().join(pipe)).status().expect("mkfifo");
        assert!(made.success());
        let mut owner = Owner::start_in(folder, Groups::AsTheyAre, "sleep 1000");
        let waits = |line: &String| line.contains("--part") && line.contains(part);
        eventually("it waits", || owner.everybody().iter().any(waits));
        owner.process.kill().expect("killed");
        eventually(&format!("nobody waits for {pipe}"), || owner.everybody().is_empty());
    }
}

#[test]
fn when_all_three_are_killed_the_command_goes_and_the_next_guard_ends_the_rest() {
    let mut owner = Owner::start(Groups::AsTheyAre, FAMILY);
    owner.wait_for("started");
    eventually("the family is complete", || owner.family().len() >= FAMILY_SIZE);
    let had_group = owner.has_group();
    let supervisor = *owner.parts().last().expect("supervisor");
    let command =
        descendants(supervisor).into_iter().find(|process| process.parent == supervisor).expect("command");
    kill_at_once(&owner.parts());
    eventually("the command went with its supervisor", || {
        find(command.pid).is_none_or(|process| process.zombie)
    });
    if !had_group {
        skip("cgroup", "needs a control group that may be written");
        end_strays(&owner);
        return;
    }
    // That may be a guard of another test.
    let next = Owner::start(Groups::AsTheyAre, "sleep 1000");
    eventually("the next guard ended the rest", || owner.everybody().is_empty());
    drop(next);
}

/// Whether [`CAP`] does something.
fn is_capped() -> bool {
    let show = format!("{CAP}; cat /proc/self/cgroup");
    let shown = Command::new("sh").args(["-c", &show]).output().expect("sh").stdout;
    String::from_utf8_lossy(&shown).contains("assay-test-cap")
}

/// Doubles for ever, each in a session of its own.
const BOMB: &str = "#!/bin/sh\nsetsid \"$0\" &\nsetsid \"$0\" &\nwait\n";

#[test]
fn a_fork_bomb_is_bounded_and_ended() {
    if !is_capped() {
        return skip("cgroup", "needs a control group that bounds tasks, should this fail");
    }
    for groups in [Groups::AsTheyAre, Groups::None] {
        let mut owner = Owner::start(groups, "while [ ! -x MARK/bomb ]; do sleep 0.01; done; exec MARK/bomb");
        owner.wait_for("started");
        let unfinished: PathBuf = owner.folder.path().join("unfinished");
        std::fs::write(&unfinished, BOMB).expect("bomb");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&unfinished, mode).expect("executable");
        std::fs::rename(&unfinished, owner.folder.path().join("bomb")).expect("bomb");
        owner.wait_for("stopped");
        eventually("nobody is left", || owner.family().is_empty());
    }
    for top in ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"] {
        let cap = PathBuf::from(top).join("assay-test-cap");
        eventually("nobody is under the cap", || !cap.exists() || std::fs::remove_dir(&cap).is_ok());
    }
}

#[test]
fn too_many_processes_are_told() {
    let folder = tempfile::tempdir().expect("folder");
    let script = "for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; wait";
    let mut options =
        SupervisorOptions::new(folder.path().join("log"), ["sh", "-c", script].map(Into::into).to_vec());
    options.processes = 5;
    let mut supervised = Supervised::start(&testkit(), &options, folder.path(), []).expect("started");
    let ended = supervised.wait(Duration::from_secs(60)).expect("ended").to_string();
    assert!(ended.contains("processes, of which 5 are allowed"), "{ended}");
    assert!(supervised.stop());
}

#[test]
fn a_strangers_processes_live_on() {
    // Beside the owner, in the same session and process group, with the same words in its command line.
    let mut owner = Owner::start(Groups::AsTheyAre, FAMILY);
    let words = format!(": {}; sleep 1000; :", owner.folder.path().display());
    let mut stranger = Command::new("sh").args(["-c", &words]).spawn().expect("stranger");
    owner.wait_for("started");
    eventually("the family is complete", || owner.family().len() > FAMILY_SIZE);
    kill_at_once(&owner.parts()[1..]);
    eventually("the stranger alone is left", || {
        owner
            .family()
            .iter()
            .all(|line| line.starts_with(&format!("{}:", stranger.id())) || line.contains("daemon"))
    });
    assert_eq!(stranger.try_wait().expect("known"), None);
    for process in descendants(stranger.id()) {
        kill_process(Pid::from_raw(process.pid.cast_signed()).expect("pid"), Signal::KILL).expect("ours");
    }
    stranger.kill().expect("killed");
    stranger.wait().expect("reaped");
    end_strays(&owner);
}
