//! What killed runs left behind. Processes and network namespaces never are: they end with the run, however it ends.

use std::fs::File;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use procfs::process::{Process, all_processes};

use crate::in_use;
use crate::marks;
use crate::owner::is_own;
pub use crate::scratch::SHARED_MEMORY;
use crate::scratch::{
    AGENT_PREFIX, CLUSTER_PREFIX, RANDOM_CHARACTERS, SCRATCH_PREFIX, STORE_PREFIX, agent_in,
};
use crate::store::Store;

/// Begins what earlier versions had unpacked and not given its name yet.
const UNPACKING: &str = ".unpacking-";
/// Folders younger than this are left alone: whoever made one may be about to start what uses it.
const MIN_AGE: Duration = Duration::from_secs(60);

/// A new folder for an agent in the folder `temporary`, for this user alone, and what says that it is used.
pub(crate) fn agent_folder(temporary: &Path) -> std::io::Result<(PathBuf, File)> {
    let folder = agent_in(temporary);
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    marks::mark(&folder)?;
    let used = in_use::hold(&folder)?;
    Ok((folder, used))
}

/// Removes the folders of agents all of whose processes were killed at once.
pub(crate) fn remove_abandoned_agents(temporary: &Path) {
    let is_agents =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(AGENT_PREFIX));
    for folder in unused(&[temporary]).iter().filter(|path| is_agents(path)) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// What is left of runs in `store` and, of temporary folders of ours that nobody uses, in the folders `temporary`.
pub fn leftovers(store: &Store, temporary: &[&Path]) -> Vec<PathBuf> {
    let mut found = unused(temporary);
    found.extend(store.leftovers());
    found
}

/// Temporary folders of ours that nobody uses: nobody holds them, and no process that is seen has to do with them.
fn unused(temporary: &[&Path]) -> Vec<PathBuf> {
    let entries = temporary.iter().flat_map(std::fs::read_dir).flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths.filter(|path| is_ours(path) && is_old(path)).collect();
    if !found.is_empty() {
        let users = users();
        found.retain(|path| in_use::is_free(path) && !users.iter().any(|user| user.uses(path)));
    }
    found
}

/// Says that somebody is at work in a folder, until the file is closed.
///
/// # Errors
/// As the system tells.
pub fn at_work(folder: &Path) -> std::io::Result<File> {
    in_use::hold(folder)
}

/// What was to be given a name in a folder and was not, because whoever wrote it was killed.
pub fn cut_short(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_cut_short = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let is_own = path.symlink_metadata().is_ok_and(|found| is_own(&found));
        // Whoever used the earlier name did not say that they were at work.
        is_own && (name.starts_with(assay_file::ASIDE_PREFIX) || name.starts_with(UNPACKING) && is_old(path))
    };
    let found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_cut_short).collect();
    if found.is_empty() || in_use::is_free(folder) { found } else { Vec::new() }
}

/// Removes one of [`leftovers`] or [`cut_short`].
///
/// # Errors
/// As the system tells.
pub fn remove(path: &Path) -> std::io::Result<()> {
    if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}

/// Whether assay made a folder: others give such names, too, and copy what we made.
fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_name_of_ours(&name.to_string_lossy())) && marks::is_marked(path)
}

fn is_name_of_ours(name: &str) -> bool {
    let prefixes = [SCRATCH_PREFIX, CLUSTER_PREFIX, STORE_PREFIX, AGENT_PREFIX];
    let random = prefixes.into_iter().find_map(|prefix| name.strip_prefix(prefix));
    random.is_some_and(|text| {
        text.len() == RANDOM_CHARACTERS && text.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

/// Whether it is a folder that may be this user's, no link to one, and not just made.
fn is_old(path: &Path) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return false };
    let made = metadata.created().or_else(|_| metadata.modified());
    let age = made.ok().and_then(|made| SystemTime::now().duration_since(made).ok());
    metadata.is_dir() && is_own(&metadata) && age.is_some_and(|age| age >= MIN_AGE)
}

/// What a process has to do with folders.
struct User {
    working_folder: Option<PathBuf>,
    arguments: Vec<String>,
}

impl User {
    fn of(process: &Process) -> Self {
        Self { working_folder: process.cwd().ok(), arguments: process.cmdline().unwrap_or_default() }
    }

    /// The supervisor of whatever uses a folder names it in its arguments.
    fn uses(&self, folder: &Path) -> bool {
        let name = folder.to_string_lossy();
        let inside = self.working_folder.as_ref().is_some_and(|working| working.starts_with(folder));
        inside || self.arguments.iter().any(|argument| argument.contains(&*name))
    }
}

fn users() -> Vec<User> {
    all_processes().into_iter().flatten().flatten().map(|process| User::of(&process)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{cluster_in, scratch_in, store_in};

    #[test]
    fn a_new_name_is_one_of_ours() {
        for new in [scratch_in, cluster_in, store_in] {
            let [one, other] = [(); 2].map(|()| new(Path::new("/tmp")));
            assert_ne!(one, other);
            assert!(
                is_name_of_ours(&one.file_name().expect("a name").to_string_lossy()),
                "{}",
                one.display()
            );
        }
    }

    #[test]
    fn only_names_of_ours_are_ours() {
        assert!(
            ["scratch", "pg", "store", "agent"]
                .map(|what| format!("assay-{what}-a1B2c3"))
                .iter()
                .all(|name| is_name_of_ours(name))
        );
        for name in
            ["assay-", "assay-target", "assay-pg-", "assay-scratch-a1B2c", "assay-scratch-../../", "x"]
        {
            assert!(!is_name_of_ours(name), "{name}");
        }
    }

    #[test]
    fn folders_of_the_users_with_names_like_ours_are_no_leftovers() {
        let root = tempfile::tempdir().expect("folder");
        for name in ["assay-pg-backup", "assay-agent-config"] {
            std::fs::create_dir(root.path().join(name)).expect("made");
            assert!(is_name_of_ours(name) && !is_ours(&root.path().join(name)), "{name}");
        }
        let (agents, _used) = agent_folder(root.path()).expect("made");
        assert!(is_ours(&agents));
        assert!(is_ours(crate::scratch::temporary().expect("made").path()));
    }

    #[test]
    fn what_is_in_use_or_young_stays() {
        let folder = tempfile::tempdir().expect("folder");
        let user = |argument: String| User { working_folder: None, arguments: vec![argument] };
        assert!(user(format!("--scratch={}/x", folder.path().display())).uses(folder.path()));
        assert!(!user("--scratch=/elsewhere".to_owned()).uses(folder.path()));
        assert!(
            User { working_folder: Some(folder.path().join("x")), arguments: Vec::new() }.uses(folder.path())
        );
        assert!(!is_old(folder.path()));
        assert!(users().len() > 1);
    }

    #[test]
    fn the_results_of_other_programs_are_left_alone() {
        let root = tempfile::tempdir().expect("folder");
        for name in ["exp1", "2026-11-26", "20261126-1-x", "20261126-120000-"] {
            for part in ["logs", "work"] {
                std::fs::create_dir_all(root.path().join(name).join(part)).expect("made");
            }
        }
        assert_eq!(leftovers(&Store::new(root.path()), &[root.path()]), Vec::<PathBuf>::new());
    }

    #[test]
    fn what_was_cut_short_is_left_over_unless_somebody_is_at_work() {
        let root = tempfile::tempdir().expect("folder");
        for name in ["0.1.0-0123abcd/contenders", ".assay-part-a1B2c3/whole", ".unpacking-a1B2c3/whole"] {
            std::fs::create_dir_all(root.path().join(name)).expect("made");
        }
        let at_work = at_work(root.path()).expect("a lock");
        assert_eq!(cut_short(root.path()), Vec::<PathBuf>::new());
        drop(at_work);
        assert_eq!(
            cut_short(root.path()),
            [root.path().join(".assay-part-a1B2c3")],
            "the other may be young"
        );
        assert_eq!(cut_short(&root.path().join("nowhere")), Vec::<PathBuf>::new());
    }

    #[test]
    fn the_work_of_a_killed_run_is_left_over_and_that_of_a_running_one_is_not() {
        let root = tempfile::tempdir().expect("folder");
        let store = Store::new(root.path());
        let folder = store.create("x", jiff::Timestamp::UNIX_EPOCH).expect("run");
        let work = folder.work().expect("work");
        assert_eq!(leftovers(&store, &[root.path()]), Vec::<PathBuf>::new());
        // As if its process had died.
        drop(folder);
        assert_eq!(leftovers(&store, &[root.path()]), [work.as_path()]);
        remove(&work).expect("removed");
        assert_eq!(leftovers(&store, &[root.path()]), Vec::<PathBuf>::new());
    }
}
