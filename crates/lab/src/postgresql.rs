//! PostgreSQL's programs on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Places beside the PATH where distributions put PostgreSQL's programs, one folder per version.
const HOMES: [(&str, &str); 2] = [("/usr/lib/postgresql", "bin"), ("/usr", "bin")];

/// Where the programs of the newest PostgreSQL are.
pub struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Looks on the PATH, then where distributions put them; the newest version wins.
    pub fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).find(|folder| has_programs(folder));
        let folder = on_path.or_else(|| HOMES.iter().find_map(|(home, bin)| newest(Path::new(home), bin)))?;
        Some(Self { folder })
    }

    /// The path of one of them.
    pub(crate) fn program(&self, name: &str) -> OsString {
        self.folder.join(name).into_os_string()
    }
}

fn has_programs(folder: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file())
}

fn newest(home: &Path, bin: &str) -> Option<PathBuf> {
    let version = |folder: &PathBuf| -> Option<u32> {
        let name = folder.file_name()?.to_str()?;
        name.trim_start_matches("pgsql-").parse().ok()
    };
    let folders = std::fs::read_dir(home).ok()?.flatten().map(|entry| entry.path());
    let versions = folders.filter_map(|folder| Some((version(&folder)?, folder.join(bin))));
    versions.filter(|(_, folder)| has_programs(folder)).max().map(|(_, folder)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_wins() {
        let home = tempfile::tempdir().expect("folder");
        for version in ["9", "15", "13", "old"] {
            let bin = home.path().join(version).join("bin");
            std::fs::create_dir_all(&bin).expect("folders");
            for name in ["initdb", "postgres"] {
                std::fs::write(bin.join(name), "").expect("file");
            }
        }
        assert_eq!(newest(home.path(), "bin"), Some(home.path().join("15/bin")));
    }
}
