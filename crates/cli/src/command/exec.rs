//! `assay exec`: an unmodified program on the user-space stack.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_lab::Exit;
use assay_lab::stack::{self, UserEnd};
use assay_model::network::Stack;

use crate::args::ExecArguments;
use crate::failure::Failure;

/// Returns only when the program could not be started.
pub(crate) fn run(arguments: &ExecArguments) -> Result<Exit, Failure> {
    let (name, rest) =
        arguments.command.split_first().ok_or_else(|| Failure::usage("name a program behind --"))?;
    let program = find(name, std::env::var_os("PATH").as_deref())
        .ok_or_else(|| refused(format!("there is no program `{}`", name.display())))?;
    let mut command = Command::new(&program);
    command.arg0(name).args(rest);
    if arguments.stack == Stack::User {
        command.envs(on_user_stack(arguments, &program)?);
    }
    let error = command.exec();
    Err(refused(format!("`{}` did not start: {error}", program.display())))
}

/// The variables that put the program on the user-space stack, if it can be carried.
fn on_user_stack(arguments: &ExecArguments, program: &Path) -> Result<Vec<(OsString, OsString)>, Failure> {
    let obstacle = stack::obstacle(program)
        .map_err(|error| refused(format!("`{}` cannot be read: {error}", program.display())))?;
    if let Some(obstacle) = obstacle {
        let name = program.display();
        return Err(refused(format!("`{name}` cannot be carried by the user-space stack; {obstacle}")));
    }
    let wire = arguments.wire.clone().ok_or_else(|| Failure::usage("--stack user needs --wire ring:PATH"))?;
    let address = (!arguments.address.is_empty()).then(|| arguments.address.join(","));
    Ok(stack::variables(&library(arguments)?, &UserEnd { wire, address }))
}

fn library(arguments: &ExecArguments) -> Result<PathBuf, Failure> {
    if let Some(path) = &arguments.preload {
        // The loader takes a name without a slash for one to be searched for (ld.so(8)).
        return path.canonicalize().map_err(|error| {
            Failure::usage(format_args!("the preload library {}: {error}", path.display()))
        });
    }
    let assay = std::env::current_exe().map_err(|e| Failure::Bug(format!("where am I? {e}")))?;
    stack::library(&assay)
        .map_err(|problem| Failure::Machine(format!("{problem}; {}", stack::LIBRARY_REMEDY)))
}

fn refused(reason: String) -> Failure {
    Failure::Unmeasured { exit: Exit::ContenderFailed, reason }
}

/// The file of a program: itself where its name has a slash, else the first that may be executed in the folders of `path`
/// (execvp(3)).
fn find(name: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    let own = Path::new(name);
    if own.components().count() > 1 || own.is_absolute() {
        return own.exists().then(|| own.to_owned());
    }
    let runs = |file: &PathBuf| {
        file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path?).map(|folder| folder.join(own)).find(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("tool");
        std::fs::write(&file, "").expect("file");
        let path = Some(folder.path().as_os_str());
        assert_eq!(find(OsStr::new("tool"), path), None, "it may not be executed");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("mode");
        assert_eq!(find(OsStr::new("tool"), path).as_deref(), Some(file.as_path()));
        assert_eq!(find(OsStr::new("tool"), None), None);
        assert_eq!(find(file.as_os_str(), None).as_deref(), Some(file.as_path()));
        assert_eq!(find(OsStr::new("./no/such"), path), None);
    }
}
