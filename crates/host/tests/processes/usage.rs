//! Samplers on real child processes. Shells burn a counted number of loop turns, so nothing depends on the
//! machine's speed.
#![allow(clippy::expect_used, reason = "helpers of tests may fail as tests do")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use assay_host::process::{descendants, find, group_members};
use assay_host::sampler::{Sampler, tree_usage};
use assay_host::snapshot::{Gone, Snapshot, tick};
use assay_model::units::Nanos;

/// A shell that obeys lines on stdin; killed and reaped when dropped.
struct Shell(Child);

impl Shell {
    fn start() -> Self {
        let mut command = Command::new("sh");
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sh starts"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Runs a script and waits until it has printed a line, which is returned.
    fn run(&mut self, script: &str) -> String {
        let stdin = self.0.stdin.as_mut().expect("piped");
        writeln!(stdin, "{script}").expect("the shell listens");
        stdin.flush().expect("flushed");
        // One byte at a time, so that nothing behind the line is swallowed with the reader.
        let mut line = String::new();
        let stdout = self.0.stdout.as_mut().expect("piped");
        BufReader::with_capacity(1, stdout).read_line(&mut line).expect("the shell answers");
        line.trim().to_owned()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Burns far more than ten ticks on any machine: the shell's own loop, counted.
const BURN: &str = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";

#[test]
fn work_in_the_process_is_seen() {
    let mut shell = Shell::start();
    let sampler = Sampler::start(shell.pid()).expect("alive");
    shell.run(&format!("{BURN}; echo done"));
    let window = sampler.finish().expect("alive");
    assert!(window.usage.user_ns > Nanos::ZERO, "{window:?}");
    assert!(window.usage.rss_bytes > 0 && window.usage.rss_peak_bytes >= window.usage.rss_bytes);
    assert_eq!((window.usage.processes, window.usage.threads, window.uncounted), (1, 1, 0));
    assert_eq!(window.threads[0].tid, shell.pid());
    assert!(
        window.usage.wall_ns + tick() + tick() >= window.usage.cpu_ns(),
        "one thread cannot use two CPUs"
    );
}

#[test]
fn work_of_an_ended_and_reaped_child_is_not_lost() {
    let mut shell = Shell::start();
    let sampler = Sampler::start(shell.pid()).expect("alive");
    shell.run(&format!("sh -c '{BURN}'; echo done"));
    let window = sampler.finish().expect("alive");
    assert!(window.ended.user_ns > Nanos::ZERO, "{window:?}");
    assert!(window.usage.user_ns >= window.ended.user_ns);
    assert_eq!((window.usage.processes, window.uncounted), (1, 0));
    assert!(tree_usage(shell.pid()).expect("alive").user_ns >= window.ended.user_ns);
}

#[test]
fn children_are_found_by_ancestry_and_by_group() {
    let mut shell = Shell::start();
    let child: u32 = shell.run("sleep 1000 & echo $!").parse().expect("a pid");
    let below = descendants(shell.pid());
    assert_eq!(below.iter().map(|process| process.pid).collect::<Vec<_>>(), [child]);
    assert_eq!(below[0].parent, shell.pid());
    let group: Vec<u32> = group_members(shell.pid()).iter().map(|process| process.pid).collect();
    assert!(group.contains(&shell.pid()) && group.contains(&child), "{group:?}");
    let snapshot = Snapshot::of_tree(shell.pid()).expect("alive");
    assert_eq!(snapshot.processes.len(), 2);
    // The child goes: what it used before is not counted as used in the span.
    shell.run(&format!("kill {child}; wait {child}; echo gone"));
    let window = Snapshot::of_tree(shell.pid()).expect("alive").since(&snapshot);
    assert_eq!((window.usage.processes, window.uncounted), (1, 0));
    assert!(descendants(shell.pid()).is_empty());
}

#[test]
fn an_ended_process_is_gone() {
    let shell = Shell::start();
    let pid = shell.pid();
    drop(shell);
    assert_eq!(find(pid), None);
    assert_eq!(Sampler::start(pid).err(), Some(Gone { pid }));
}
