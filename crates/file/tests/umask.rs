//! The mode of new files; a process has one umask, so this is a program of its own.

use std::os::unix::fs::MetadataExt as _;

use rustix::fs::Mode;

#[test]
fn a_new_file_has_the_mode_that_the_umask_leaves_and_a_private_one_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    for (umask, mode) in [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)] {
        rustix::process::umask(Mode::from_raw_mode(umask));
        for (name, write) in [("whole", true), ("growing", false)] {
            let path = folder.path().join(format!("{name}-{umask:o}"));
            if write { assay_file::write(&path, b"x") } else { assay_file::begin(&path).map(drop) }
                .expect("written");
            assert_eq!(path.metadata().expect("there").mode() & 0o7777, mode, "{name}");
            assay_file::write_private(&path, b"y").expect("written");
            assert_eq!(path.metadata().expect("there").mode() & 0o7777, 0o600, "{name}");
        }
    }
}
