//! A ring whose other end, or whose file, is in the hands of somebody hostile.

use std::fs::{File, OpenOptions, Permissions, set_permissions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Instant;

use assay_model::units::Nanos;
use assay_wire::ring::{self, Ring, RingError};
use assay_wire::{End, Receiver as _, Sender as _, Wire as _};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use rustix::fs::{CWD, FileType, Mode};

use super::frames::PATIENCE;

/// What the hostile process does, and to which file.
const DEED: &str = "ASSAY_TEST_DEED";
const FILE: &str = "ASSAY_TEST_FILE";
const LONGEST_FRAME: usize = 1514;

/// The hostile process: this program again, which runs this alone, until it is killed. It writes what its file shares with us.
#[test]
fn as_the_hostile_process() {
    let (Ok(deed), Some(path)) = (std::env::var(DEED), std::env::var_os(FILE)) else { return };
    let file = OpenOptions::new().read(true).write(true).open(path).expect("the shared file");
    let length = file.metadata().expect("its length").len();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        match deed.as_str() {
            "cut" => file.set_len(0).expect("shorter"),
            "scribble" => scribble(&file, random.next_u64() % length, &mut random),
            offset => scribble(&file, offset.parse().expect("where to write"), &mut random),
        }
    }
}

fn scribble(file: &File, offset: u64, random: &mut ChaCha8Rng) {
    let mut bytes = [0; 64];
    random.fill_bytes(&mut bytes);
    // A word of few bits makes indices that nearly fit.
    let length = if bytes[0] < 64 { 2 } else { bytes.len() };
    file.write_all_at(&bytes[..length], offset).expect("written");
}

/// A process that is killed when this is dropped.
struct Hostile(Child);

impl Hostile {
    fn start(path: &Path, deed: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "hostile::as_the_hostile_process", "--quiet"]);
        Self(command.env(FILE, path).env(DEED, deed).spawn().expect("a process"))
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn both_ends() -> (tempfile::TempDir, PathBuf, [Ring; 2]) {
    let folder = tempfile::tempdir_in("/dev/shm").expect("shared memory");
    let path = folder.path().join("ring");
    let ends = [End::First, End::Second].map(|end| ring::open(&path, end, 0, 1).expect("an end"));
    (folder, path, ends)
}

#[test]
fn what_is_shown_stays_as_it_was_checked() {
    let (_folder, path, [mut first, mut second]) = both_ends();
    let marked = [&[0x5a; 16][..], b"a frame that is looked for", &[0x5a; 60]].concat();
    second.split().1.send(marked.len(), |frame| frame.copy_from_slice(&marked));
    second.split().1.flush();
    let shared = std::fs::read(&path).expect("the file");
    let slot = shared.windows(marked.len()).position(|window| window == marked).expect("the frame");

    assert_eq!(first.split().0.peek(), Some(&marked[..]));
    // Its length stands before it.
    let _hostile = Hostile::start(&path, &(slot - 2).to_string());
    let file = File::open(&path).expect("the file");
    let deadline = Instant::now() + PATIENCE;
    let mut now = marked.clone();
    while now[..62] == marked[..62] {
        assert!(Instant::now() < deadline, "nothing was overwritten");
        file.read_exact_at(&mut now, slot as u64).expect("read");
    }
    assert_eq!(first.split().0.peek(), Some(&marked[..]), "it was overwritten meanwhile");
}

#[test]
fn whatever_is_written_over_a_ring_ends_it_at_worst() {
    for _ in 0..3 {
        let (_folder, path, [mut first, mut second]) = both_ends();
        let _hostile = Hostile::start(&path, "scribble");
        let deadline = Instant::now() + PATIENCE;
        let ended = 'ended: loop {
            assert!(Instant::now() < deadline, "no index was hit");
            for end in [&mut first, &mut second] {
                let (receiver, sender) = end.split();
                if sender.room() {
                    sender.send(LONGEST_FRAME, |frame| frame.fill(1));
                }
                while let Some(frame) = receiver.peek() {
                    assert!((14..=LONGEST_FRAME).contains(&frame.len()));
                    receiver.release();
                }
                sender.flush();
                if let Err(error) = end.wait(Nanos::ZERO) {
                    break 'ended error;
                }
                let _ = end.other_end_changed();
            }
        };
        let kinds = [std::io::ErrorKind::InvalidData, std::io::ErrorKind::BrokenPipe];
        assert!(kinds.contains(&ended.kind()), "{ended}");
    }
}

/// A peer that raises the index as fast as slots without a frame are passed over would hold a look for the next frame for ever.
#[test]
fn a_ring_full_of_slots_without_a_frame_is_given_up() {
    let (_folder, path, [mut first, mut second]) = both_ends();
    let marked = [0xa5; 64];
    let mut sent = 0;
    while second.split().1.room() {
        second.split().1.send(marked.len(), |frame| frame.copy_from_slice(&marked));
        sent += 1;
    }
    second.split().1.flush();
    let file = OpenOptions::new().read(true).write(true).open(&path).expect("the shared file");
    let bytes = std::fs::read(&path).expect("the file");
    let mut emptied = 0;
    for (slot, _) in bytes.windows(marked.len()).enumerate().filter(|(_, window)| *window == marked) {
        file.write_all_at(&[0; 2], slot as u64 - 2).expect("written");
        emptied += 1;
    }
    assert_eq!(emptied, sent, "each slot has its length before it");

    assert_eq!(first.split().0.peek(), None);
    let error = first.wait(Nanos::ZERO).expect_err("it is over");
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
}

#[test]
fn a_file_that_is_cut_short_is_an_error() {
    for timeout in [Nanos::ZERO, Nanos::from_millis(300)] {
        let (_folder, path, [mut first, _second]) = both_ends();
        let _hostile = Hostile::start(&path, "cut");
        let deadline = Instant::now() + PATIENCE;
        let error = loop {
            assert!(Instant::now() < deadline, "the cut was not noticed");
            if let Err(error) = first.wait(timeout) {
                break error;
            }
        };
        assert!(error.to_string().contains("cut the ring's file short"), "{error}");
        let error = ring::open(&path, End::Second, 0, 1).expect_err("nothing is left of it");
        assert!(matches!(error, RingError::Foreign { .. }), "{error}");
    }
}

#[test]
fn a_ring_that_others_can_change_is_refused_and_kept() {
    let (_folder, path, ends) = both_ends();
    let refused = |problem: &str| {
        let error = ring::open(&path, End::Second, 0, 1).expect_err("not ours alone");
        assert!(matches!(error, RingError::NotOurs { .. }), "{error}");
        assert!(error.to_string().contains(problem), "{error}");
        assert!(ring::check(&path).is_err() && path.symlink_metadata().is_ok());
    };
    for mode in [0o620, 0o602, 0o640] {
        set_permissions(&path, Permissions::from_mode(mode)).expect("a new mode");
        refused(&format!("{mode:04o}"));
    }
    set_permissions(&path, Permissions::from_mode(0o600)).expect("the old mode");
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(65_534), None).expect("a new owner");
        refused("user 65534");
    }
    drop(ends);
    let _ = std::fs::remove_file(&path);
    symlink("/dev/zero", &path).expect("a link");
    refused("symbolic link");
}

#[test]
fn pipes_that_others_can_change_are_refused() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("shared memory");
    let path = folder.path().join("ring");
    let planted = folder.path().join("ring.0.second");
    rustix::fs::mknodat(CWD, &planted, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    set_permissions(&planted, Permissions::from_mode(0o622)).expect("a new mode");
    let error = ring::open(&path, End::First, 0, 1).expect_err("others may wake us").to_string();
    assert!(error.contains("ring.0.second") && error.contains("0622"), "{error}");
    assert!(planted.exists() && !path.exists(), "it is not ours, and without it nothing was made");

    let file = folder.path().join("ring.0.first");
    std::fs::write(&file, "precious").expect("a file");
    assert!(ring::open(&path, End::First, 0, 1).is_err(), "that is no pipe");
    assert_eq!(std::fs::read(&file).expect("kept"), b"precious");
}
