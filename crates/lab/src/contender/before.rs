//! What workloads want to be run before them, once a server is ready: a command whose output — a token, a cookie — stands in
//! the requests (WORKLOADS.md, "A token or a cookie").

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use assay_link::Link;
use assay_model::record::{NotRun, Stage};
use assay_model::template::is_name;
use assay_model::workload::Workload;

use super::{NOT_FOUND, Tools};
use crate::inherited::{Inherited, Purpose};
use crate::pipe::Pipe;
use crate::scratch;
use crate::stop::Stop;
use crate::supervisor::{Bounded, SupervisorOptions, run_bounded, said_in_the_end};
use crate::url::Scheme;

/// Longest time that the command may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Most bytes that it may print.
const MAX_PRINTED_BYTES: u64 = 64 << 10;
/// Most bytes of its error output that are looked at.
const MAX_LOG_BYTES: u64 = 64 << 10;
/// Lines of that which are shown.
const TAIL_LINES: usize = 15;
/// Longest wait for the end of its output when all of it has ended.
const END_PATIENCE: Duration = Duration::from_secs(2);
const MEND: &str = "mend the command; it finds the server at $URL, and its port in $PORT";

/// What a command printed: values by their names.
type Values = BTreeMap<String, String>;

/// Runs the commands of workloads, and remembers what it cost a server that nobody restarts to give.
#[derive(Debug, Default)]
pub struct Commands {
    /// The one that was typed; it keeps the environment of whoever typed it.
    typed: Option<String>,
    /// What commands printed, by server and command.
    of_running: RefCell<BTreeMap<(String, String), Values>>,
}

/// Where commands are run.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Our own program, and what must not be repeated.
    pub tools: &'a Tools,
    /// What joins server and generator; commands are run on the generator's side.
    pub link: &'a Link,
    /// A person's wish.
    pub stop: &'a Stop,
}

/// A server that is ready.
#[derive(Clone, Copy)]
pub struct Ready<'a> {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// `host:port`.
    pub authority: &'a str,
    /// Whether it was running before, so that what it gave stays good.
    pub was_running: bool,
}

impl Commands {
    /// Knows which command was typed, if one was.
    pub fn new(typed: Option<&str>) -> Self {
        Self { typed: typed.map(str::to_owned), ..Self::default() }
    }

    /// The workloads as `server` is to be asked for them: each command is run once for all of them, and for a server that was
    /// running before once for ever.
    ///
    /// # Errors
    /// A command that fails, or does not print what the requests need.
    pub fn fill(
        &self,
        workloads: Vec<Workload>,
        server: Ready<'_>,
        around: Surroundings<'_>,
    ) -> Result<Vec<Workload>, NotRun> {
        let mut printed: BTreeMap<String, Values> = BTreeMap::new();
        let mut fill = |workload: Workload| {
            let Some(command) = workload.before.clone() else { return Ok(workload) };
            if !printed.contains_key(&command) {
                printed.insert(command.clone(), self.printed(&command, &workload.folder, server, around)?);
            }
            filled(&workload, &printed[&command])
        };
        workloads.into_iter().map(&mut fill).collect()
    }

    fn printed(
        &self,
        command: &str,
        folder: &Path,
        server: Ready<'_>,
        around: Surroundings<'_>,
    ) -> Result<Values, NotRun> {
        let key = (server.authority.to_owned(), command.to_owned());
        if let Some(known) = self.of_running.borrow().get(&key).filter(|_| server.was_running) {
            return Ok(known.clone());
        }
        let is_typed = self.typed.as_deref() == Some(command);
        let inherited = if is_typed { Inherited::All } else { Inherited::LEAST };
        let values = Execution { command, folder, inherited, server, around }.values()?;
        if server.was_running {
            self.of_running.borrow_mut().insert(key, values.clone());
        }
        Ok(values)
    }
}

fn filled(workload: &Workload, values: &Values) -> Result<Workload, NotRun> {
    let missing: Vec<String> =
        workload.variables().into_iter().filter(|name| !values.contains_key(name)).collect();
    let Some(first) = missing.first() else { return Ok(workload.with_values(values)) };
    let printed: Vec<&str> = values.keys().map(String::as_str).collect();
    let printed = if printed.is_empty() { "nothing".to_owned() } else { printed.join(", ") };
    Err(NotRun {
        stage: Stage::Start,
        reason: format!(
            "the requests need {}; the command before the load printed {printed}",
            missing.join(", ")
        ),
        remedy: Some(format!("let it print a line {first}=VALUE on standard output")),
        log_tail: Vec::new(),
    })
}

/// What came of a command.
struct CommandOutput {
    how: Bounded,
    /// The beginning of what it printed.
    printed: String,
    /// What it said of errors.
    said: String,
}

/// A command that is to be run.
struct Execution<'a> {
    command: &'a str,
    folder: &'a Path,
    inherited: Inherited,
    server: Ready<'a>,
    around: Surroundings<'a>,
}

impl Execution<'_> {
    /// Runs it to its end; all that it started is gone then, and what it printed is a secret.
    fn values(&self) -> Result<Values, NotRun> {
        let CommandOutput { how, printed, said } = self.run().map_err(|problem| self.failed(problem, ""))?;
        let (values, fault) = read(&printed);
        self.around.tools.secrets.learn(values.iter().map(|(name, value)| (value.clone(), name.clone())));
        let problem = match how {
            Bounded::Ended(ended) if ended.code == Some(NOT_FOUND) => Some("was not found".to_owned()),
            Bounded::Ended(ended) if ended.code != Some(0) => Some(format!("ended with {ended}")),
            Bounded::Ended(_) => fault,
            Bounded::TimedOut => Some(format!("took longer than {} s", TIMEOUT.as_secs())),
            Bounded::Stopped => Some("was interrupted".to_owned()),
        };
        problem.map_or(Ok(values), |problem| Err(self.failed(problem, &said)))
    }

    /// Runs it in a folder of pipes alone: what it prints is on no disk, and the folder goes with its supervisor, whoever is killed.
    fn run(&self) -> Result<CommandOutput, String> {
        let broken = |error: std::io::Error| format!("has no pipe: {error}");
        let folder = scratch::temporary().map_err(broken)?;
        let [output, log] = ["printed", "log"].map(|name| Pipe::new(folder.path().join(name)));
        let ours = [output.both_ends().map_err(broken)?, log.both_ends().map_err(broken)?];
        let printed = beginning(output.reader().map_err(broken)?, MAX_PRINTED_BYTES);
        let said = beginning(log.reader().map_err(broken)?, MAX_LOG_BYTES);
        let command = ["sh", "-c", self.command].map(OsString::from).to_vec();
        let mut options = SupervisorOptions::new(log.path.clone(), command);
        options.log_limit_bytes = MAX_LOG_BYTES;
        options.stdout = Some(output.path.clone());
        options.scratch = vec![folder.path().to_owned()];
        options.side = self.around.link.generator_side();
        let Surroundings { tools, stop, .. } = self.around;
        let beside = if self.folder.as_os_str().is_empty() { Path::new(".") } else { self.folder };
        let mut wanted = || !stop.is_immediate();
        let how = run_bounded(&tools.assay, &options, beside, self.variables(), TIMEOUT, &mut wanted);
        // From here on nobody holds the other ends, and the readers find an end.
        drop(ours);
        let how = how.map_err(|error| format!("could not be run: {error}"))?;
        let [printed, said] = [printed, said].map(|from| from.recv_timeout(END_PATIENCE).unwrap_or_default());
        Ok(CommandOutput { how, printed, said })
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let Ready { scheme, authority, .. } = self.server;
        let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
        let own = [("URL", format!("{}://{authority}", scheme.name())), ("PORT", port.to_owned())];
        let own = own.map(|(name, value)| (name.into(), value.into())).to_vec();
        [self.inherited.variables(Purpose::Serving), own].concat()
    }

    fn failed(&self, problem: String, said: &str) -> NotRun {
        let secrets = &self.around.tools.secrets;
        NotRun {
            stage: Stage::Start,
            reason: format!("the command before the load {problem}"),
            remedy: Some(MEND.to_owned()),
            log_tail: said_in_the_end(said, TAIL_LINES, secrets),
        }
    }
}

/// Reads to the end and tells the beginning, at most a byte more than so many, so that a talkative program never blocks and takes no
/// memory.
fn beginning(from: File, bytes: u64) -> Receiver<String> {
    let (told, text) = channel();
    std::thread::spawn(move || {
        let mut from = from.take(bytes + 1);
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = std::io::copy(&mut from.into_inner(), &mut std::io::sink());
        told.send(String::from_utf8_lossy(&bytes).into_owned())
    });
    text
}

/// The lines that give a name a value, and what is wrong with the first other one, told without repeating it.
fn read(printed: &str) -> (Values, Option<String>) {
    let mut values = Values::new();
    let mut fault = None;
    if printed.len() as u64 > MAX_PRINTED_BYTES {
        fault = Some(format!("printed more than {} KiB", MAX_PRINTED_BYTES >> 10));
    }
    for (number, line) in (1..).zip(printed.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: &str| Some(format!("printed {what} on line {number} of standard output"));
        match line.split_once('=').filter(|(name, _)| is_name(name)) {
            None => fault = fault.or_else(|| wrong("something other than NAME=VALUE")),
            Some((_, value)) if value.chars().any(char::is_control) => {
                fault = fault.or_else(|| wrong("a control character"));
            }
            // It would make something else of the placeholder behind it.
            Some((_, value)) if value.ends_with('$') => fault = fault.or_else(|| wrong("a `$` at the end")),
            Some((name, value)) => {
                values.insert(name.to_owned(), value.to_owned());
            }
        }
    }
    (values, fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_give_names_their_values_and_others_are_told_by_their_number_alone() {
        let (values, fault) = read("token=a=b c\r\n\nUSER_1=\n");
        assert!(
            values.into_iter().eq([("USER_1", ""), ("token", "a=b c")].map(|(n, v)| (n.into(), v.into())))
        );
        assert_eq!(fault, None);
        for (printed, words) in [
            ("a=1\nhush-hush", "NAME=VALUE on line 2"),
            ("1a=hush-hush", "NAME=VALUE on line 1"),
            ("sequence=hush-hush", "NAME=VALUE on line 1"),
            ("a=hush-hush\x1b[2J", "a control character on line 1"),
            ("a=hush-hush$", "a `$` at the end on line 1"),
        ] {
            let fault = read(printed).1.expect(printed);
            assert!(fault.contains(words) && !fault.contains("hush"), "{fault}");
        }
        let long = format!("a=1\nb={}", "x".repeat(MAX_PRINTED_BYTES as usize));
        assert_eq!(read(&long).1.as_deref(), Some("printed more than 64 KiB"));
    }

    #[test]
    fn what_is_needed_and_not_printed_is_named() {
        let request = assay_model::workload::RequestKind::get("/${a}/${b}");
        let workload =
            Workload { before: Some(String::new()), requests: vec![request], ..Workload::default() };
        let values = Values::from([("b".to_owned(), "1".to_owned()), ("c".to_owned(), "2".to_owned())]);
        let reason = filled(&workload, &values).expect_err("a is missing").reason;
        assert_eq!(reason, "the requests need a; the command before the load printed b, c");
    }
}
