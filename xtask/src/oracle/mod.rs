//! The oracle at full length (docs/method/oracle.md#tolerances): what a load generator says beside the truth, for a
//! quiet machine.

mod cases;
mod figure;
mod peers;
mod pure;
mod reading;
mod trial;

use std::path::Path;

use clap::Args;

use crate::measure::Testbed;
use crate::measure::client::Engine;
use cases::{CASES, Case};
use figure::{Holds, Line, Verdict};
use trial::Evidence;

#[derive(Args)]
pub(crate) struct Options {
    /// Tests whose name begins so, such as T5
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// One engine of the generator instead of both
    #[arg(long, value_name = "uring|epoll")]
    engine: Option<Engine>,
    /// Put wrk, ab, h2load, and others that are on the PATH, to the tests instead, and print what they answer
    #[arg(long)]
    peers: bool,
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|start| {
            name.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
                // T1 is not T12.
                && !name[start.len()..].starts_with(|c: char| c.is_ascii_digit())
        })
    }

    fn engines(&self) -> Vec<Engine> {
        self.engine.map_or(Engine::ALL.to_vec(), |engine| vec![engine])
    }
}

/// Runs the tests and prints a line for each figure.
///
/// # Errors
/// The figures that are not as they should be; or what kept a test from running.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), Vec<String>> {
    let fault = |error: String| vec![format!("oracle: {error}")];
    let testbed = Testbed::take(root).map_err(fault)?;
    if options.peers {
        return peers::run(options, &testbed).map_err(fault);
    }
    let mut sheet = Sheet::begin();
    if options.wants(pure::HISTOGRAM) {
        sheet.enter("no engine", pure::HISTOGRAM, &pure::histogram());
    }
    for engine in options.engines() {
        for case in CASES.iter().filter(|case| options.wants(case.name)) {
            match trial::run(case, engine, &testbed) {
                Ok(evidence) => sheet.enter_trial(engine, case, &evidence),
                Err(why) => sheet.fail(engine, case, &why),
            }
            testbed.go_on().map_err(fault)?;
        }
        if options.wants(pure::SAME_TWICE) {
            let verdicts = pure::same_twice(engine, &testbed).map_err(fault)?;
            sheet.enter(engine.name(), pure::SAME_TWICE, &verdicts);
        }
    }
    if sheet.wrong.is_empty() { Ok(()) } else { Err(sheet.wrong) }
}

/// What is printed, and what of it was wrong.
struct Sheet {
    wrong: Vec<String>,
}

impl Sheet {
    fn begin() -> Self {
        println!(
            "{:<10}{:<26}{:<26}{:>12}{:>12}  verdict",
            "engine", "test", "figure", "expected", "measured"
        );
        Self { wrong: Vec::new() }
    }

    /// A run that calls itself void proves nothing about times, unless that is what the test is about. Its counts hold.
    fn enter_trial(&mut self, engine: Engine, case: &Case, evidence: &Evidence) {
        let mut verdicts = reading::judge(case, evidence);
        if !case.expects_void() {
            for check in evidence.objections() {
                println!(
                    "{:<10}{:<26}void by its own word: {}",
                    engine.name(),
                    case.name,
                    assay_report::words::evidence(check)
                );
                verdicts.iter_mut().for_each(|verdict| verdict.excuse());
            }
        }
        self.enter(engine.name(), case.name, &verdicts);
    }

    fn enter(&mut self, engine: &str, test: &str, verdicts: &[Verdict]) {
        for Verdict { line: Line { figure, expected, .. }, measured, holds } in verdicts {
            let (name, word) = (figure.name(), holds.word());
            println!("{engine:<10}{test:<26}{name:<26}{expected:>12.2}{measured:>12.2}  {word}");
            if *holds != Holds::Right {
                self.wrong
                    .push(format!("{engine}, {test}: {name} is {measured:.2}, not {expected:.2}: {word}"));
            }
        }
    }

    fn fail(&mut self, engine: Engine, case: &Case, why: &str) {
        println!("{:<10}{:<26}{why}", engine.name(), case.name);
        self.wrong.push(format!("{}, {}: {why}", engine.name(), case.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_chosen_with_its_variants_and_without_its_neighbours() {
        let options = Options { only: Some("t1".into()), engine: None, peers: false };
        assert!(options.wants("T1 fixed") && !options.wants("T12 arrivals") && !options.wants("T"));
        let options = Options { only: Some("T5".into()), ..options };
        assert!(options.wants("T5 M/M/1") && options.wants("T5c M/D/1"));
    }
}
