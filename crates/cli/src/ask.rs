//! Questions to a person at a terminal.

use std::io::{self, BufRead, IsTerminal as _, Stderr, StdinLock, Write};

use assay_report::foreign;

use crate::failure::Failure;

/// Somebody who can be asked: reads answers, and shows questions.
pub(crate) struct Questions<R, W> {
    answers: R,
    terminal: W,
}

/// The person at this terminal; nobody where input or standard error is no terminal.
pub(crate) fn at_terminal() -> Option<Questions<StdinLock<'static>, Stderr>> {
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    is_terminal.then(|| Questions::between(io::stdin().lock(), io::stderr()))
}

impl<R: BufRead, W: Write> Questions<R, W> {
    /// The person who writes `answers` and sees what `terminal` shows.
    pub(crate) fn between(answers: R, terminal: W) -> Self {
        Self { answers, terminal }
    }

    /// Asks until the answer can be understood. An empty one is the `default`; without one it is an answer like any other.
    ///
    /// # Errors
    /// The input ends.
    pub(crate) fn ask<T>(
        &mut self,
        question: &str,
        default: Option<&str>,
        understand: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        let prompt = match default {
            Some(default) => format!("{question} [{default}]: "),
            None => format!("{question}: "),
        };
        loop {
            self.show(&prompt);
            let mut line = String::new();
            let read = self.answers.read_line(&mut line);
            if !read.is_ok_and(|bytes| bytes > 0) {
                return Err(Failure::usage("there was no answer, so nothing is written"));
            }
            let answer =
                Some(line.trim()).filter(|answer| !answer.is_empty()).or(default).unwrap_or_default();
            match understand(answer) {
                Ok(understood) => return Ok(understood),
                Err(problem) => self.show(&format!("  `{}` {problem}\n", foreign::line(answer))),
            }
        }
    }

    /// What cannot be shown is missed by nobody: the answer is read all the same.
    fn show(&mut self, text: &str) {
        let _ = self.terminal.write_all(text.as_bytes()).and_then(|()| self.terminal.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(answers: &str, default: Option<&str>) -> (Result<u32, Failure>, String) {
        let mut asked = Questions::between(answers.as_bytes(), Vec::new());
        let number = |text: &str| text.parse().map_err(|_| "is no number".to_owned());
        let answer = asked.ask("How many", default, number);
        (answer, String::from_utf8(asked.terminal).expect("UTF-8"))
    }

    #[test]
    fn it_asks_until_it_understands() {
        let (answer, shown) = answered("many\n\n 7 \n", None);
        assert_eq!(answer.ok(), Some(7));
        assert_eq!(shown, "How many:   `many` is no number\nHow many:   `` is no number\nHow many: ");
        let (answer, shown) = answered("\n", Some("64"));
        assert_eq!((answer.ok(), shown.as_str()), (Some(64), "How many [64]: "));
    }

    #[test]
    fn the_end_of_the_input_is_no_answer() {
        let told = answered("many\n", Some("64")).0.expect_err("none").to_string();
        assert!(told.contains("nothing is written"), "{told}");
    }
}
