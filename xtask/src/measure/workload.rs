//! Workload files for our generator, which checks every answer.

use std::path::PathBuf;

use assay_model::workload::{Expect, RequestKind, Workload};

use super::Testbed;

/// Writes a workload of GETs for these paths, each as often as the other, with status 200 and this body (any if none).
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write(testbed: &Testbed, paths: &[&str], body: Option<&str>) -> Result<PathBuf, String> {
    let kind = |path: &&str| RequestKind {
        weight: 1,
        method: "GET".into(),
        path: (*path).to_owned(),
        headers: Vec::new(),
        body: None,
        expect: Expect { status: Some(200), body: body.map(str::to_owned), ..Expect::default() },
    };
    let workload = Workload {
        name: "xtask".into(),
        about: "What the benchmarks and the oracle ask for.".into(),
        requests: paths.iter().map(kind).collect(),
        ..Workload::default()
    };
    save(testbed, &workload)
}

/// Writes a workload into a file named after its paths.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn save(testbed: &Testbed, workload: &Workload) -> Result<PathBuf, String> {
    let paths: String = workload.requests.iter().map(|request| request.path.as_str()).collect();
    let name: String = paths.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let file = testbed.scratch().join(format!("workload{name}.json"));
    let text = serde_json::to_string(workload).map_err(|error| error.to_string())?;
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}
