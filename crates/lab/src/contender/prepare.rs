//! Before the first round: is everything there, which versions are it, and does it build?

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use assay_model::contender::{Build, Need};
use assay_model::record::{NotRun, Stage};

use super::container;
use super::environment::{Environment, Told};
use crate::host_error::HostError;
use crate::hosts::host::{Host, JobSurroundings};
use crate::stop::Stop;
use crate::subject::{Container, Process};
use crate::supervisor::{Bounded, SupervisorOptions, tail, tail_of_death};
use crate::version::{compare, first_version};

/// Longest time for a command that only prints a version.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// Lines of a probe's output in which a version is looked for.
const PROBE_LINES: usize = 40;
/// Lines of a build's log that go into the record.
const TAIL_LINES: usize = 15;
/// Most bytes of a build's log that are kept.
const BUILD_LOG_BYTES: u64 = 4 << 20;

/// Runs the commands that a contender needs before it can be started.
pub(crate) struct Preparation<'a> {
    /// Where it is to live.
    pub host: &'a Host,
    /// What is prepared.
    pub process: &'a Process,
    /// A folder for what passes by.
    pub work: &'a Path,
    /// Aborts everything when asked once: nothing is lost yet.
    pub stop: &'a Stop,
}

impl Preparation<'_> {
    /// Probes every need, where its folder can be brought to its host.
    pub(crate) fn needs(&self) -> Result<(), NotRun> {
        let apart = |error: HostError| NotRun {
            stage: Stage::Needs,
            remedy: error.remedy(),
            reason: error.to_string(),
            log_tail: Vec::new(),
        };
        self.host.bring(&self.process.folder, &mut || !self.stop.is_requested()).map_err(apart)?;
        self.process.needs.iter().try_for_each(|need| self.need(need))
    }

    fn need(&self, need: &Need) -> Result<(), NotRun> {
        let missing = |found: String| NotRun {
            stage: Stage::Needs,
            reason: format!("needs {}; {found}", need.what),
            remedy: Some(need.install.clone()),
            log_tail: Vec::new(),
        };
        let output = self.output(&need.probe).map_err(missing)?;
        let Some(minimum) = &need.minimum else { return Ok(()) };
        match first_version(&output) {
            None => Err(missing(format!("`{}` printed no version", need.probe.join(" ")))),
            Some(found) if compare(&found, minimum).is_lt() => {
                Err(missing(format!("version {found} is too old")))
            }
            Some(_) => Ok(()),
        }
    }

    /// The versions that can be found; a command that fails tells none.
    pub(crate) fn versions(&self) -> BTreeMap<String, String> {
        let version = |command: &[String]| first_version(&self.output(command).ok()?);
        let commands = self.process.versions.iter();
        commands.filter_map(|(of, command)| Some((of.clone(), version(command)?))).collect()
    }

    /// What a command prints, on either output; or what became of it, with its last words.
    fn output(&self, command: &[String]) -> Result<String, String> {
        let log = self.work.join("probe.log");
        let how = self.execute(command, &log, 64 << 10, PROBE_TIMEOUT);
        let how = how.map_err(|problem| format!("not found ({problem})"))?;
        let secrets = &self.host.tools().secrets;
        let (lines, last) = (tail(&log, PROBE_LINES, secrets), tail_of_death(&log, 1, secrets));
        let _ = std::fs::remove_file(&log);
        if how.is_success() {
            return Ok(lines.join("\n"));
        }
        let words = last.first().map_or_else(String::new, |line| format!(": {line}"));
        Err(told(&command.join(" "), &how, PROBE_TIMEOUT) + &words)
    }

    /// Builds it; the log stays at `log`. The command runs every time: build tools know best what is up to date.
    pub(crate) fn build(&self, build: &Build, log: &Path) -> Result<(), NotRun> {
        let timeout = Duration::from_secs_f64(build.timeout_s);
        let failed = |reason: String| NotRun {
            stage: Stage::Build,
            reason,
            remedy: Some(format!("read {}", log.display())),
            log_tail: tail(log, TAIL_LINES, &self.host.tools().secrets),
        };
        let how = self.execute(&build.command, log, BUILD_LOG_BYTES, timeout).map_err(failed)?;
        match &self.process.container {
            None if how.is_success() => Ok(()),
            Some(container) if how.is_success() => self.keep_image(container, log).map_err(failed),
            None => Err(failed(told(&build.command.join(" "), &how, timeout))),
            Some(container) => {
                let failed = failed(told(&container::typed(&build.command), &how, timeout));
                let left = container::left_by_a_build(container).filter(|_| how == Bounded::Stopped);
                Err(NotRun { remedy: left.or(failed.remedy), ..failed })
            }
        }
    }

    /// Keeps the id of the image, which ends the log of its build: of its name another run may make another image at any time.
    fn keep_image(&self, container: &Container, log: &Path) -> Result<(), String> {
        let last = tail(log, 1, &self.host.tools().secrets).pop().unwrap_or_default();
        if !container::is_image(&last) {
            return Err(format!("`{} build` did not tell the id of the image", container.engine));
        }
        self.host.keep_image(&self.process.folder, &container.image, last);
        Ok(())
    }

    fn execute(
        &self,
        command: &[String],
        log: &Path,
        log_limit: u64,
        timeout: Duration,
    ) -> Result<Bounded, String> {
        // Engines leave much behind when they are interrupted.
        let scratch = (self.process.container.as_ref()).map(|_| self.host.scratch());
        let environment = Environment::new(&Told {
            address: "127.0.0.1",
            port: 0,
            cpus: "",
            workers: 1,
            scratch: &scratch.clone().unwrap_or_else(|| self.host.folder()),
            tools: self.host.tools(),
            database: None,
            stack: None,
            tls: None,
            protocol: None,
            upstream: None,
        });
        let words: Result<Vec<OsString>, _> =
            command.iter().map(|word| environment.fill(word).map(Into::into)).collect();
        let words = words.map_err(|error| error.to_string())?;
        let told = |error: HostError| error.to_string();
        let folder =
            self.host.bring(&self.process.folder, &mut || !self.stop.is_requested()).map_err(told)?;
        let job = self.host.new_job(log);
        let mut options = SupervisorOptions::new(job.log.clone(), words);
        options.log_limit_bytes = log_limit;
        options.scratch.extend(scratch);
        let (inherited, variables) = (&self.process.inherited, Vec::new());
        let around = JobSurroundings { folder: &folder, inherited, is_building: true, variables };
        self.host.run_bounded(job, &options, around, timeout, &mut || !self.stop.is_requested()).map_err(told)
    }
}

/// How a command ended, in a sentence.
fn told(command: &str, how: &Bounded, timeout: Duration) -> String {
    match how {
        Bounded::Ended(ended) => format!("`{command}` ended with {ended}"),
        Bounded::TimedOut => format!("`{command}` took longer than {} s", timeout.as_secs_f64()),
        Bounded::Stopped => format!("`{command}` was interrupted"),
    }
}
