//! One generator on another host: what it is told and says passes through the agent there.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use assay_engine::clock;
use assay_fleet::line::{self, MAX_LINE_BYTES, Order};
use assay_lab::HostError;
use assay_lab::hosts::generator::{HostGenerator, open_all};
use assay_lab::hosts::session::OwnProgram;
use assay_lab::{Exit, LabError};
use assay_model::lab::LabHost;

use super::heard::{Heard, Report};
use super::participant::PARTICIPANT;
use crate::failure::Failure;
use crate::output;

/// The generator, with an agent of its own. Dropping it ends both.
pub(super) struct Apart(HostGenerator);

/// Starts an agent on each host, until somebody wants to stop.
pub(super) fn open(hosts: &[LabHost], stop: &AtomicBool) -> Result<Vec<Apart>, Failure> {
    let path = std::env::current_exe().map_err(|error| Failure::Bug(format!("where am I? {error}")))?;
    let own = OwnProgram { path, version: env!("CARGO_PKG_VERSION").to_owned() };
    let opened = open_all(hosts, &own, &|| !stop.load(Ordering::Relaxed)).map_err(unopened)?;
    Ok(opened.into_iter().map(|(agent, _)| Apart(agent)).collect())
}

fn unopened(error: HostError) -> Failure {
    match error {
        HostError::Unwanted { .. } => {
            Failure::Unmeasured { exit: Exit::Interrupted, reason: error.to_string() }
        }
        error => Failure::Lab(LabError::Host(error)),
    }
}

impl Apart {
    /// Has nothing sent there in a window of `longest`.
    pub(super) fn expect_silence(&self, longest: Duration, stop: &AtomicBool) -> Result<(), Failure> {
        self.0.expect_silence(longest, &mut || !stop.load(Ordering::Relaxed)).map_err(unopened)
    }

    /// What it is called, and its CPUs.
    pub(super) fn place(&self) -> (String, Vec<u32>) {
        (self.0.name().to_owned(), self.0.cpus().iter().collect())
    }

    /// Starts it as generator `number`; what is heard of it goes to `told`.
    pub(super) fn start(&self, number: usize, told: Sender<Report>) -> Result<(), Failure> {
        let command = PARTICIPANT.map(OsString::from);
        let mut lines = Lines::default();
        let listener = move |words: Option<&[u8]>| {
            let at = clock::now();
            for heard in lines.hear(words) {
                // Whoever leads no more listens to nobody.
                let _ = told.send(Report { number, at, heard });
            }
        };
        self.0.start(command, listener).map_err(|error| Failure::Lab(LabError::Host(error)))
    }

    /// Tells it something.
    ///
    /// # Errors
    /// Why it was not told; one that has ended says itself why.
    pub(super) fn send(&self, order: &Order) -> Result<(), String> {
        self.0.say(&line::written(order)?).map_err(|error| error.to_string())
    }

    /// How it ended, which has closed its output.
    pub(super) fn ended(&self) -> String {
        self.0.ended()
    }

    /// Ends it and its agent, and says where anything may be left.
    pub(super) fn leave(&self) {
        if let Err(error) = self.0.end() {
            output::warning(error);
        }
    }
}

/// Makes lines of bytes as they come.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// What the lines say that are whole with these bytes; with nothing, that is all.
    fn hear(&mut self, words: Option<&[u8]>) -> Vec<Heard> {
        let Some(words) = words else { return vec![Heard::Gone] };
        let mut heard = Vec::new();
        for part in words.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.rest);
                heard.push(Heard::of(&String::from_utf8_lossy(&line)));
            } else if self.rest.len() > MAX_LINE_BYTES {
                self.rest.clear();
                heard.push(Heard::Unreadable(format!("a line of more than {MAX_LINE_BYTES} bytes")));
            }
        }
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_fleet::line::Said;

    #[test]
    fn lines_are_heard_however_their_bytes_come() {
        let text = "\"ready\"\nnonsense\n{\"pong\":{\"number\":1,\"at_ns\":5}}\n\"rea";
        let told = |heard: &Heard| match heard {
            Heard::Said(said) if **said == Said::Ready => "ready",
            Heard::Said(_) => "said",
            Heard::Unreadable(_) => "unreadable",
            Heard::Gone => "gone",
        };
        for cut in 1..text.len() {
            let mut lines = Lines::default();
            let parts = text.as_bytes().chunks(cut).map(Some).chain([None]);
            let heard: Vec<Heard> = parts.flat_map(|part| lines.hear(part)).collect();
            let heard: Vec<&str> = heard.iter().map(told).collect();
            assert_eq!(heard, ["ready", "unreadable", "said", "gone"], "{cut} bytes at a time");
        }
    }
}
