//! What is read, and what is not.
#![allow(clippy::expect_used, reason = "a helper may fail as loudly as the test that calls it")]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;

use assay_file::{read, read_bytes, read_found, read_within};
use rustix::fs::{CWD, Mode, mkfifoat};

#[test]
fn no_more_is_read_than_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("text");
    fs::write(&path, "four").expect("written");
    assert_eq!(read(&path, 4).expect("read"), "four");
    assert_eq!(read(&path, 3).expect_err("too long").kind(), ErrorKind::FileTooLarge);
    let endless = read_bytes(Path::new("/dev/zero"), 1 << 16).expect_err("without an end");
    assert!(endless.to_string().contains("longer than 65536 bytes"), "{endless}");
    fs::write(&path, [b'a', 0xff]).expect("written");
    assert_eq!(read_bytes(&path, 4).expect("read"), [b'a', 0xff]);
    assert_eq!(read(&path, 4).expect_err("no text").kind(), ErrorKind::InvalidData);
}

#[test]
fn a_pipe_that_a_person_names_is_read_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pipe");
    mkfifoat(CWD, &path, Mode::from_raw_mode(0o600)).expect("a pipe");
    let writer = std::thread::spawn({
        let path = path.clone();
        move || fs::write(path, "through")
    });
    assert_eq!(read(&path, 100).expect("read"), "through");
    writer.join().expect("a thread").expect("written");
}

#[test]
fn of_what_is_found_only_regular_files_are_read_and_nobody_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "four").expect("written");
    symlink("file", at("link")).expect("linked");
    symlink("/dev/zero", at("endless")).expect("linked");
    mkfifoat(CWD, at("pipe"), Mode::from_raw_mode(0o600)).expect("a pipe");
    symlink("pipe", at("piped")).expect("linked");
    let told = |name: &str| read_found(&at(name), 4).map_err(|error| error.kind());
    assert_eq!(told("file").as_deref(), Ok("four"));
    assert_eq!(told("link").as_deref(), Ok("four"), "who made the folder may have their file elsewhere");
    for name in ["endless", "pipe", "piped", "."] {
        assert_eq!(told(name), Err(ErrorKind::InvalidInput), "{name}");
    }
    assert_eq!(told("none"), Err(ErrorKind::NotFound));
    assert_eq!(read_found(&at("file"), 3).expect_err("too long").kind(), ErrorKind::FileTooLarge);
}

#[test]
fn nothing_outside_of_a_folder_is_read_through_it() {
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("key"), "secret").expect("written");
    let folder = outside.path().join("folder");
    fs::create_dir_all(folder.join("below")).expect("made");
    fs::write(folder.join("below/page"), "page").expect("written");
    symlink("below/page", folder.join("same")).expect("linked");
    symlink("../key", folder.join("key")).expect("linked");
    symlink("..", folder.join("up")).expect("linked");
    mkfifoat(CWD, folder.join("pipe"), Mode::from_raw_mode(0o600)).expect("a pipe");
    let told = |name: &str| read_within(&folder, Path::new(name), 100).map_err(|error| error.kind());
    assert_eq!(told("below/page").as_deref(), Ok("page"));
    assert_eq!(told("same").as_deref(), Ok("page"), "a link that stays inside");
    for name in ["key", "up/key", "../key", "/etc/passwd"] {
        assert_eq!(told(name), Err(ErrorKind::PermissionDenied), "{name}");
    }
    assert_eq!(told("pipe"), Err(ErrorKind::InvalidInput), "and nobody waits for a writer");
    assert_eq!(told("below"), Err(ErrorKind::InvalidInput));
    assert_eq!(told("none"), Err(ErrorKind::NotFound));
}
