//! What is there already, and what is found afterwards.
#![allow(clippy::expect_used, reason = "a helper may fail as loudly as the test that calls it")]

use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use assay_file::{NewFile, begin, write, write_folder, write_here, write_new};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).expect("a file")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn descriptor(of: &impl AsRawFd) -> PathBuf {
    format!("/proc/self/fd/{}", of.as_raw_fd()).into()
}

#[test]
fn a_file_is_replaced_and_its_neighbours_stay() {
    let folder = folder();
    let path = folder.path().join("keep.md");
    for neighbour in ["keep.part", "keep.md.part", "keep.md~"] {
        fs::write(folder.path().join(neighbour), "the user's").expect("written");
    }
    write(&path, b"first").expect("made");
    write(&path, b"second").expect("replaced");
    assert_eq!(read(&path), "second");
    assert_eq!(names(folder.path()), ["keep.md", "keep.md.part", "keep.md~", "keep.part"]);
    assert!(
        ["keep.part", "keep.md.part", "keep.md~"].iter().all(|n| read(folder.path().join(n)) == "the user's")
    );
}

#[test]
fn a_hard_link_to_something_else_is_cut_and_not_followed() {
    let folder = folder();
    let [precious, path] = ["precious", "report"].map(|name| folder.path().join(name));
    fs::write(&precious, "precious").expect("written");
    fs::hard_link(&precious, &path).expect("linked");
    write(&path, b"report").expect("written");
    assert_eq!((read(&precious).as_str(), read(&path).as_str()), ("precious", "report"));
    fs::remove_file(&path).expect("removed");
    fs::hard_link(&precious, &path).expect("linked");
    begin(&path).expect("begun").write_all(b"stream").expect("written");
    assert_eq!((read(&precious).as_str(), read(&path).as_str()), ("precious", "stream"));
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced_where_that_is() {
    let folder = folder();
    fs::create_dir(folder.path().join("real")).expect("made");
    let [link, real] = ["link", "real/file"].map(|name| folder.path().join(name));
    symlink("real/file", &link).expect("linked");
    write(&link, b"made").expect("a link that leads nowhere yet");
    assert_eq!(read(&real), "made");
    let before = real.metadata().expect("there").ino();
    write(&link, b"replaced").expect("written");
    assert_eq!(read(&real), "replaced");
    assert_ne!(real.metadata().expect("there").ino(), before, "replaced whole");
    assert!(link.symlink_metadata().expect("there").is_symlink());
    assert_eq!(names(&folder.path().join("real")), ["file"]);
}

#[test]
fn what_nobody_named_is_written_where_its_name_is_and_through_no_link() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    write_here(&at("page"), b"made").expect("made");
    fs::set_permissions(at("page"), Permissions::from_mode(0o640)).expect("set");
    write_here(&at("page"), b"replaced").expect("replaced");
    assert_eq!(
        (read(at("page")).as_str(), at("page").metadata().expect("there").mode() & 0o7777),
        ("replaced", 0o640)
    );
    symlink("page", at("link")).expect("linked");
    symlink("nowhere", at("dangling")).expect("linked");
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::from_raw_mode(0o600))
        .expect("a pipe");
    for name in ["link", "dangling", "pipe"] {
        let told = write_here(&at(name), b"x").expect_err(name).to_string();
        assert!(told.contains(name) && told.contains("stays as it is"), "{told}");
    }
    assert_eq!(read(at("page")), "replaced");
    assert_eq!(names(folder.path()), ["dangling", "link", "page", "pipe"]);
}

#[test]
fn links_in_a_ring_folders_and_missing_folders_are_told_with_a_remedy() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    symlink(at("a"), at("b")).expect("linked");
    symlink(at("b"), at("a")).expect("linked");
    for (name, remedy) in [("a", "name a file"), ("none/file", "make its folder"), (".", "name a file in it")]
    {
        let error = write(&at(name), b"x").expect_err(name).to_string();
        assert!(error.contains(&at(name).display().to_string()) && error.contains(remedy), "{error}");
    }
    assert_eq!(names(folder.path()), ["a", "b"]);
}

#[test]
fn a_missing_folder_is_told_in_the_systems_words_whatever_is_written() {
    let folder = folder();
    let path = folder.path().join("none/new");
    let told = [write(&path, b"x"), write_new(&path, b"x"), write_folder(&path, &[])];
    for error in told.map(|written| written.expect_err("no folder").to_string()) {
        let words = "No such file or directory (os error 2); make its folder first, or name another";
        assert!(error.ends_with(words), "{error}");
    }
}

#[test]
fn a_pipe_is_written_through_and_stays_a_pipe() {
    let folder = folder();
    let path = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).expect("a pipe");
    let reader = std::thread::spawn({
        let path = path.clone();
        move || read(path)
    });
    write(&path, b"through").expect("written");
    assert_eq!(reader.join().expect("read"), "through");
    assert!(path.metadata().expect("there").file_type().is_fifo());
    assert_eq!(names(folder.path()), ["pipe"]);
}

#[test]
fn a_device_that_is_full_says_so_and_stays_a_device() {
    let error = write(Path::new("/dev/full"), b"x").expect_err("full");
    assert!(error.is_full() && error.to_string().contains("/dev/full"), "{error}");
    assert!(Path::new("/dev/full").metadata().expect("there").file_type().is_char_device());
}

#[test]
fn a_descriptor_is_written_where_it_stands() {
    let folder = folder();
    let path = folder.path().join("log");
    fs::write(&path, "before ").expect("written");
    let log = File::options().append(true).open(&path).expect("opened");
    write(&descriptor(&log), b"after").expect("written");
    assert_eq!(read(&path), "before after");
    assert_eq!(names(folder.path()), ["log"]);
}

#[test]
fn a_socket_behind_a_descriptor_is_written_through() {
    let (near, mut far) = UnixStream::pair().expect("sockets");
    write(&descriptor(&near), b"through").expect("written");
    drop(near);
    let mut text = String::new();
    far.read_to_string(&mut text).expect("read");
    assert_eq!(text, "through");
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let (near, far) = UnixStream::pair().expect("sockets");
    drop(far);
    write(&descriptor(&near), b"nobody").expect("no failure");
}

#[test]
fn a_file_that_grows_can_be_read_along_and_leaves_the_old_one_to_its_readers() {
    let folder = folder();
    let path = folder.path().join("stream");
    fs::write(&path, "old").expect("written");
    let mut reader = File::open(&path).expect("opened");
    let mut stream = begin(&path).expect("begun");
    stream.write_all(b"first\n").expect("written");
    assert_eq!(read(&path), "first\n");
    stream.write_all(b"second\n").expect("written");
    assert_eq!(read(&path), "first\nsecond\n");
    let mut old = String::new();
    reader.read_to_string(&mut old).expect("read");
    assert_eq!(old, "old");
    assert_eq!(names(folder.path()), ["stream"]);
}

#[test]
fn a_file_of_ones_own_keeps_its_permissions() {
    let folder = folder();
    let path = folder.path().join("secret");
    fs::write(&path, "old").expect("written");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("set");
    write(&path, b"new").expect("written");
    assert_eq!(path.metadata().expect("there").mode() & 0o7777, 0o640);
}

#[test]
fn what_is_written_only_where_nothing_is_replaces_nothing() {
    let folder = folder();
    let path = folder.path().join("mine.toml");
    write_new(&path, b"first").expect("made");
    let told = write_new(&path, b"second").expect_err("there").to_string();
    assert!(told.contains("mine.toml") && told.contains("stays as it is, so name another"), "{told}");
    assert_eq!(read(&path), "first");
    let link = folder.path().join("link.toml");
    symlink(folder.path().join("nowhere"), &link).expect("linked");
    write_new(&link, b"second").expect_err("a link that leads nowhere");
    assert_eq!(names(folder.path()), ["link.toml", "mine.toml"]);
    let told = write_new(&folder.path().join("absent/mine.toml"), b"").expect_err("no folder").to_string();
    assert!(told.contains("make its folder first"), "{told}");
}

#[test]
fn a_new_folder_is_there_whole_or_not_at_all() {
    let folder = folder();
    let file = |path: &str, is_executable| NewFile { path: path.into(), content: path.into(), is_executable };
    let files = [file("run.sh", true), file("src/main.rs", false)];
    let path = folder.path().join("mine");
    write_folder(&path, &files).expect("made");
    assert_eq!(read(path.join("src/main.rs")), "src/main.rs");
    let mode = |name: &str| fs::metadata(path.join(name)).expect("a file").mode() & 0o100;
    assert_eq!((mode("run.sh"), mode("src/main.rs")), (0o100, 0));
    for there in ["mine", "empty", "file"] {
        let there = folder.path().join(there);
        if there.ends_with("empty") {
            fs::create_dir(&there).expect("a folder");
        } else if there.ends_with("file") {
            fs::write(&there, "").expect("a file");
        }
        let told = write_folder(&there, &files).expect_err("there").to_string();
        assert!(told.contains("stays as it is"), "{told}");
    }
    let twice = [file("a", false), file("a", false)];
    write_folder(&folder.path().join("other"), &twice).expect_err("two files of one name");
    assert_eq!(names(folder.path()), ["empty", "file", "mine"]);
    assert_eq!(names(&folder.path().join("empty")), Vec::<String>::new());
}
