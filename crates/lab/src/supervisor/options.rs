//! The arguments of `assay supervise`: written by the lab, read by the supervisor, both here so that they cannot differ.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use assay_host::cpuset::CpuSet;
use assay_link::Side;
use thiserror::Error;

/// Processes that a command may become, unless it is told otherwise: more than any server forks for ten thousand
/// connections would be a machine's end.
const PROCESSES: u32 = 8192;
/// Names a folder of the command's control group.
pub(super) const GROUP: &str = "--group";

/// One of the three processes in a row ([`super`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The outermost.
    Guard,
    /// Between guard and command.
    Supervisor,
    /// The one that becomes the command.
    Launcher,
}

/// What to start and how to supervise it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupervisorOptions {
    /// CPUs of the command; all that the supervisor may use when absent.
    pub cpus: Option<CpuSet>,
    /// Where its output goes.
    pub log: PathBuf,
    /// Most bytes of it that are kept; the rest is read and thrown away.
    pub log_limit_bytes: u64,
    /// A file, or a pipe, for its standard input; it has none when absent.
    pub stdin: Option<PathBuf>,
    /// A file for its standard output, whole; it goes into the log when absent.
    pub stdout: Option<PathBuf>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// The side of a link to start it on; the supervisor's own network when absent.
    pub side: Option<Side>,
    /// Folders to make, where they are not there yet, and to remove at the end with everything in them: in anybody
    /// else's hands they could outlive a run that is killed.
    pub scratch: Vec<PathBuf>,
    /// Variables for the command alone, `NAME=VALUE`: the supervisor itself must not be run with them.
    pub variables: Vec<OsString>,
    /// Processes that it may become; one more, and all of it is ended.
    pub processes: u32,
    /// The part to play; for anybody but the supervisor itself the guard's.
    pub part: Part,
    /// The process that plays the part before; it must be the parent.
    pub(super) parent: Option<u32>,
    /// Folders of the control group to be in; none where there is none.
    pub(super) group: Vec<PathBuf>,
    /// Program and arguments.
    pub command: Vec<OsString>,
}

/// Arguments that are none of ours.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionError {
    /// An argument that is not known, or lacks its value, or has a wrong one.
    #[error("`assay supervise` does not understand `{0}`; it is for assay's own use")]
    Bad(String),
    /// An argument that must be there.
    #[error("`assay supervise` needs {0}; it is for assay's own use")]
    Missing(&'static str),
}

impl Part {
    const ALL: [Self; 3] = [Self::Guard, Self::Supervisor, Self::Launcher];

    fn name(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Supervisor => "supervisor",
            Self::Launcher => "launcher",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

impl SupervisorOptions {
    /// Keeps `command` with its output in `log`, a log limit of 1 MiB and a grace of two seconds.
    pub fn new(log: PathBuf, command: Vec<OsString>) -> Self {
        Self {
            cpus: None,
            log,
            log_limit_bytes: 1 << 20,
            stdin: None,
            stdout: None,
            grace: Duration::from_secs(2),
            side: None,
            scratch: Vec::new(),
            variables: Vec::new(),
            processes: PROCESSES,
            part: Part::Guard,
            parent: None,
            group: Vec::new(),
            command,
        }
    }

    /// Options for the next part, of which this process will be the parent.
    pub(super) fn with_part(&self, part: Part) -> Self {
        Self { part, parent: Some(std::process::id()), ..self.clone() }
    }

    /// The arguments behind `assay supervise`.
    pub fn to_arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut push = |name: &str, value: OsString| arguments.extend([name.into(), value]);
        push("--log", self.log.clone().into());
        push("--log-limit", self.log_limit_bytes.to_string().into());
        push("--grace-ms", self.grace.as_millis().to_string().into());
        push("--processes", self.processes.to_string().into());
        push("--part", self.part.name().into());
        if let Some(parent) = self.parent {
            push("--parent", parent.to_string().into());
        }
        self.group.iter().for_each(|folder| push(GROUP, folder.clone().into()));
        if let Some(cpus) = &self.cpus {
            push("--cpus", cpus.to_string().into());
        }
        if let Some(stdin) = &self.stdin {
            push("--stdin", stdin.clone().into());
        }
        if let Some(stdout) = &self.stdout {
            push("--stdout", stdout.clone().into());
        }
        self.scratch.iter().for_each(|folder| push("--scratch", folder.clone().into()));
        self.variables.iter().for_each(|variable| push("--variable", variable.clone()));
        if let Some(side) = &self.side {
            push("--network", side.network.clone().into());
            if let Some(user) = &side.user {
                push("--user", user.clone().into());
            }
        }
        arguments.push("--".into());
        arguments.extend(self.command.iter().cloned());
        arguments
    }

    /// Reads what [`Self::to_arguments`] wrote.
    ///
    /// # Errors
    /// An argument that is unknown, incomplete or missing.
    pub fn from_arguments(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, OptionError> {
        let mut rest = arguments.into_iter();
        let mut options = Self::new(PathBuf::new(), Vec::new());
        while let Some(name) = rest.next() {
            if name == "--" {
                options.command = rest.by_ref().collect();
                break;
            }
            let bad = || OptionError::Bad(name.to_string_lossy().into_owned());
            let value = rest.next().ok_or_else(bad)?;
            options.set(&name.to_string_lossy(), value).ok_or_else(bad)?;
        }
        if options.log.as_os_str().is_empty() {
            return Err(OptionError::Missing("--log FILE"));
        }
        if options.command.is_empty() {
            return Err(OptionError::Missing("a command after --"));
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: OsString) -> Option<()> {
        let text = value.to_str();
        match name {
            "--log" => self.log = value.into(),
            "--stdin" => self.stdin = Some(value.into()),
            "--stdout" => self.stdout = Some(value.into()),
            "--scratch" => self.scratch.push(value.into()),
            "--variable" => self.variables.push(value),
            "--network" => self.side = Some(Side { network: value.into(), user: None }),
            "--user" => self.side.as_mut()?.user = Some(value.into()),
            "--cpus" => self.cpus = Some(text?.parse().ok()?),
            "--log-limit" => self.log_limit_bytes = text?.parse().ok()?,
            "--processes" => self.processes = text?.parse().ok()?,
            "--part" => self.part = Part::named(text?)?,
            "--parent" => self.parent = Some(text?.parse().ok()?),
            GROUP => self.group.push(value.into()),
            "--grace-ms" => self.grace = Duration::from_millis(text?.parse().ok()?),
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_the_journey() {
        let mut options =
            SupervisorOptions::new("/tmp/a log".into(), vec!["--x".into(), "--".into(), "".into()]);
        assert_eq!(SupervisorOptions::from_arguments(options.to_arguments()), Ok(options.clone()));
        options.cpus = Some("0-3,8".parse().expect("cpus"));
        options.stdin = Some("/tmp/in".into());
        options.stdout = Some("/tmp/out".into());
        options.scratch = vec!["/tmp/scratch".into(), "/dev/shm/scratch".into()];
        options.variables = vec!["LD_PRELOAD=/lib/x.so".into(), "EMPTY=".into()];
        options.side = Some(Side { network: "/proc/1/ns/net".into(), user: None });
        assert_eq!(SupervisorOptions::from_arguments(options.to_arguments()), Ok(options.clone()));
        options.side = Some(Side { network: "/proc/1/ns/net".into(), user: Some("/proc/1/ns/user".into()) });
        options.grace = Duration::from_millis(7);
        options.log_limit_bytes = 5;
        options.processes = 9;
        options.group = vec!["/sys/fs/cgroup/a b".into(), "/sys/fs/cgroup/pids/x".into()];
        let options = options.with_part(Part::Launcher);
        assert_eq!(SupervisorOptions::from_arguments(options.to_arguments()), Ok(options));
    }

    #[test]
    fn strange_arguments_are_refused() {
        let of = |words: &[&str]| SupervisorOptions::from_arguments(words.iter().map(OsString::from));
        assert_eq!(of(&["--log", "x"]), Err(OptionError::Missing("a command after --")));
        assert_eq!(of(&["--", "x"]), Err(OptionError::Missing("--log FILE")));
        assert_eq!(of(&["--lag", "x"]), Err(OptionError::Bad("--lag".into())));
        assert_eq!(of(&["--cpus", "x", "--", "y"]), Err(OptionError::Bad("--cpus".into())));
        assert_eq!(of(&["--user", "x", "--", "y"]), Err(OptionError::Bad("--user".into())));
        assert_eq!(of(&["--log"]), Err(OptionError::Bad("--log".into())));
    }
}
