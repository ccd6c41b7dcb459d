//! The report page: built by report-ui's own tools, committed as one file so that assay builds without Node.js.

use std::path::Path;
use std::process::Command;

/// Builds the page into its place, or says whether the page and its types are fresh as they are committed. A check writes nothing there:
/// cargo would compile whatever has the page in it once more.
///
/// # Errors
/// When npm cannot be run, or fails; what is stale it says itself.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), Vec<String>> {
    let script = if check { "check-fresh" } else { "build" };
    let ran =
        Command::new("npm").args(["run", "--silent", script]).current_dir(root.join("report-ui")).status();
    match ran {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(vec![format!(
            "npm run {script}: {status}, for what it says above; if it misses a package, run `npm ci` in report-ui"
        )]),
        Err(error) => Err(vec![format!("npm: {error}; the report page needs Node.js and npm to be built")]),
    }
}
