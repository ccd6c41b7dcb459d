//! The process of a generator: bounded in time and output, ended with all that it started.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_host::sampler::tree_usage;

use super::LoadError;
use super::hosts::ProcessSurroundings;
use crate::inherited::Purpose;
use crate::pipe::Pipe;
use crate::supervisor::{Ended, Supervised, SupervisorOptions, tail};
use crate::tools::Tools;

/// How often a wait for it looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(50);
/// Lines of its error output that are shown.
const TAIL_LINES: usize = 8;

/// What is to be run.
pub(super) struct GeneratorProcess<'a> {
    pub(super) tools: &'a Tools,
    /// The command, its CPUs and its side of the link; standard output is taken from it.
    pub(super) options: SupervisorOptions,
    pub(super) surroundings: ProcessSurroundings,
    pub(super) timeout: Duration,
    /// Most bytes of standard output.
    pub(super) most_bytes: u64,
    /// Whether its memory is looked at while it runs.
    pub(super) is_weighed: bool,
}

/// What is left of a generator that has ended.
pub(super) struct Output {
    pub(super) ended: Ended,
    /// The whole of its standard output.
    pub(super) stdout: String,
    /// The time from its start to its end.
    pub(super) lasted: Duration,
    /// The most memory that its first process was seen to have resident, where that was looked at.
    pub(super) rss_peak_bytes: Option<u64>,
}

impl GeneratorProcess<'_> {
    /// Runs it to its end, as long as that is `wanted`; nothing of it is left afterwards.
    ///
    /// # Errors
    /// When it cannot be started, is no longer wanted, takes too long or prints too much.
    pub(super) fn run(mut self, wanted: &mut dyn FnMut() -> bool) -> Result<Output, LoadError> {
        let pipe = Pipe::new(self.pipe());
        let both_ends = pipe.both_ends().map_err(|error| self.failed(error.to_string()))?;
        let reader = pipe.reader().map_err(|error| self.failed(error.to_string()))?;
        self.options.stdout = Some(pipe.path.clone());
        let most = self.most_bytes;
        let reading = std::thread::spawn(move || read_bounded(reader, most));
        let began = Instant::now();
        let ProcessSurroundings { folder, inherited, .. } = &self.surroundings;
        let variables = inherited.variables(Purpose::Serving);
        let started = Supervised::start(&self.tools.assay, &self.options, folder, variables);
        // From here on only the generator holds the end to write to, and our reader finds an end when it ends.
        drop(both_ends);
        let mut supervised = started.map_err(|error| self.failed(error.to_string()))?;
        let (mut rss_peak_bytes, pid) = (None, supervised.pid());
        let mut look = || {
            if self.is_weighed {
                rss_peak_bytes = rss_peak_bytes.max(tree_usage(pid).ok().map(|usage| usage.rss_peak_bytes));
            }
            wanted()
        };
        let ended = self.await_end(&mut supervised, &mut look)?;
        let lasted = began.elapsed();
        supervised.stop();
        let printed = reading.join().map_err(|_| self.failed("its output could not be read".to_owned()))?;
        if printed.len() as u64 > most {
            return Err(self.failed(format!("it printed more than {most} bytes")));
        }
        Ok(Output { ended, stdout: String::from_utf8_lossy(&printed).into_owned(), lasted, rss_peak_bytes })
    }

    fn await_end(
        &self,
        supervised: &mut Supervised,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Ended, LoadError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            if let Some(ended) = supervised.wait(TICK.min(deadline.saturating_duration_since(Instant::now())))
            {
                return Ok(ended);
            }
            if Instant::now() >= deadline {
                self.surroundings.ending.end(supervised);
                return Err(self.failed(format!("it was not done after {} s", self.timeout.as_secs_f64())));
            }
            if !wanted() {
                self.surroundings.ending.end(supervised);
                return Err(LoadError::Unwanted);
            }
        }
    }

    /// The last line that it wrote to standard error.
    pub(super) fn last_words(log: &Path, tools: &Tools) -> Option<String> {
        tail(log, 1, &tools.secrets).pop()
    }

    fn pipe(&self) -> PathBuf {
        self.options.log.with_extension("out")
    }

    fn failed(&self, problem: String) -> LoadError {
        failed(problem, &self.options.log, self.tools)
    }
}

/// A failure with what the generator last said.
pub(super) fn failed(problem: String, log: &Path, tools: &Tools) -> LoadError {
    LoadError::Failed { problem, log_tail: tail(log, TAIL_LINES, &tools.secrets) }
}

/// What comes until the end, of more than `most` bytes one more than that: who goes on printing then finds nobody who reads
/// (SIGPIPE).
fn read_bounded(from: File, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What cannot be read is not there.
    let _ = from.take(most.saturating_add(1)).read_to_end(&mut bytes);
    bytes
}
