//! Workloads as people write them, with what their files refer to.

use std::path::Path;

use assay_model::workload::{Expect, Workload};

use super::check::Checked;
use super::file::{Source, Warning};
use crate::error::LabError;

/// Longest file that an answer is compared with, in bytes.
const MAX_BODY_FILE_BYTES: u64 = 1 << 20;

/// The workload in a file; keys that it does not know are appended to `warnings`.
///
/// # Errors
/// When it, or a file that it names, cannot be read or understood.
pub(super) fn read(file: &Path, warnings: &mut Vec<Warning>) -> Result<Workload, LabError> {
    let text = std::fs::read_to_string(file).map_err(|source| LabError::read(file, source))?;
    let source = Source { file, text: &text };
    let mut workload: Workload = source.parse(warnings)?;
    for (index, request) in workload.requests.iter_mut().enumerate() {
        let key = format!("request.{index}.expect.body_file");
        fill(&mut request.expect, file)
            .map_err(|problem| source.invalid(&key, problem, "name a text file of 1 MiB at most"))?;
    }
    match workload.fault() {
        None => Ok(workload),
        Some(fault) => Err(source.invalid(&fault.key, fault.problem, fault.mend)),
    }
}

/// Puts the text of the file that is expected in its place.
fn fill(expect: &mut Expect, workload: &Path) -> Result<(), String> {
    let Some(name) = expect.body_file.take_if(|_| expect.body.is_none()) else { return Ok(()) };
    expect.body = Some(literal(&text_of(&name, workload)?));
    Ok(())
}

fn text_of(name: &str, workload: &Path) -> Result<String, String> {
    let path = workload.with_file_name(name);
    let told = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    if std::fs::metadata(&path).map_err(told)?.len() > MAX_BODY_FILE_BYTES {
        return Err(format!("{} is too long", path.display()));
    }
    std::fs::read_to_string(&path).map_err(told)
}

/// The text without placeholders: what looks like one is what the file says.
fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_with(expect: &str, files: &[(&str, &str)]) -> Result<Workload, LabError> {
        let folder = tempfile::tempdir().expect("folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("file");
        }
        let file = folder.path().join("w.toml");
        let text =
            format!("name = \"w\"\nabout = \"\"\n[[request]]\npath = \"/\"\n[request.expect]\n{expect}\n");
        std::fs::write(&file, text).expect("file");
        read(&file, &mut Vec::new())
    }

    #[test]
    fn a_file_becomes_the_body_as_it_is() {
        let workload = read_with("body_file = \"page\"", &[("page", "a ${random:1..2}\n")]).expect("reads");
        let expect = workload.requests[0].example().expect("example").expect;
        assert_eq!((expect.body.as_deref(), expect.body_file), (Some("a ${random:1..2}\n"), None));
    }

    #[test]
    fn a_file_that_is_missing_or_one_rule_too_many_is_told_at_its_place() {
        let missing = read_with("body_file = \"page\"", &[]).expect_err("missing").to_string();
        assert!(missing.contains("w.toml:6:1: cannot read"), "{missing}");
        let both = read_with("body = \"x\"\nbody_file = \"page\"", &[("page", "")]).expect_err("both");
        assert!(both.to_string().contains("exclude each other"), "{both}");
    }
}
