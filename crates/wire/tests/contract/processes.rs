//! Two processes at the ends of a ring, one of which may be killed.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use assay_model::units::Nanos;
use assay_wire::ring::{self, RingError};
use assay_wire::{End, Wire};

use super::frames::{self, PATIENCE, SHORTEST};

/// Where the other process finds its ring, and what it is to do there.
const RING: &str = "ASSAY_TEST_RING";
const TASK: &str = "ASSAY_TEST_TASK";
const SEAT: &str = "ASSAY_TEST_END";

/// The other process: this program again, which runs this alone.
#[test]
fn as_the_other_process() {
    let Some(path) = std::env::var_os(RING) else { return };
    let is_first = std::env::var(SEAT).as_deref() == Ok("first");
    let end = if is_first { End::First } else { End::Second };
    let mut wire = ring::open(Path::new(&path), end, 0, 1).expect("the other end");
    match std::env::var(TASK).as_deref() {
        Ok("echo") => echo(&mut wire),
        Ok("hang") => {
            frames::send_surely(&mut wire, 0, SHORTEST);
            frames::flush(&mut wire);
            std::thread::sleep(PATIENCE);
        }
        other => panic!("{other:?}"),
    }
}

/// Returns every frame until the other end is gone.
fn echo(wire: &mut ring::Ring) {
    while wire.wait(Nanos::from_millis(50)).is_ok() {
        while let Some((number, length)) = frames::receive(wire) {
            frames::send_surely(wire, number, length);
        }
        frames::flush(wire);
    }
}

/// A process that is killed if it outlives its test.
struct Peer(Child);

impl Peer {
    /// At the second end.
    fn new(path: &Path, task: &str) -> Self {
        Self::at("second", path, task)
    }

    fn at(end: &str, path: &Path, task: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.args(["--exact", "processes::as_the_other_process", "--quiet"]);
        Self(command.env(RING, path).env(TASK, task).env(SEAT, end).spawn().expect("a process"))
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn fresh_path() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/dev/shm").expect("shared memory");
    let path = folder.path().join("ring");
    (folder, path)
}

/// Waits until the other end has sent a first sign of life, by an echo.
fn greet(wire: &mut ring::Ring) {
    frames::send_surely(wire, 1, SHORTEST);
    frames::flush(wire);
    assert_eq!(frames::receive_surely(wire).0, 1);
}

fn end_of<W: Wire>(wire: &mut W, timeout: Nanos) -> std::io::Error {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Err(error) = wire.wait(timeout) {
            return error;
        }
        assert!(Instant::now() < deadline, "the end was not noticed");
    }
}

fn wait_for_another(wire: &mut ring::Ring) {
    let deadline = Instant::now() + PATIENCE;
    while !wire.other_end_changed() {
        assert!(Instant::now() < deadline, "no other came");
        wire.wait(Nanos::from_millis(10)).expect("intact");
    }
}

#[test]
fn a_ring_joins_two_processes_and_leaves_nothing() {
    let (folder, path) = fresh_path();
    let mut wire = ring::open(&path, End::First, 0, 1).expect("a ring");
    let mut peer = Peer::new(&path, "echo");
    let (mut sent, mut returned) = (0, 0);
    while returned < 200_000 {
        while sent < 200_000 && frames::send(&mut wire, sent, SHORTEST + (sent % 1000) as usize) {
            sent += 1;
        }
        frames::flush(&mut wire);
        while let Some((number, _)) = frames::receive(&mut wire) {
            assert_eq!(number, returned);
            returned += 1;
        }
        wire.wait(Nanos::from_millis(10)).expect("intact");
    }
    drop(wire);
    assert!(peer.0.wait().expect("ends").success());
    assert_eq!(folder.path().read_dir().expect("folder").count(), 0);
}

#[test]
fn a_killed_first_end_is_noticed_and_its_place_can_be_taken_anew() {
    let (folder, path) = fresh_path();
    for timeout in [Nanos::from_millis(500), Nanos::ZERO] {
        let mut wire = ring::open(&path, End::Second, 0, 1).expect("a ring");
        let mut peer = Peer::at("first", &path, "echo");
        greet(&mut wire);
        peer.kill();
        assert_eq!(end_of(&mut wire, timeout).kind(), std::io::ErrorKind::BrokenPipe);
    }
    assert_eq!(folder.path().read_dir().expect("folder").count(), 0);
}

#[test]
fn a_first_end_outlives_its_second_ends_and_what_was_for_one_is_not_for_the_next() {
    let (folder, path) = fresh_path();
    let mut wire = ring::open(&path, End::First, 0, 1).expect("a ring");
    for round in 0..3 {
        let mut peer = Peer::new(&path, "hang");
        if round > 0 {
            wait_for_another(&mut wire);
        }
        assert_eq!(frames::receive_surely(&mut wire).0, 0, "it is there, and heard at once");
        assert!(!wire.other_end_changed(), "told once");
        peer.kill();
        // The dead read nothing: the ring fills, and is free again as soon as a successor comes.
        while frames::send(&mut wire, 7, SHORTEST) {}
        wire.wait(Nanos::from_millis(200)).expect("a successor may come");
        let mut successor = ring::open(&path, End::Second, 0, 1).expect("the seat is free");
        frames::send_surely(&mut successor, 6, SHORTEST);
        frames::flush(&mut successor);
        assert_eq!(frames::receive(&mut wire), None, "it is another, who is not heard before that is known");
        assert!(wire.other_end_changed());
        assert_eq!(frames::receive(&mut wire), Some((6, SHORTEST)));
        assert_eq!(frames::receive(&mut successor), None, "what was sent before it came is not for it");
        frames::send_surely(&mut wire, 8, SHORTEST);
        frames::flush(&mut wire);
        assert_eq!(frames::receive_surely(&mut successor).0, 8);
    }
    drop(wire);
    assert_eq!(folder.path().read_dir().expect("folder").count(), 0);
}

#[test]
fn a_peer_that_never_reads_fills_the_ring_and_its_end_frees_who_waits() {
    let (_folder, path) = fresh_path();
    let mut wire = ring::open(&path, End::Second, 0, 1).expect("a ring");
    let mut peer = Peer::at("first", &path, "hang");
    assert_eq!(frames::receive_surely(&mut wire).0, 0, "it is there");
    while frames::send(&mut wire, 0, SHORTEST) {}
    wire.wait(Nanos::from_millis(100)).expect("full, but intact");
    peer.kill();
    assert_eq!(end_of(&mut wire, Nanos::from_millis(10)).kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn a_file_of_the_dead_is_replaced() {
    let (folder, path) = fresh_path();
    let mut peer = Peer::new(&path, "hang");
    let deadline = Instant::now() + PATIENCE;
    while !path.exists() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
    peer.kill();
    assert!(path.exists(), "the killed leave their file");
    let first = ring::open(&path, End::First, 0, 1).expect("replaced");
    let second = ring::open(&path, End::Second, 0, 1).expect("joined");
    drop((first, second));
    assert_eq!(folder.path().read_dir().expect("folder").count(), 0);
}

#[test]
fn a_file_that_is_no_ring_is_refused_and_kept() {
    let (_folder, path) = fresh_path();
    let held = ring::open(&path, End::First, 0, 2).expect("a ring");
    let error = ring::open(&path, End::Second, 0, 1).expect_err("another number of queues");
    assert!(matches!(error, RingError::Queues { theirs: 2, ours: 1, .. }), "{error}");
    drop(held);
    std::fs::write(&path, "precious").expect("a file");
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a ring's mode");
    let error = ring::open(&path, End::Second, 0, 1).expect_err("no ring");
    assert!(matches!(error, RingError::Foreign { .. }), "{error}");
    assert_eq!(std::fs::read(&path).expect("kept"), b"precious");
}

#[test]
fn a_place_is_taken_once_and_queues_are_apart() {
    let (_folder, path) = fresh_path();
    let mut ends: Vec<_> = (0..3)
        .map(|queue| {
            let first = ring::open(&path, End::First, queue, 3).expect("first");
            (first, ring::open(&path, End::Second, queue, 3).expect("second"))
        })
        .collect();
    let error = ring::open(&path, End::First, 1, 3).expect_err("taken");
    assert!(matches!(error, RingError::Busy { .. }), "{error}");
    assert!(matches!(ring::open(&path, End::First, 3, 3), Err(RingError::Queue { .. })));
    for (number, (first, _)) in ends.iter_mut().enumerate() {
        frames::send_surely(first, number as u64, 64);
        frames::flush(first);
    }
    for (number, (_, second)) in ends.iter_mut().enumerate() {
        assert_eq!(frames::receive_surely(second).0, number as u64);
        assert_eq!(frames::receive(second), None);
    }
}
