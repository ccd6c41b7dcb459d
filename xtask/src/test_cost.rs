//! What each test costs: CPU time, that of all processes which it starts included. Tests that run at once share the CPUs, so this and
//! not their duration is what `make test` takes. Each is run alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};
use serde_json::Value;

/// Longest wait for the end of processes that a test has left.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);

/// The tests that are to be measured.
#[derive(Args)]
pub(crate) struct Options {
    /// Test programs, by the folder of their crate and their own name, or that alone: cli/it, oracle, assay_verdict [default: all]
    programs: Vec<String>,
    /// Only tests whose name has this in it
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    filter: String,
    /// How many of the dearest are told of each program
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
}

/// A compiled test program.
#[derive(Debug, PartialEq)]
struct Program {
    /// Name of the crate's folder and of the program.
    name: String,
    path: PathBuf,
    /// The folder of its crate, in which cargo runs it.
    folder: PathBuf,
}

/// What a test took.
struct Cost {
    test: String,
    cpu: Duration,
    wall: Duration,
    passed: bool,
}

/// Runs the tests one after the other and prints the dearest of each program first.
///
/// # Errors
/// When the tests cannot be built or started, or one of them fails.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), Vec<String>> {
    let say = |error: rustix::io::Errno| vec![format!("test-cost: {error}")];
    // What a test leaves behind becomes a child of this process, whose CPU time is counted when it has ended.
    set_child_subreaper(Some(getpid())).map_err(say)?;
    let mut failures = Vec::new();
    for program in built(root, &options.programs)? {
        let mut costs = measured(&program, &options.filter)?;
        costs.sort_by_key(|cost| std::cmp::Reverse(cost.cpu));
        tell(&program, &costs, options.top);
        let failed = costs.iter().filter(|cost| !cost.passed);
        failures.extend(failed.map(|cost| format!("{}: {} failed", program.name, cost.test)));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

/// The test programs of these names, which cargo builds where they are not fresh.
fn built(root: &Path, names: &[String]) -> Result<Vec<Program>, Vec<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let asked = ["test", "--workspace", "--no-run", "--locked", "--message-format", "json"];
    let output = Command::new(cargo).args(asked).current_dir(root).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| vec![format!("cargo test: {error}")])?;
    if !output.status.success() {
        return Err(vec!["cargo test: the tests could not be built".to_owned()]);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let all: Vec<Program> = text.lines().filter_map(program).collect();
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|program| program.is_called(name))) {
        return Err(vec![format!("there is no test program `{unknown}`")]);
    }
    let is_asked = |program: &Program| names.is_empty() || names.iter().any(|name| program.is_called(name));
    Ok(all.into_iter().filter(is_asked).collect())
}

impl Program {
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.name.split_once('/').is_some_and(|(_, own)| own == name)
    }
}

/// The test program of one of cargo's messages, if it is about one.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_test = message["profile"]["test"].as_bool()?;
    let path = message["executable"].as_str().filter(|_| is_test)?.into();
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let name = format!("{}/{}", folder.file_name()?.to_str()?, message["target"]["name"].as_str()?);
    Some(Program { name, path, folder })
}

fn measured(program: &Program, filter: &str) -> Result<Vec<Cost>, Vec<String>> {
    let say = |error: String| vec![format!("{}: {error}", program.path.display())];
    let mut list = command(program);
    let listed = list.args(["--list", "--format", "terse"]).output().map_err(|e| say(e.to_string()))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let tests = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    tests.filter(|test| test.contains(filter)).map(|test| cost(program, test).map_err(say)).collect()
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).stdin(Stdio::null());
    command
}

fn cost(program: &Program, test: &str) -> Result<Cost, String> {
    let (before, began) = (cpu_time()?, Instant::now());
    let ended = command(program).args(["--exact", test]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let passed = ended.map_err(|error| error.to_string())?.success();
    let wall = began.elapsed();
    while wait(WaitOptions::NOHANG).is_ok() && began.elapsed() < wall + PATIENCE {
        std::thread::sleep(POLL);
    }
    Ok(Cost { test: test.to_owned(), cpu: cpu_time()?.saturating_sub(before), wall, passed })
}

/// CPU time of all children that have ended, and of theirs.
fn cpu_time() -> Result<Duration, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    let microseconds = (usage.user_time() + usage.system_time()).num_microseconds();
    Ok(Duration::from_micros(microseconds.unsigned_abs()))
}

fn tell(program: &Program, costs: &[Cost], top: usize) {
    let (cpu, wall) = costs
        .iter()
        .fold((Duration::ZERO, Duration::ZERO), |(cpu, wall), cost| (cpu + cost.cpu, wall + cost.wall));
    println!(
        "{}: {} tests, {:.1} s of CPU in {:.1} s",
        program.name,
        costs.len(),
        seconds(cpu),
        seconds(wall)
    );
    for Cost { test, cpu, wall, .. } in costs.iter().take(top) {
        println!("{:8.2} s of CPU in {:6.2} s  {test}", seconds(*cpu), seconds(*wall));
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_what_else_cargo_builds() {
        let message = |test: bool, executable: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/w/crates/a/Cargo.toml\",\"target\":{{\"name\":\"it\"}},\
                 \"profile\":{{\"test\":{test}}},\"executable\":{executable}}}"
            )
        };
        let (path, folder) = ("/w/target/debug/deps/it-1".into(), "/w/crates/a".into());
        let found = program(&message(true, "\"/w/target/debug/deps/it-1\""));
        assert_eq!(found, Some(Program { name: "a/it".to_owned(), path, folder }));
        assert!(found.is_some_and(|program| program.is_called("it") && !program.is_called("t")));
        assert_eq!(program(&message(false, "\"/w/target/debug/assay\"")), None);
        assert_eq!(program(&message(true, "null")), None);
        assert_eq!(program("{\"reason\":\"build-finished\",\"success\":true}"), None);
    }

    #[test]
    fn the_cpu_time_of_a_process_that_has_ended_is_counted() {
        let before = cpu_time().expect("told");
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", busy]).status().expect("ran").success());
        assert!(cpu_time().expect("told") > before);
    }
}
