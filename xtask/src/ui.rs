//! The report page: built by report-ui's own tools, committed as one file so that assay builds without Node.js.

use std::path::Path;
use std::process::Command;

const COMMITTED: &str = "crates/report/assets/report.html";

pub(crate) fn run(root: &Path, check: bool) -> Result<(), Vec<String>> {
    let committed = std::fs::read(root.join(COMMITTED)).unwrap_or_default();
    let built =
        Command::new("npm").args(["run", "--silent", "build"]).current_dir(root.join("report-ui")).status();
    match built {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(vec![format!("npm run build: {status}; run `npm ci` in report-ui first")]),
        Err(error) => {
            return Err(vec![format!("npm: {error}; the report page needs Node.js and npm to be built")]);
        }
    }
    let fresh = std::fs::read(root.join(COMMITTED)).is_ok_and(|built| built == committed);
    if check && !fresh {
        return Err(vec![format!("{COMMITTED}: was stale, is rebuilt now; commit it")]);
    }
    Ok(())
}
