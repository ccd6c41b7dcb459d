//! What shows that a folder is that of a run, for whoever has to leave it alone.

use std::path::Path;

/// The file of a run's record.
pub(crate) const RECORD_FILE: &str = "record.json";
/// What passes by during a run.
pub(crate) const WORK: &str = "work";
/// Says of such a folder that a run made it: others have folders of that name, too.
pub(crate) const WORK_MARK: &str = ".assay-work";

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
