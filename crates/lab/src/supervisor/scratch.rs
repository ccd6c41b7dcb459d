//! Scratch folders of a command. Their names are in the arguments of its supervisors, where other users of the machine read them before
//! the folders are there: so one that is there already is used only if nobody else can have made it.

use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use crate::in_use;
use crate::marks;
use crate::owner::is_own;

/// The right of others to write (inode(7)). They may be let through: whoever serves a database from its folder is another user.
const OTHERS_WRITE: u32 = 0o022;

/// Makes a folder for this user alone, or takes one of this user's that nobody else can write to; it counts as used until the file is
/// closed.
pub(super) fn take(folder: &Path) -> Result<File, String> {
    let cannot = |problem: String| {
        format!("no scratch folder {}: {problem}; make room there, or set TMPDIR", folder.display())
    };
    let is_ours = match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(cannot(error.to_string())),
    };
    let taken = in_use::hold(folder).map_err(|error| cannot(error.to_string()))?;
    let found = taken.metadata().map_err(|error| cannot(error.to_string()))?;
    if is_ours || (is_own(&found) && found.mode() & OTHERS_WRITE == 0) {
        // Without it `assay clean` leaves the folder, should all who watch over it be killed at once; a full disk is no reason not to start.
        let _ = marks::mark(folder);
        return Ok(taken);
    }
    Err(format!(
        "the scratch folder {} was there before assay made it, and others can write there: somebody else may have made it; set TMPDIR \
         to a folder of your own",
        folder.display()
    ))
}

/// Removes a folder with all that is in it, unless it is somebody else's.
pub(super) fn remove(folder: &Path) {
    if folder.symlink_metadata().is_ok_and(|found| is_own(&found)) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_folder_that_somebody_else_may_have_made_is_not_used() {
        let root = tempfile::tempdir().expect("folder");
        let path = |name: &str| root.path().join(name);
        let mode = |name: &str| path(name).metadata().expect("there").permissions().mode() & 0o777;
        take(&path("fresh")).expect("made");
        assert_eq!(mode("fresh"), 0o700);
        take(&path("fresh")).expect("taken again by who made it");
        std::fs::create_dir(path("readable")).expect("made");
        std::fs::set_permissions(path("readable"), std::fs::Permissions::from_mode(0o711)).expect("opened");
        take(&path("readable")).expect("nobody else can write there");
        std::fs::create_dir(path("open")).expect("made");
        std::fs::set_permissions(path("open"), std::fs::Permissions::from_mode(0o777)).expect("opened");
        symlink(path("fresh"), path("link")).expect("linked");
        for name in ["open", "link"] {
            let problem = take(&path(name)).expect_err(name);
            assert!(problem.contains("scratch folder") && problem.contains("TMPDIR"), "{problem}");
        }
    }

    #[test]
    fn what_is_used_is_not_free_and_what_is_removed_is_gone() {
        let root = tempfile::tempdir().expect("folder");
        let folder = root.path().join("scratch");
        let taken = take(&folder).expect("made");
        assert!(!in_use::is_free(&folder));
        assert!(marks::is_marked(&folder), "`assay clean` would leave it");
        drop(taken);
        assert!(in_use::is_free(&folder));
        remove(&folder);
        assert!(!folder.exists());
    }
}
