//! The process of a contender: started on a free port with a scratch folder, on the network that it is to serve.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;

use assay_link::Link;
use assay_model::contender::Run;
use assay_model::record::{NotRun, Stage};

use super::Purpose;
use super::StartOrder;
use super::container;
use super::environment::{Environment, Told};
use super::port;
use super::server_process::ServerProcess;
use crate::clean::scratch_in;
use crate::secrets::Secrets;
use crate::stack::{self, Ends};
use crate::subject::Process;
use crate::supervisor::{Supervised, SupervisorOptions, tail_of_death};
use crate::tls::{SET_UP_TLS, WITHOUT_TLS, served};

/// Most bytes of a server's log that are kept, each round.
pub(super) const LOG_BYTES: u64 = 256 << 10;
/// Lines of a log that go into the record.
const TAIL_LINES: usize = 15;

/// The variable that names a file in which a server may count its requests, as ours does, and that file's name.
const REQUESTS_VARIABLE: &str = "ASSAY_REQUEST_COUNT";
const REQUESTS: &str = "requests";

/// What was started and must be stopped.
pub(super) struct Held {
    pub(super) process: ServerProcess,
    pub(super) log: PathBuf,
    /// The address at which it is asked.
    pub(super) address: String,
    pub(super) port: u16,
    /// The wire, where it is served by the user-space stack.
    pub(super) ends: Option<Ends>,
    pub(super) first: FirstProcess,
    /// The folder into which it may write.
    pub(super) scratch: PathBuf,
    /// The file in which it tells how many requests it has received, if it does.
    pub(super) requests: PathBuf,
    secrets: Secrets,
}

/// Below which process everything is that serves.
#[derive(Clone, Copy)]
pub(super) enum FirstProcess {
    /// The one that was started.
    Started,
    /// The first in a container, once it is known.
    Contained(Option<u32>),
}

impl Held {
    /// What has just been started on the kernel's stack for `order`, with its folder `scratch`.
    pub(super) fn new(
        process: ServerProcess,
        order: &StartOrder<'_>,
        port: u16,
        address: String,
        first: FirstProcess,
        scratch: PathBuf,
    ) -> Self {
        let (log, secrets) = (order.log.clone(), order.tools.secrets.clone());
        let requests = scratch.join(REQUESTS);
        Self { process, log, address, port, ends: None, first, scratch, requests, secrets }
    }

    /// All processes that may hold the server's sockets.
    pub(super) fn processes(&self) -> Vec<u32> {
        let contained = match self.first {
            FirstProcess::Contained(Some(first)) => container::tree(first),
            FirstProcess::Contained(None) | FirstProcess::Started => Vec::new(),
        };
        [self.process.processes(), contained].concat()
    }

    /// The end of its log.
    pub(super) fn tail(&self) -> Vec<String> {
        self.process.fetch_log();
        tail_of_death(&self.log, TAIL_LINES, &self.secrets)
    }

    /// Where it is asked: `host:port`.
    pub(super) fn authority(&self) -> String {
        match self.address.parse() {
            Ok(address) => SocketAddr::new(address, self.port).to_string(),
            Err(_) => format!("{}:{}", self.address, self.port),
        }
    }

    /// What shows that it does not use the user-space stack that it was put on, if something does: it listens on a port of
    /// the kernel's.
    pub(super) fn outside_the_stack(&self) -> Option<NotRun> {
        self.ends.as_ref()?;
        let processes = self.process.processes();
        let port = *port::ports_of(&processes).first()?;
        let file = |pid: &u32| PathBuf::from(format!("/proc/{pid}/exe"));
        let obstacle = processes.iter().find_map(|pid| stack::obstacle(&file(pid)).ok().flatten());
        let why = obstacle.map_or_else(
            || format!("it listens on the kernel's port {port}: its calls do not reach the preload library"),
            |obstacle| obstacle.to_string(),
        );
        Some(NotRun {
            stage: Stage::Needs,
            reason: why,
            remedy: Some("measure it on the kernel's stack".to_owned()),
            log_tail: self.tail(),
        })
    }
}

fn address(ends: Option<&Ends>, link: &Link) -> String {
    ends.map_or_else(|| link.server_address().to_string(), |ends| ends.server_address().to_owned())
}

/// How it is started, with what it is told of a stack of its own and of TLS.
pub(super) fn with_arguments(
    run: &Run,
    is_on_user_stack: bool,
    order: &StartOrder<'_>,
) -> Result<Run, NotRun> {
    let mut run = run.clone();
    if is_on_user_stack {
        run.command.extend_from_slice(&run.stack_arguments);
    }
    if order.tls.is_some() {
        run.command.extend_from_slice(run.tls_arguments.as_ref().ok_or_else(|| without_tls(order))?);
    }
    Ok(run)
}

/// Why one that is not set up for TLS is not run over it.
fn without_tls(order: &StartOrder<'_>) -> NotRun {
    failure(order, WITHOUT_TLS.to_owned(), SET_UP_TLS)
}

/// Starts the process of a contender on a free port with a scratch folder, before the server at `upstream` if it is a proxy.
pub(super) fn launch(
    process: &Process,
    order: &StartOrder<'_>,
    upstream: Option<&str>,
) -> Result<Held, NotRun> {
    let failed = |reason: String, remedy: &str| failure(order, reason, remedy);
    let port = port::free(order.link, process.port)
        .map_err(|problem| failed(problem, "end the program that uses it, or choose another port"))?;
    let scratch = scratch_in(&std::env::temp_dir());
    let ends = order.user.and_then(|user| Ends::of(user.network, order.link, user.queues));
    let cpus = order.cpus;
    let tls = order.tls.map(|tls| served(&tls.folder));
    let environment = Environment::new(&Told {
        address: &address(ends.as_ref(), order.link),
        port,
        cpus: &cpus.to_string(),
        workers: order.user.map_or(cpus.len(), |user| user.queues.into()),
        scratch: &scratch,
        tools: order.tools,
        database: order.database.map(|access| (access.kind, access.url.as_str())),
        stack: ends.as_ref().map(|ends| &ends.server),
        tls: tls.as_ref().map(|(certificate, key)| (&**certificate, &**key)),
        protocol: Some(order.protocol),
        upstream,
    });
    let run = with_arguments(&process.run, ends.is_some(), order)?;
    let (command, variables) =
        environment.launching(&run).map_err(|error| failed(error.to_string(), "mend contender.toml"))?;
    let mut options = SupervisorOptions::new(order.log.clone(), command);
    options.cpus = Some(cpus.clone());
    options.log_limit_bytes = LOG_BYTES;
    options.scratch =
        std::iter::once(&scratch).chain(ends.as_ref().map(|ends| &ends.shared)).cloned().collect();
    options.side = order.link.server_side();
    if process.container.is_some() {
        options.grace = container::GRACE;
    }
    let requests = scratch.join(REQUESTS);
    options.variables.push(joined((REQUESTS_VARIABLE.into(), requests.clone().into())));
    if let Some(ends) = &ends {
        options.variables.push(joined((stack::STATS_VARIABLE.into(), ends.stats_page().into())));
    }
    let variables = [process.inherited.variables(Purpose::Serving), variables].concat();
    if let Some(ends) = ends.as_ref().filter(|_| process.run.stack_arguments.is_empty()) {
        check_program(&options.command, process, order)?;
        let others =
            variables.iter().rfind(|(name, _)| name == "LD_PRELOAD").map(|(_, list)| list.as_os_str());
        options.variables.extend(preloading(order, others, ends)?);
    }
    let supervised = Supervised::start(&order.tools.assay, &options, &process.folder, variables)
        .map_err(|error| failed(error.to_string(), "mend the command, or install what it needs"))?;
    let address = address(ends.as_ref(), order.link);
    let held =
        Held::new(ServerProcess::Here(supervised), order, port, address, FirstProcess::Started, scratch);
    Ok(Held { ends, ..held })
}

/// Refuses what a preload library cannot carry before it is started: on addresses that the kernel does not have it would end
/// with a message of its own that nobody understands.
fn check_program(command: &[OsString], process: &Process, order: &StartOrder<'_>) -> Result<(), NotRun> {
    let find = |name| stack::find_program(name, &process.folder, std::env::var_os("PATH").as_deref());
    let obstacle = command.first().and_then(|name| stack::obstacle(&find(name)?).ok().flatten());
    obstacle.map_or(Ok(()), |obstacle| Err(refusal(order, obstacle.to_string())))
}

fn refusal(order: &StartOrder<'_>, reason: String) -> NotRun {
    NotRun { stage: Stage::Needs, ..failure(order, reason, "measure it on the kernel's stack") }
}

/// The variables that put a program that knows nothing of it on the user-space stack.
fn preloading(order: &StartOrder<'_>, others: Option<&OsStr>, ends: &Ends) -> Result<Vec<OsString>, NotRun> {
    let queues = order.user.map_or(1, |user| user.queues);
    let absent =
        |problem: String| NotRun { stage: Stage::Needs, ..failure(order, problem, stack::LIBRARY_REMEDY) };
    let library = match &order.tools.preload {
        Some(library) => library.clone(),
        None => stack::library(&order.tools.assay).map_err(absent)?,
    };
    Ok(stack::variables(&library, others, &ends.server, queues).into_iter().map(joined).collect())
}

fn joined((name, value): (OsString, OsString)) -> OsString {
    let mut both = name;
    both.push("=");
    both.push(value);
    both
}

pub(super) fn failure(order: &StartOrder<'_>, reason: String, remedy: &str) -> NotRun {
    NotRun {
        stage: Stage::Start,
        reason,
        remedy: Some(remedy.to_owned()),
        log_tail: tail_of_death(&order.log, TAIL_LINES, &order.tools.secrets),
    }
}
