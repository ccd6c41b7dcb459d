//! What shows that a folder is that of a run, or another one of assay's, for whoever has to leave it alone.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The file of a run's record.
pub(crate) const RECORD_FILE: &str = "record.json";
/// What passes by during a run.
pub(crate) const WORK: &str = "work";
/// Says of such a folder that a run made it: others have folders of that name, too.
pub(crate) const WORK_MARK: &str = ".assay-work";

/// Says of a temporary folder that assay made it; it holds what [`identity`] tells, so that a copy of the folder has no mark.
const FOLDER_MARK: &str = ".assay-folder";
/// Longest mark that is read.
const MAX_MARK_BYTES: u64 = 1 << 10;

/// Says of a temporary folder, which is assay's, that it is.
///
/// # Errors
/// As the system tells.
pub(crate) fn mark(folder: &Path) -> std::io::Result<()> {
    // Through no link: the folder may have been somebody's who serves us.
    match File::create_new(folder.join(FOLDER_MARK)) {
        Ok(mut file) => file.write_all(identity(folder)?.as_bytes()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether assay made a temporary folder, and nobody copied or renamed it since.
pub(crate) fn is_marked(folder: &Path) -> bool {
    let marked = assay_file::read(&folder.join(FOLDER_MARK), MAX_MARK_BYTES);
    marked.is_ok_and(|marked| identity(folder).is_ok_and(|identity| identity == marked))
}

/// What a copy of a folder has not: its name and its number in its file system (inode(7)).
fn identity(folder: &Path) -> std::io::Result<String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{name} {}\n", folder.symlink_metadata()?.ino()))
}

/// Whether a folder may have been made for a run, going by its name: others keep results in such folders, too.
pub(crate) fn is_name_of_run(name: &str) -> bool {
    let digits = |text: &str, number: usize| text.len() == number && text.bytes().all(|b| b.is_ascii_digit());
    let mut parts = name.splitn(3, '-');
    let mut next = || parts.next().unwrap_or_default();
    digits(next(), 8) && digits(next(), 6) && !next().is_empty()
}

/// Whether a folder is what passes by during a run.
pub(crate) fn is_work(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == WORK) && folder.join(WORK_MARK).is_file()
}

/// Whether a folder is that of a run, which goes on or has left a record.
pub(crate) fn is_run(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    is_name_of_run(&name) && (folder.join(RECORD_FILE).is_file() || is_work(&folder.join(WORK)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_marked_folder_is_the_users() {
        let root = tempfile::tempdir().expect("folder");
        let [made, copied, renamed] = ["assay-pg-x1Y2z3", "assay-pg-backup", "assay-pg-backu2"];
        let path = |name: &str| root.path().join(name);
        for name in [made, copied] {
            std::fs::create_dir(path(name)).expect("made");
        }
        assert!(!is_marked(&path(made)), "nobody has marked it");
        mark(&path(made)).expect("marked");
        mark(&path(made)).expect("marked again");
        assert!(is_marked(&path(made)));
        std::fs::copy(path(made).join(FOLDER_MARK), path(copied).join(FOLDER_MARK)).expect("copied");
        assert!(!is_marked(&path(copied)));
        std::fs::rename(path(made), path(renamed)).expect("renamed");
        assert!(!is_marked(&path(renamed)));
    }

    #[test]
    fn a_mark_is_written_through_no_link() {
        let root = tempfile::tempdir().expect("folder");
        let precious = root.path().join("precious");
        std::fs::write(&precious, "ours").expect("a file");
        std::os::unix::fs::symlink(&precious, root.path().join(FOLDER_MARK)).expect("linked");
        mark(root.path()).expect("there");
        assert_eq!(std::fs::read_to_string(&precious).expect("there"), "ours");
        assert!(!is_marked(root.path()));
    }
}
