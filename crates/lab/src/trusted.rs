//! Trust in files by their owner: those that may say what is run, and the folder where records are written to.
//!
//! Catalogues that nobody named are asked about, and the folder of runs ([`Trusted::doubt_about_path`]): whoever put it where everybody
//! may says where records and logs are written to.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The bit of a folder's mode by which everybody may make files in it.
const EVERYBODY: u32 = 0o002;
/// The bit of its mode by which nobody may replace the files of others in it (inode(7), `S_ISVTX`).
const STICKY: u32 = 0o1000;
/// The user who may do everything.
pub(crate) const ROOT: u32 = 0;

/// Numbers of the users who may have put a catalogue, or a folder of runs, where it is found.
pub(crate) struct Trusted(pub(crate) Vec<u32>);

impl Trusted {
    /// The users who are trusted here: whoever runs this program, or could have changed it.
    pub(crate) fn here(executable: Option<&Path>) -> Self {
        let me = rustix::process::geteuid().as_raw();
        let owner = executable.and_then(|program| Some(program.metadata().ok()?.uid()));
        // Only sudo itself can have set it for root (sudo(8)); anybody may set it for themselves.
        let by_sudo = std::env::var("SUDO_UID").ok().filter(|_| me == ROOT);
        let all = [Some(me), Some(ROOT), owner, by_sudo.and_then(|number| number.parse().ok())];
        Self(all.into_iter().flatten().collect())
    }

    /// Why somebody else may have put this folder, or one above it, where it is; `None` where nobody has. Whose they are matters only where
    /// everybody may put one: elsewhere somebody let their owner have them, and in a container that owner often has no number that is known.
    pub(crate) fn doubt_about_path(&self, folder: &Path) -> Option<String> {
        let paths = [std::path::absolute(folder), folder.canonicalize()];
        let is_anybodys = |place: &&Path| {
            let around = place.parent().and_then(|around| around.metadata().ok());
            around.as_ref().is_some_and(is_writable)
        };
        let mut places = paths.iter().flatten().flat_map(|path| path.ancestors()).filter(is_anybodys);
        places.find_map(|place| self.doubt_about_owner(place))
    }

    /// What is wrong with a folder, or a link to one; `is_open` tells whether too many may write to it.
    pub(crate) fn doubt_about(&self, place: &Path, is_open: impl Fn(&Metadata) -> bool) -> Option<String> {
        let everybody = || {
            let found = place.metadata().ok()?;
            is_open(&found).then(|| format!("everybody may write to {}", place.display()))
        };
        self.doubt_about_owner(place).or_else(everybody)
    }

    fn doubt_about_owner(&self, place: &Path) -> Option<String> {
        let owners = [place.symlink_metadata().ok()?.uid(), place.metadata().ok()?.uid()];
        let other = owners.iter().find(|owner| !self.0.contains(owner))?;
        Some(format!("{} belongs to another user (number {other})", place.display()))
    }
}

/// Whether everybody may make files in a folder.
pub(crate) fn is_writable(found: &Metadata) -> bool {
    found.mode() & EVERYBODY != 0
}

/// Whether everybody may also replace what others have in a folder.
pub(crate) fn is_unguarded(found: &Metadata) -> bool {
    is_writable(found) && found.mode() & STICKY == 0
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir_all, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_owner_of_a_folder_on_the_way_matters_where_everybody_may_put_one() {
        let me = rustix::process::geteuid().as_raw();
        if me != ROOT {
            return assay_skip::skip("root", "another user's folder needs chown(2)");
        }
        let root = tempfile::tempdir().expect("folder");
        let (middle, deep) = (root.path().join("contenders"), root.path().join("contenders/c/x"));
        create_dir_all(&deep).expect("contenders");
        let doubt = || Trusted::here(None).doubt_about_path(&deep).unwrap_or_default();
        std::os::unix::fs::chown(&middle, Some(4711), None).expect("handed over");
        assert_eq!(doubt(), "");
        set_permissions(root.path(), Permissions::from_mode(0o1777)).expect("mode");
        assert!(doubt().contains("contenders belongs to another user (number 4711)"), "{}", doubt());
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&deep, &link).expect("linked");
        assert!(Trusted::here(None).doubt_about_path(&link).is_some(), "where it leads to");
        std::os::unix::fs::chown(&middle, Some(me), None).expect("taken back");
        assert_eq!(doubt(), "");
    }
}
