//! `assay exec`: an unmodified program on the user-space stack.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_lab::Exit;
use assay_lab::stack::{self, UserEnd};
use assay_model::network::Stack;
use assay_tcp::Cidr;
use assay_wire::Spec;

use super::sweep;
use crate::args::ExecArguments;
use crate::embedded;
use crate::failure::Failure;

/// Returns only when the program could not be started.
pub(crate) fn run(arguments: &ExecArguments) -> Result<Exit, Failure> {
    let (name, rest) =
        arguments.command.split_first().ok_or_else(|| Failure::usage("name a program behind --"))?;
    let program = stack::find_program(name, Path::new(""), std::env::var_os("PATH").as_deref())
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
    let is_own = arguments.preload.as_deref().is_none_or(stack::is_own);
    let own_wire = is_own.then(|| check(&wire, &arguments.address)).transpose()?;
    let library = library(arguments)?;
    own_wire.as_ref().map_or(Ok(()), sweep::behind_us)?;
    let address = (!arguments.address.is_empty()).then(|| arguments.address.join(","));
    let others = std::env::var_os("LD_PRELOAD");
    let end = UserEnd { wire, address };
    Ok(stack::variables(&library, others.as_deref(), &end, arguments.queues))
}

/// Finds out what our own library could not use: it would learn that in the program, which then runs on the kernel's stack. Another
/// library has wires of its own.
fn check(wire: &str, addresses: &[String]) -> Result<Spec, Failure> {
    let spec: Spec = wire.parse().map_err(|error| Failure::usage(format_args!("--wire: {error}")))?;
    for address in addresses {
        address.parse::<Cidr>().map_err(|error| Failure::usage(format_args!("--address: {error}")))?;
    }
    assay_wire::check(&spec).map_err(|error| Failure::Machine(format!("--wire: {error}")))?;
    Ok(spec)
}

fn library(arguments: &ExecArguments) -> Result<PathBuf, Failure> {
    if let Some(path) = &arguments.preload {
        return stack::named_library(path).map_err(|problem| {
            Failure::usage(format_args!("the preload library {}: {problem}", path.display()))
        });
    }
    let assay = std::env::current_exe().map_err(|e| Failure::Bug(format!("where am I? {e}")))?;
    if let Some(carried) = embedded::preload_library(&assay)? {
        return Ok(carried);
    }
    stack::library(&assay)
        .map_err(|problem| Failure::Machine(format!("{problem}; {}", stack::LIBRARY_REMEDY)))
}

fn refused(reason: String) -> Failure {
    Failure::Unmeasured { exit: Exit::ContenderFailed, reason }
}
