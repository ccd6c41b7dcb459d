//! Where the catalogue is. One that nobody named is found by its place: at or above the current folder, or the program.
//!
//! A catalogue is programs to be run, and who works in a folder below `/tmp` has not chosen what somebody else put into `/tmp`. So
//! one that is found by its place counts only if it belongs to people who are trusted anyway, as with repositories of git
//! (git-config(1), `safe.directory`): the user, root, who became root by sudo, and who owns the program.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::LabError;
use crate::trusted::{Trusted, is_unguarded, is_writable};

/// Folders of a catalogue; of the last there may be none.
const PARTS: [&str; 3] = ["contenders", "workloads", "experiments"];

/// What a search for the catalogue came upon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The folder of the catalogue, if there is one.
    pub root: Option<PathBuf>,
    /// Catalogues that were nearer.
    pub passed_over: Vec<PassedOver>,
}

/// A catalogue that somebody else may have put where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    folder: PathBuf,
    why: String,
}

impl fmt::Display for PassedOver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (folder, why) = (self.folder.display(), &self.why);
        write!(
            out,
            "the catalogue in {folder} is passed over, because {why}; if you trust it, give --catalogue {folder}"
        )
    }
}

/// Looks for the catalogue: `given` (from `--catalogue` or `ASSAY_CATALOGUE`) as it is; else the nearest folder at or
/// above `cwd`, else at or above `executable`, that holds `contenders/` and `workloads/` and that nobody else can have put there.
///
/// # Errors
/// [`LabError::NoCatalogue`] where the given one is none.
pub fn find(given: Option<&Path>, cwd: &Path, executable: Option<&Path>) -> Result<Found, LabError> {
    match given {
        Some(root) if is_root(root) => Ok(Found { root: Some(root.to_owned()), passed_over: Vec::new() }),
        Some(root) => Err(LabError::NoCatalogue { looked_in: root.display().to_string() }),
        None => Ok(nearest(&Trusted::here(executable), [Some(cwd), executable].into_iter().flatten())),
    }
}

fn is_root(folder: &Path) -> bool {
    folder.join("contenders").is_dir() && folder.join("workloads").is_dir()
}

fn nearest<'p>(trusted: &Trusted, starts: impl Iterator<Item = &'p Path>) -> Found {
    let mut found = Found::default();
    for folder in starts.flat_map(Path::ancestors).filter(|folder| is_root(folder)) {
        let Some(why) = doubt(trusted, folder) else {
            found.root = Some(folder.to_owned());
            break;
        };
        let passed_over = PassedOver { folder: folder.to_owned(), why };
        if !found.passed_over.contains(&passed_over) {
            found.passed_over.push(passed_over);
        }
    }
    found
}

/// Why somebody else may have put this catalogue there; `None` where nobody can.
fn doubt(trusted: &Trusted, folder: &Path) -> Option<String> {
    let own = trusted.doubt_about(folder, is_unguarded);
    own.or_else(|| PARTS.iter().find_map(|part| trusted.doubt_about(&folder.join(part), is_writable)))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir_all, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::trusted::ROOT;

    /// A folder with a catalogue, and a folder deep in it.
    fn catalogue() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().expect("folder");
        let deep = root.path().join("contenders/c/x");
        create_dir_all(&deep).expect("contenders");
        create_dir_all(root.path().join("workloads")).expect("workloads");
        (root, deep)
    }

    fn me() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    #[test]
    fn it_is_above_the_working_folder_or_the_program_or_where_it_was_said_to_be() {
        let (root, deep) = catalogue();
        let elsewhere = tempfile::tempdir().expect("folder");
        let found = |cwd, program| find(None, cwd, program).expect("a search").root;
        assert_eq!(found(&deep, None).as_deref(), Some(root.path()));
        assert_eq!(found(elsewhere.path(), Some(&deep)).as_deref(), Some(root.path()));
        assert_eq!(found(elsewhere.path(), None), None);
        let error = find(Some(elsewhere.path()), &deep, None).expect_err("given").to_string();
        assert!(
            error.contains("--catalogue") && error.contains(&elsewhere.path().display().to_string()),
            "{error}"
        );
    }

    #[test]
    fn what_everybody_may_write_to_is_passed_over_and_told_unless_it_was_named() {
        let mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).expect("mode");
        let ((root, deep), (behind, program)) = (catalogue(), catalogue());
        let find = |given| find(given, &deep, Some(&program)).expect("a search");
        mode(root.path(), 0o777);
        let found = find(None);
        assert_eq!(found.root.as_deref(), Some(behind.path()));
        let told = found.passed_over.iter().map(ToString::to_string).collect::<String>();
        assert!(told.contains("--catalogue") && told.contains(&root.path().display().to_string()), "{told}");
        assert_eq!(find(Some(root.path())).root.as_deref(), Some(root.path()));
        // As /tmp: what is in it stays who put it there.
        mode(root.path(), 0o1777);
        assert_eq!(find(None).root.as_deref(), Some(root.path()));
        mode(&root.path().join("workloads"), 0o1777);
        assert_eq!(find(None).root.as_deref(), Some(behind.path()));
    }

    #[test]
    fn what_belongs_to_nobody_who_is_trusted_is_passed_over() {
        let (root, deep) = catalogue();
        let nearest = |users: &[u32]| nearest(&Trusted(users.to_vec()), [deep.as_path()].into_iter()).root;
        assert_eq!(nearest(&[me() + 2, me()]).as_deref(), Some(root.path()));
        assert_eq!(nearest(&[me() + 1, me() + 2]), None);
    }

    #[test]
    fn a_part_that_another_user_put_into_a_shared_folder_is_enough() {
        if me() != ROOT {
            return assay_skip::skip("root", "another user's folder needs chown(2)");
        }
        for part in PARTS {
            let (root, deep) = catalogue();
            create_dir_all(root.path().join(part)).expect("there");
            std::os::unix::fs::chown(root.path().join(part), Some(4711), None).expect("handed over");
            let found = find(None, &deep, None).expect("a search");
            assert_eq!((found.root, found.passed_over.len()), (None, 1), "{part}");
        }
    }
}
