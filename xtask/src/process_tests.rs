//! Tests with real processes, many at once. One that fails beside the others is tried once more alone, when everything else is over: on a
//! busy machine a server may be asked before it had any CPU time. What fails alone too is wrong, and so is a run in which many fail. Tests in
//! modules called `quiet` would always fail beside others, so they wait until then.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use clap::Args;

/// More tests than these do not fail because the machine is busy.
const BUSY_AT_MOST: usize = 3;
/// In the name of a test that is run when no other one is.
const QUIET: &str = "quiet::";

/// The tests that are to be run.
#[derive(Args)]
pub(crate) struct Options {
    /// Test programs, by name
    #[arg(required = true)]
    programs: Vec<String>,
    /// The file that has the names of tests that failed, a line each
    #[arg(long)]
    failed: PathBuf,
    /// Run those in modules called quiet and those that are named in the file, each alone, instead of all others
    #[arg(long)]
    alone: bool,
}

/// Tests of the programs.
#[derive(Clone, Copy)]
enum Choice<'a> {
    BesideOthers,
    Quiet,
    /// The one of this name.
    One(&'a str),
}

/// What a run of test programs told.
#[derive(Debug, Default, PartialEq)]
struct Told {
    passed: usize,
    failed: BTreeSet<String>,
    /// Inside a list of failed tests.
    listing: bool,
}

/// Runs the tests of the programs at once and writes down which failed; or runs quiet ones and those that are written down, each alone.
///
/// # Errors
/// Names the tests that failed alone too, or so many that nobody is tried again.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), Vec<String>> {
    if options.alone {
        let names =
            std::fs::read_to_string(&options.failed).map_err(|error| cannot("read", options, &error))?;
        return alone(root, &options.programs, names.lines().map(str::to_owned).collect());
    }
    let failed = at_once(root, &options.programs)?;
    let lines: String = failed.iter().map(|name| format!("{name}\n")).collect();
    std::fs::write(&options.failed, lines).map_err(|error| cannot("write", options, &error))
}

fn cannot(act: &str, options: &Options, error: &std::io::Error) -> Vec<String> {
    vec![format!("process-tests: cannot {act} {}: {error}", options.failed.display())]
}

/// The tests that failed when all ran at once, where they are few.
fn at_once(root: &Path, programs: &[String]) -> Result<BTreeSet<String>, Vec<String>> {
    let (status, told) = tests(root, programs, Choice::BesideOthers)?;
    match told.failed.len() {
        0 if !status.success() => Err(vec!["process-tests: cargo test failed, and no test of it".to_owned()]),
        0 if told.passed == 0 => Err(nothing_was_run()),
        0..=BUSY_AT_MOST => Ok(told.failed),
        _ => Err(told.failed.iter().map(|name| format!("{name} failed")).collect()),
    }
}

/// Runs each of the tests alone, and of quiet ones those once more that fail.
fn alone(root: &Path, programs: &[String], failed: BTreeSet<String>) -> Result<(), Vec<String>> {
    let (status, quiet) = tests(root, programs, Choice::Quiet)?;
    if quiet.failed.is_empty() && !status.success() {
        return Err(vec!["process-tests: cargo test failed, and no quiet test of it".to_owned()]);
    }
    if quiet.failed.is_empty() && quiet.passed == 0 {
        return Err(nothing_was_run());
    }
    let mut wrong = Vec::new();
    for name in failed.iter().chain(&quiet.failed) {
        let (status, told) = tests(root, programs, Choice::One(name))?;
        match status.success() && told.passed > 0 {
            true => eprintln!("busy: {name} failed first and passed alone"),
            false => wrong.push(format!("{name} failed first, and alone")),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// What is said of programs in which a filter found no test: that nothing failed means nothing then.
fn nothing_was_run() -> Vec<String> {
    vec!["process-tests: no test was run".to_owned()]
}

/// Runs the chosen tests and hands on what they print.
fn tests(root: &Path, programs: &[String], choice: Choice<'_>) -> Result<(ExitStatus, Told), Vec<String>> {
    let failed = |error: std::io::Error| vec![format!("process-tests: cargo test: {error}")];
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--workspace", "--locked", "--no-fail-fast"]).current_dir(root);
    command.args(programs.iter().flat_map(|program| ["--test", program.as_str()]));
    match choice {
        Choice::BesideOthers => command.args(["--", "--skip", QUIET]),
        Choice::Quiet => command.args(["--", "--test-threads", "1", QUIET]),
        Choice::One(name) => command.args(["--", "--exact", name]),
    };
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut told = Told::default();
    for line in child.stdout.take().into_iter().flat_map(|output| BufReader::new(output).split(b'\n')) {
        let line = String::from_utf8_lossy(&line.map_err(failed)?).into_owned();
        println!("{line}");
        told.read(&line);
    }
    Ok((child.wait().map_err(failed)?, told))
}

impl Told {
    /// Reads one line of what a test program prints. It ends with a list of the tests that failed, behind what those printed, which may
    /// look like anything.
    fn read(&mut self, line: &str) {
        if line == "failures:" {
            self.listing = true;
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.listing = false;
            self.passed += passed(result).unwrap_or(0);
        } else if let Some(name) = line.strip_prefix("    ").filter(|_| self.listing)
            && !name.contains(' ')
        {
            self.failed.insert(name.to_owned());
        } else if !line.is_empty() {
            // Output of a test: the list of names has nothing between its lines.
            self.listing = false;
        }
    }
}

/// From `FAILED. 12 passed; 1 failed; …`.
fn passed(result: &str) -> Option<usize> {
    result.split("; ").next()?.strip_suffix(" passed")?.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Told {
        let mut told = Told::default();
        text.lines().for_each(|line| told.read(line));
        told
    }

    #[test]
    fn failed_tests_are_those_of_the_last_list() {
        let text = "running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\nfailures:\n\n---- a::c stdout ----\n    a::printed\n\
                    failures:\nsomething else\n    printed\n\nfailures:\n    a::c\n    d\n\n\
                    test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(
            told(text),
            Told { passed: 1, failed: ["a::c", "d"].map(str::to_owned).into(), listing: false }
        );
    }

    #[test]
    fn all_programs_count() {
        let one =
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 2.62s\n";
        assert_eq!(told(&one.repeat(2)), Told { passed: 10, ..Told::default() });
        assert_eq!(told("test result: gone\n").passed, 0);
    }
}
