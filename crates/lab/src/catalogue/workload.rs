//! Workloads as people write them, with what their files refer to.

use std::path::{Component, Path};

use assay_model::family::Parameter;
use assay_model::template::literal;
use assay_model::workload::{Expect, Workload};

use super::MAX_TOML_BYTES;
use super::check::{Checked, Fault};
use super::file::FileText;
use crate::error::LabError;
use crate::warning::Warning;

/// Longest file that an answer is compared with, in bytes.
const MAX_BODY_FILE_BYTES: u64 = 1 << 20;

/// The workloads in a file, several where it leaves a number open; keys that it does not know are appended to `warnings`. The
/// command `before` takes the place of the file's own.
///
/// # Errors
/// When it, or a file that it names, cannot be read or understood.
pub(super) fn read(
    file: &Path,
    before: Option<&str>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Workload>, LabError> {
    let text = assay_file::read(file, MAX_TOML_BYTES).map_err(|source| LabError::read(file, source))?;
    understand(file, &text, before, warnings)
}

/// The workloads in a text that is in a file.
///
/// # Errors
/// As for [`read`].
pub(super) fn understand(
    file: &Path,
    text: &str,
    before: Option<&str>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Workload>, LabError> {
    let source = FileText { file, text };
    let mut workload: Workload = source.parse(warnings)?;
    match before {
        Some(command) => workload.before = Some(command.to_owned()),
        None => workload.folder = source.folder(),
    }
    complete(workload, &source, &str::to_owned)
}

/// The workloads that one stands for which was read from `source`, with the texts of the files that it names in place; `within`
/// makes a key of the whole file of one of the workload's.
///
/// # Errors
/// When it, or a file that it names, cannot be read or understood.
pub(super) fn complete(
    workload: Workload,
    source: &FileText<'_>,
    within: &dyn Fn(&str) -> String,
) -> Result<Vec<Workload>, LabError> {
    let invalid = |fault: Fault| source.invalid(&within(&fault.key), fault.problem, fault.mend);
    if let Some(fault) = bad_parameter(&workload) {
        return Err(invalid(fault));
    }
    let mut members = workload.expand();
    for (index, request) in members.iter_mut().flat_map(|member| member.requests.iter_mut().enumerate()) {
        fill(&mut request.expect, source.file).map_err(|(key, problem)| {
            let key = within(&format!("request.{index}.expect.{key}"));
            source.invalid(&key, problem, "name a text file of 1 MiB at most, beside the workload or below")
        })?;
    }
    match members.iter().find_map(Checked::fault) {
        None => Ok(members),
        Some(fault) => Err(invalid(fault)),
    }
}

fn bad_parameter(workload: &Workload) -> Option<Fault> {
    let Parameter { name, values } = workload.parameter.as_ref()?;
    let told = |key: &str, problem: String, mend: &str| {
        Some(Fault { key: format!("parameter.{key}"), problem, mend: mend.to_owned() })
    };
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase()) || name == "sequence" {
        return told("name", format!("`{name}` cannot be a number's name"), "choose another of a-z");
    }
    let twice = (1..values.len()).find(|&i| values[..i].contains(&values[i]));
    match twice {
        Some(i) => told("values", format!("{} stands there twice", values[i]), "keep one of them"),
        None if values.is_empty() => told("values", "there is none".to_owned(), "name at least one"),
        None => None,
    }
}

/// Puts the texts of files that are expected in their places; an error comes with the key that names the file.
fn fill(expect: &mut Expect, workload: &Path) -> Result<(), (&'static str, String)> {
    if let Some(name) = expect.body_file.take_if(|_| expect.body.is_none()) {
        let text = text_of(&name, workload).map_err(|problem| ("body_file", problem))?;
        expect.body = Some(literal(&text));
    }
    if let Some(name) = expect.json_file.take_if(|_| expect.json.is_none()) {
        expect.json = Some(text_of(&name, workload).map_err(|problem| ("json_file", problem))?);
    }
    if let Some(name) = expect.html_file.take_if(|_| expect.html.is_none()) {
        expect.html = Some(text_of(&name, workload).map_err(|problem| ("html_file", problem))?);
    }
    Ok(())
}

/// The text of a file beside the workload's own. A workload may come from anybody, and a record of it may go to anybody: no other file
/// of the user's gets into that.
fn text_of(name: &str, workload: &Path) -> Result<String, String> {
    let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(name).components().all(is_plain) {
        return Err(format!("`{name}` leads out of the folder of the workload"));
    }
    let folder = workload.parent().unwrap_or(Path::new("."));
    assay_file::read_within(folder, Path::new(name), MAX_BODY_FILE_BYTES)
        .map_err(|error| format!("cannot read {}: {error}", folder.join(name).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_with(expect: &str, files: &[(&str, &str)]) -> Result<Vec<Workload>, LabError> {
        let folder = tempfile::tempdir().expect("folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("file");
        }
        let file = folder.path().join("w.toml");
        let text =
            format!("name = \"w\"\nabout = \"\"\n[[request]]\npath = \"/\"\n[request.expect]\n{expect}\n");
        std::fs::write(&file, text).expect("file");
        read(&file, None, &mut Vec::new())
    }

    #[test]
    fn a_file_becomes_the_body_as_it_is() {
        let workloads = read_with("body_file = \"page\"", &[("page", "a ${random:1..2}\n")]).expect("reads");
        let expect = workloads[0].requests[0].example().expect("example").expect;
        assert_eq!((expect.body.as_deref(), expect.body_file), (Some("a ${random:1..2}\n"), None));
    }

    #[test]
    fn a_page_is_kept_as_it_is_written() {
        let workloads = read_with("html_file = \"page\"", &[("page", "<p>${x}</p>")]).expect("reads");
        assert_eq!(workloads[0].requests[0].expect.html.as_deref(), Some("<p>${x}</p>"));
    }

    #[test]
    fn a_number_that_is_left_open_makes_several() {
        let with = |parameter: &str| read_with(&format!("body = \"${{n}}\"\n[parameter]\n{parameter}"), &[]);
        let bodies: Vec<_> = with("name = \"n\"\nvalues = [1, 20]").expect("reads");
        let bodies: Vec<_> = bodies.iter().map(|w| w.requests[0].expect.body.as_deref()).collect();
        assert_eq!(bodies, [Some("1"), Some("20")]);
        for (wrong, words) in [
            ("name = \"n\"\nvalues = []", "there is none"),
            ("name = \"n\"\nvalues = [2, 2]", "2 stands there twice"),
            ("name = \"N\"\nvalues = [2]", "cannot be a number's name"),
            ("name = \"m\"\nvalues = [2]", "placeholder `${n}`"),
        ] {
            let error = with(wrong).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_file_elsewhere_or_without_an_end_is_not_read() {
        for (name, files) in [("/etc/passwd", &[][..]), ("../page", &[]), ("./a/../../page", &[])] {
            for key in ["body_file", "json_file", "html_file"] {
                let error = read_with(&format!("{key} = \"{name}\""), files).expect_err(name).to_string();
                assert!(error.contains("w.toml:6:1") && error.contains("leads out of the folder"), "{error}");
            }
        }
        let folder = tempfile::tempdir().expect("folder");
        let wrong = |name: &str| text_of(name, &folder.path().join("w.toml")).expect_err(name);
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).expect("a link");
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("endless")).expect("a link");
        for name in ["link", "endless"] {
            assert!(wrong(name).contains("it leads out of "), "{}", wrong(name));
        }
        std::fs::write(folder.path().join("long"), vec![b'a'; (1 << 20) + 1]).expect("a file");
        assert!(wrong("long").contains("longer than 1048576 bytes"), "{}", wrong("long"));
        assert_eq!(read_with("body_file = \"./page\"", &[("page", "a")]).expect("reads").len(), 1);
    }

    #[test]
    fn a_file_that_is_missing_or_one_rule_too_many_is_told_at_its_place() {
        let missing = read_with("body_file = \"page\"", &[]).expect_err("missing").to_string();
        assert!(missing.contains("w.toml:6:1: cannot read"), "{missing}");
        let both = read_with("body = \"x\"\nbody_file = \"page\"", &[("page", "")]).expect_err("both");
        assert!(both.to_string().contains("exclude each other"), "{both}");
    }
}
