//! The terminal: what it can do, and where results, warnings and errors go.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, absolute};
use std::sync::OnceLock;

use assay_file::WriteError;
use assay_model::record::NotRun;
use assay_report::foreign;
use assay_report::terminal::Style;
use rustix::fs::{Access, access};

use crate::failure::Failure;
use crate::screen;
use crate::secrets::secrets;

/// Columns of an output that is no terminal.
const COLUMNS_OF_A_FILE: usize = 100;

/// How to write for whoever reads standard output.
pub(crate) fn style(ascii: bool) -> Style {
    let out = io::stdout();
    let width = if out.is_terminal() {
        rustix::termios::tcgetwinsize(&out).map_or(80, |size| usize::from(size.ws_col).max(1))
    } else {
        std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).unwrap_or(COLUMNS_OF_A_FILE)
    };
    let colour = anstream::AutoStream::choice(&out) != anstream::ColorChoice::Never;
    Style { width, colour, ascii: ascii || !screen::speaks_utf8(), full: false }
}

/// The first failure of [`result`].
static UNWRITTEN: OnceLock<io::Error> = OnceLock::new();

/// Writes a result to standard output. A reader that has gone away is no failure: it saw what it wanted. Of any other
/// failure [`unwritten`] tells.
pub(crate) fn result(text: &str) {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(UNWRITTEN.set(error)),
        _ => {}
    }
}

/// Whether what a person named is standard output, by the name that other programs have for it.
pub(crate) fn is_standard(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Whether there is a place for a file that is written at the end, so that nobody waits for a run whose result is not written. The
/// command itself makes the folder `made`.
pub(crate) fn check_place(file: &Path, made: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if file.exists() || absolute(folder).ok() == absolute(made).ok() {
        return Ok(());
    }
    let place: io::Result<()> = match folder.metadata() {
        Ok(found) if !found.is_dir() => Err(ErrorKind::NotADirectory.into()),
        Ok(_) => access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from),
        Err(error) => Err(error),
    };
    place.map_err(|source| WriteError::new(file, source).into())
}

/// Writes a result to the file that was named, else to standard output.
pub(crate) fn result_to(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    match file.filter(|file| !is_standard(file)) {
        Some(file) => Ok(assay_file::write(file, text.as_bytes())?),
        None => {
            result(text);
            Ok(())
        }
    }
}

/// Says when a result could not be written to standard output.
pub(crate) fn unwritten() -> Result<(), Failure> {
    UNWRITTEN.get().map_or(Ok(()), |error| Err(Failure::Output(error)))
}

/// Tells of something that does not stop the command.
pub(crate) fn warning(text: impl std::fmt::Display) {
    to_stderr("\x1b[33mwarning:\x1b[0m ", &on_own_lines(&text));
}

/// Tells of what the command did besides its result.
pub(crate) fn note(text: impl std::fmt::Display) {
    to_stderr("", &text);
}

/// Tells of a decision, on one line whatever it holds.
pub(crate) fn log(line: &str) {
    screen::above(|| {
        let _ = writeln!(anstream::stderr().lock(), "{}", foreign::line(&secrets().hide(line)));
    });
}

/// Tells why the command ended early.
pub(crate) fn error(failure: &Failure) {
    to_stderr("\x1b[31merror:\x1b[0m ", &on_own_lines(failure));
}

/// Why something was not run, what to do, and the last lines that it said.
pub(crate) fn reason(of: &NotRun) -> String {
    let line = |text: &String| foreign::line(&secrets().hide(text));
    let remedy = of.remedy.as_ref().map_or_else(String::new, |remedy| format!("; {}", line(remedy)));
    let said: String = of.log_tail.iter().map(|said| format!("\n  | {}", line(said))).collect();
    format!("{}{remedy}{said}", line(&of.reason))
}

/// A text whose lines but the first are indented, as ours are. Names and paths of others may hold the end of a line, and what follows
/// that would be taken for a line of ours, or for a command (GitHub Actions, "Workflow commands": `::error::` at the beginning of one).
fn on_own_lines(text: &dyn std::fmt::Display) -> String {
    // Before a secret of several lines is joined to one, which nobody would find.
    let text = text.to_string();
    let text = secrets().hide(&text);
    let is_ours = |line: &str| line.starts_with("  ") && !line.trim_start().starts_with("::");
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |told, line| told + if is_ours(line) { "\n" } else { " " } + line)
}

/// Ends the process with what is wrong with its arguments, or with the help that was asked for. Clap repeats what was typed, so
/// what it says of a mistake may hold the password of a URL.
pub(crate) fn usage(error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    let told = error.render().ansi().to_string();
    let _ = writeln!(anstream::stderr().lock(), "{}", secrets().hide(told.trim_end()));
    std::process::exit(error.exit_code());
}

/// Our own label, and a text in which there may be names and secrets of others.
fn to_stderr(label: &str, text: &dyn std::fmt::Display) {
    let text = text.to_string();
    screen::above(|| {
        let _ = writeln!(anstream::stderr().lock(), "{label}{}", foreign::lines(&secrets().hide(&text)));
    });
}

#[cfg(test)]
mod tests {
    use assay_model::record::Stage;

    use super::*;

    #[test]
    fn text_of_others_forges_no_line() {
        let forged = "GET /j\n::error::forged line".to_owned();
        let told = reason(&NotRun {
            stage: Stage::Answer,
            reason: forged.clone(),
            remedy: Some(forged.clone()),
            log_tail: vec!["its own words".to_owned()],
        });
        let told = on_own_lines(&told);
        assert_eq!(told.lines().count(), 2, "{told}");
        assert!(told.ends_with("\n  | its own words"), "{told}");
        assert_eq!(on_own_lines(&forged), "GET /j ::error::forged line");
        assert_eq!(on_own_lines(&"a\n  ::error::b\n  c"), "a   ::error::b\n  c");
    }
}
