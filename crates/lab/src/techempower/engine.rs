//! The container engine of this machine: the first that answers, because one that is installed need not.

use std::ffi::OsStr;
use std::io::{Read as _, Seek as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::inherited::{Inherited, Purpose};
use crate::secrets::Secrets;
use crate::supervisor::said_in_the_end;

/// Longest time for an engine to answer.
const TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);
/// Any of the rights to execute (inode(7)).
const EXECUTE: u32 = 0o111;

/// The first of `engines` that answers, with what is to be told of those before it. Where none does, or but one is there, it is the first
/// that is there: whoever needs it asks it again. Where none is there, it is the first of all.
pub(super) fn choose(engines: [&'static str; 2], inherited: &Inherited) -> (&'static str, Vec<String>) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    choose_on(&path, engines, inherited)
}

fn choose_on(path: &OsStr, engines: [&'static str; 2], inherited: &Inherited) -> (&'static str, Vec<String>) {
    let [first, second] = engines;
    let (first, second) = match engines.map(|name| program(name, path)) {
        [Some(one), Some(other)] => ((first, one), (second, other)),
        [None, Some(_)] => return (second, Vec::new()),
        [_, None] => return (first, Vec::new()),
    };
    let mut silent = Vec::new();
    for (engine, program) in [&first, &second] {
        match ask(program, inherited) {
            Ok(()) => return (engine, silent),
            Err(problem) => silent.push(format!("{engine} does not answer: {problem}")),
        }
    }
    (first.0, silent)
}

/// The program of that name which a shell would run.
fn program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & EXECUTE != 0)
    };
    std::env::split_paths(path).map(|folder| folder.join(name)).find(is_program)
}

/// Asks an engine how it is; the last line of what it says where it is not well.
fn ask(engine: &Path, inherited: &Inherited) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    // A file, because somebody whom it starts may keep a pipe open.
    let mut said = tempfile::tempfile().map_err(told)?;
    let mut info = Command::new(engine);
    info.arg("info").stdin(Stdio::null()).stdout(said.try_clone().map_err(told)?);
    info.stderr(said.try_clone().map_err(told)?).env_clear().envs(inherited.variables(Purpose::Building));
    let mut info = info.spawn().map_err(told)?;
    let deadline = Instant::now() + TIMEOUT;
    let ended = loop {
        match info.try_wait().map_err(told)? {
            Some(ended) => break ended,
            None if Instant::now() >= deadline => {
                let _ = info.kill().and_then(|()| info.wait());
                return Err(format!("it says nothing within {} s", TIMEOUT.as_secs()));
            }
            None => thread::sleep(POLL),
        }
    };
    if ended.success() {
        return Ok(());
    }
    let mut words = Vec::new();
    said.rewind().and_then(|()| said.read_to_end(&mut words)).map_err(told)?;
    let last = said_in_the_end(&String::from_utf8_lossy(&words), 1, &Secrets::default()).pop();
    Err(last.unwrap_or_else(|| ended.to_string()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs::Permissions;

    use super::*;

    /// The choice among programs that do this, with such a mode, in the order in which they are asked.
    fn chosen(scripts: [Option<(&str, u32)>; 2]) -> (&'static str, Vec<String>) {
        let folder = tempfile::tempdir().expect("folder");
        for (name, script) in ["podman", "docker"].into_iter().zip(scripts) {
            let Some((script, mode)) = script else { continue };
            let path = folder.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a mode");
        }
        choose_on(&OsString::from(folder.path()), ["podman", "docker"], &Inherited::All)
    }

    #[test]
    fn the_first_engine_that_answers_is_taken() {
        let broken = "echo 'Error: storage is broken' >&2; exit 125";
        let down =
            "echo Client:; echo 'ERROR: Cannot connect'; echo 'errors pretty printing info' >&2; exit 1";
        assert_eq!(chosen([Some(("exit 0", 0o755)), Some((down, 0o755))]), ("podman", Vec::new()));
        let told = "podman does not answer: Error: storage is broken".to_owned();
        assert_eq!(chosen([Some((broken, 0o755)), Some(("exit 0", 0o755))]), ("docker", vec![told.clone()]));
        let also = "docker does not answer: ERROR: Cannot connect".to_owned();
        assert_eq!(chosen([Some((broken, 0o755)), Some((down, 0o755))]), ("podman", vec![told, also]));
    }

    #[test]
    fn an_engine_that_is_alone_is_not_asked_and_no_program_is_none() {
        assert_eq!(chosen([Some(("exit 0", 0o644)), Some(("exit 1", 0o755))]), ("docker", Vec::new()));
        assert_eq!(chosen([Some(("exit 1", 0o755)), None]), ("podman", Vec::new()));
        assert_eq!(chosen([None, None]), ("podman", Vec::new()));
    }
}
