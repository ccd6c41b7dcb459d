//! Experiments as people write them, with the workloads and commands of their own.

use std::path::Path;

use assay_model::experiment::Experiment;
use assay_model::workload::Workload;

use super::check::{Checked as _, Fault, fault_of_experiment};
use super::file::FileText;
use super::{MAX_TOML_BYTES, workload};
use crate::error::LabError;
use crate::warning::Warning;

/// The experiment in a file; keys that it does not know are appended to `warnings`.
///
/// # Errors
/// When it, or a file that it names, cannot be read or understood.
pub(super) fn read(file: &Path, warnings: &mut Vec<Warning>) -> Result<Experiment, LabError> {
    let text = assay_file::read(file, MAX_TOML_BYTES).map_err(|source| LabError::read(file, source))?;
    understand(file, &text, warnings)
}

/// The experiment in a text that is, or is to be, in a file.
///
/// # Errors
/// As for [`read`].
pub(super) fn understand(
    file: &Path,
    text: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Experiment, LabError> {
    let source = FileText { file, text };
    let mut experiment: Experiment = source.parse(warnings)?;
    experiment.folder = source.folder();
    if let Some(fault) = fault_of_experiment(&experiment) {
        return Err(source.invalid(&fault.key, fault.problem, fault.mend));
    }
    let mut own = Vec::new();
    for (index, workload) in std::mem::take(&mut experiment.workloads).into_iter().enumerate() {
        let within = |key: &str| format!("workload.{index}.{key}");
        let workload = Workload { folder: source.folder(), ..workload };
        let members = workload::complete(workload, &source, &within)?;
        if let Some(fault) = members.iter().find_map(|member| twice(member.name(), &own)) {
            return Err(source.invalid(&within(&fault.key), fault.problem, fault.mend));
        }
        own.extend(members);
    }
    experiment.workloads = own;
    Ok(experiment)
}

fn twice(name: &str, own: &[Workload]) -> Option<Fault> {
    own.iter().find(|other| other.name == name)?;
    Some(Fault {
        key: "name".to_owned(),
        problem: format!("two workloads are called `{name}`"),
        mend: "rename one of them".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVERS: &str = "name = \"e\"\ncontenders = []\n";
    const MEASURE: &str = "[[measure]]\nworkload = \"own\"\nconnections = [2]\n";
    const OWN: &str = "[[workload]]\nname = \"own\"\nabout = \"\"\n[[workload.request]]\npath = \"/users\"\n";

    fn of(rest: &str) -> Result<Experiment, String> {
        let mut warnings = Vec::new();
        let text = format!("{SERVERS}{rest}");
        let read = understand(Path::new("deep/own.toml"), &text, &mut warnings);
        assert_eq!(warnings, []);
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn commands_and_workloads_of_its_own_are_read_with_their_folder() {
        let command = "[[command]]\nname = \"old\"\nrun = \"./old --port $PORT\"\n";
        let experiment = of(&format!("{OWN}{command}{MEASURE}")).expect("reads");
        assert_eq!(experiment.folder, Path::new("deep"));
        assert_eq!(experiment.commands[0].run, "./old --port $PORT");
        assert_eq!(experiment.workloads[0].requests[0].path, "/users");
        assert!(experiment.workloads[0].requests[0].expect.is_silent(), "what is right is learnt");
    }

    #[test]
    fn the_documents_example_is_one() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../WORKLOADS.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let from = page.find("name = \"users\"").expect("the example");
        let text = page[from..].split("```").next().expect("its end");
        let mut warnings = Vec::new();
        let experiment = understand(Path::new("users.toml"), text, &mut warnings).expect("an experiment");
        assert_eq!((warnings.len(), experiment.commands.len(), experiment.workloads.len()), (0, 1, 1));
    }

    #[test]
    fn what_is_wrong_is_told_at_its_place() {
        for (rest, words) in [
            (format!("[[command]]\nrun = \" \"\n{MEASURE}"), "own.toml:4:1: the command is empty"),
            (
                format!("[[command]]\nrun = \"x\"\nport = 0\n{MEASURE}"),
                "own.toml:5:1: nobody can listen on port 0",
            ),
            (
                format!("[[command]]\nrun = \"x\"\nname = \"A b\"\n{MEASURE}"),
                "own.toml:5:1: the name `A b` is not made of a-z, 0-9 and -",
            ),
            (
                format!("{}{MEASURE}", OWN.replace("/users", "users")),
                "own.toml:7:1: `users` is no request target",
            ),
            (format!("{OWN}{OWN}{MEASURE}"), "own.toml:9:1: two workloads are called `own`"),
        ] {
            let told = of(&rest).expect_err(words);
            assert!(told.contains(words), "{told}");
        }
    }
}
