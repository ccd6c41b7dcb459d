//! Our generator as a process that measures window after window on the same connections, as it is asked to.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use assay_link::Link;
use assay_model::load::{LoadReport, LoadTurn};
use assay_model::not_run::NotRun;
use assay_model::units::Nanos;

use super::hosts::{Hosts, ProcessSurroundings, Termination};
use super::process::GeneratorProcess;
use super::{LoadError, LoadOrder, MARGIN, process, read_report};
use crate::inherited::Purpose;
use crate::pipe::Pipe;
use crate::supervisor::Supervised;
use crate::tools::Tools;

/// How many timeouts of one connection making all of them may take, as the generator itself allows.
const CONNECT_TIMEOUTS: u32 = 12;
/// The line with which a generator tells that its connections are made, before it is asked for a window.
pub const CONNECTED: &str = "connected";
/// How often a wait for it looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(50);

/// A generator that measures window after window on the same connections, as it is asked to. Dropping it ends it.
pub struct Generator {
    supervised: Supervised,
    ending: Termination,
    orders: Option<File>,
    /// Until it runs and has opened its own ends.
    opening: Option<Opening>,
    told: Receiver<String>,
    log: PathBuf,
    patience: Duration,
    /// Knows what must not be repeated of its log.
    tools: Tools,
}

/// What a generator finds when it is started: the pipes by their names, of which the one on which it tells must not end before.
struct Opening {
    _pipes: [Pipe; 2],
    _answers: File,
}

impl Generator {
    /// Begins to start it on its side of `link` and waits for nothing, so that others can start meanwhile; what it is asked and tells
    /// passes through pipes in the folder `work`, whose names begin with `name`. The order's own window is the
    /// longest that is to be expected.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn begin(
        order: &LoadOrder<'_>,
        tools: &Tools,
        link: &Link,
        work: &Path,
        name: &str,
    ) -> Result<Self, LoadError> {
        let file = |what: &str| work.join(format!("{name}.{what}"));
        let log = file("log");
        let failed = |error: std::io::Error| process::failed(error.to_string(), &log, tools);
        let (asked, telling) = (Pipe::new(file("asked")), Pipe::new(file("told")));
        let (orders, answers) = (asked.both_ends().map_err(failed)?, telling.both_ends().map_err(failed)?);
        let mut options = order.options(tools, link, log.clone());
        options.command.push("--on-request".into());
        (options.stdin, options.stdout) = (Some(asked.path.clone()), Some(telling.path.clone()));
        let told = lines(telling.reader().map_err(failed)?);
        let ProcessSurroundings { folder, inherited, ending } = ProcessSurroundings::of(order.hosts, work);
        let variables = inherited.variables(Purpose::Serving);
        let supervised = Supervised::begin(&tools.assay, &options, &folder, variables)
            .map_err(|error| process::failed(error.to_string(), &log, tools))?;
        let connecting = Duration::from_secs_f64(order.timeout_s) * CONNECT_TIMEOUTS + MARGIN;
        let patience = connecting + Hosts::patience(order.hosts);
        let opening = Some(Opening { _pipes: [asked, telling], _answers: answers });
        let (orders, tools) = (Some(orders), tools.clone());
        Ok(Self { supervised, ending, orders, opening, told, log, patience, tools })
    }

    /// Waits until it runs and its connections are made, or known not to be had.
    ///
    /// # Errors
    /// When it cannot be started, it is no longer wanted, or it broke.
    pub fn await_connections(&mut self, wanted: &mut dyn FnMut() -> bool) -> Result<(), LoadError> {
        let started = self.supervised.await_start();
        started.map_err(|error| process::failed(error.to_string(), &self.log, &self.tools))?;
        // From here on only the generator holds the other ends, and our reader finds an end when it ends.
        drop(self.opening.take());
        match self.answer(Duration::ZERO, wanted)? {
            line if line == CONNECTED => Ok(()),
            line => Err(self.broken(format!("it said `{line}`"))),
        }
    }

    /// Measures one window after so much load; waits as long as it is `wanted`.
    ///
    /// # Errors
    /// When it is no longer wanted, or the generator broke.
    pub fn window(
        &mut self,
        settle: Nanos,
        length: Nanos,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<LoadTurn, LoadError> {
        self.begin_window(settle, length)?;
        self.end_window(settle, length, wanted)
    }

    /// Lets a window begin and waits for nothing, so that another generator's can begin at the same time.
    ///
    /// # Errors
    /// When the generator broke.
    pub fn begin_window(&mut self, settle: Nanos, length: Nanos) -> Result<(), LoadError> {
        let line = format!("{} {}\n", settle.0, length.0);
        match self.orders.as_mut().map(|orders| orders.write_all(line.as_bytes())) {
            Some(Err(error)) => Err(self.broken(error.to_string())),
            _ => Ok(()),
        }
    }

    /// What it measured in a window that was begun with the same lengths.
    ///
    /// # Errors
    /// As for [`Self::window`].
    pub fn end_window(
        &mut self,
        settle: Nanos,
        length: Nanos,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<LoadTurn, LoadError> {
        let text = self.answer(Duration::from_nanos(settle.0 + length.0), wanted)?;
        serde_json::from_str(&text).map_err(|error| {
            self.lost_host(&text).unwrap_or_else(|| self.broken(format!("no window: {error}")))
        })
    }

    /// Lets it end, and waits for nothing.
    pub fn begin_to_finish(&mut self) {
        drop(self.orders.take());
    }

    /// Lets it end; what it saw in all windows.
    ///
    /// # Errors
    /// As for [`Self::window`].
    pub fn finish(mut self, wanted: &mut dyn FnMut() -> bool) -> Result<LoadReport, LoadError> {
        self.begin_to_finish();
        let text = self.answer(Duration::ZERO, wanted)?;
        read_report(&text).map_err(|problem| self.broken(problem))
    }

    /// The next line, which is due after `busy`.
    fn answer(&mut self, busy: Duration, wanted: &mut dyn FnMut() -> bool) -> Result<String, LoadError> {
        let deadline = Instant::now() + busy + self.patience;
        loop {
            match self.told.recv_timeout(TICK) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => {
                    let ended =
                        self.supervised.wait(MARGIN).map_or_else(String::new, |ended| ended.to_string());
                    return Err(self.broken(ended));
                }
                Err(RecvTimeoutError::Timeout) if !wanted() => {
                    self.ending.end(&mut self.supervised);
                    return Err(LoadError::Unwanted);
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => {
                    self.ending.end(&mut self.supervised);
                    return Err(
                        self.broken(format!("no word from it for {} s", (busy + self.patience).as_secs()))
                    );
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The loss of a host of the load, where the generator reported that instead of a window.
    fn lost_host(&self, text: &str) -> Option<LoadError> {
        let report = read_report(text).ok()?;
        let mut shares = report.generators.iter();
        let (host, why) = shares.find_map(|share| Some((&share.name, share.lost.as_ref()?)))?;
        Some(process::failed(NotRun::lost_host_reason(host, why), &self.log, &self.tools))
    }

    fn broken(&self, problem: String) -> LoadError {
        let own_words = GeneratorProcess::last_words(&self.log, &self.tools).unwrap_or_default();
        process::failed(format!("{problem} {own_words}").trim().to_owned(), &self.log, &self.tools)
    }
}

impl Drop for Generator {
    /// Ends a generator that has nothing to tell for which anybody waits.
    fn drop(&mut self) {
        self.begin_to_finish();
        self.ending.end(&mut self.supervised);
    }
}

/// The lines that come, until the end.
fn lines(from: File) -> Receiver<String> {
    let (line, lines) = channel();
    std::thread::spawn(move || {
        BufReader::new(from).lines().map_while(Result::ok).try_for_each(|text| line.send(text))
    });
    lines
}
