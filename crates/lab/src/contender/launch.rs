//! The process of a contender: started on its host, on a free port with a scratch folder, on the network that it is to serve.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use assay_model::contender::ServerCommand;
use assay_model::record::{NotRun, Stage};

use super::StartOrder;
use super::container;
use super::environment::{Environment, Told};
use crate::access::Access;
use crate::host_error::HostError;
use crate::hosts::host::{Job, JobSurroundings};
use crate::inherited::Purpose;
use crate::port;
use crate::secrets::Secrets;
use crate::stack::{self, Ends};
use crate::subject::Process;
use crate::supervisor::{SupervisorOptions, tail_of_death};
use crate::tls::{SET_UP_TLS, WITHOUT_TLS, served};

/// Most bytes of a server's log that are kept, each round.
const LOG_BYTES: u64 = 256 << 10;
/// Lines of a log that go into the record.
const TAIL_LINES: usize = 15;

/// What remains to whoever cannot use the user-space stack.
const ON_THE_KERNELS: &str = "measure it on the kernel's stack";

/// The variable that names a file in which a server may count its requests, as ours does, and that file's name.
const REQUESTS_VARIABLE: &str = "ASSAY_REQUEST_COUNT";
const REQUESTS: &str = "requests";

/// What was started and must be stopped.
pub(super) struct Held {
    pub(super) job: Job,
    pub(super) log: PathBuf,
    /// The address at which it is asked.
    address: String,
    pub(super) port: u16,
    /// The wire, where it is served by the user-space stack.
    pub(super) ends: Option<Ends>,
    /// The folder into which it may write.
    pub(super) scratch: PathBuf,
    /// The file in which it tells how many requests it has received, if it does.
    pub(super) requests: PathBuf,
    /// Whether an engine runs it in a container.
    pub(super) is_contained: bool,
    secrets: Secrets,
}

impl Held {
    /// The end of its log.
    pub(super) fn tail(&self) -> Vec<String> {
        self.job.fetch_log();
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
        let listening = *self.job.addresses().first()?;
        let file = |pid: &u32| PathBuf::from(format!("/proc/{pid}/exe"));
        let obstacle = self.job.processes().iter().find_map(|pid| stack::obstacle(&file(pid)).ok().flatten());
        let (reason, remedy) = match obstacle {
            Some(obstacle) => (obstacle.to_string(), ON_THE_KERNELS.to_owned()),
            None => left_to_the_kernel(listening, &self.address),
        };
        Some(NotRun { stage: Stage::Needs, reason, remedy: Some(remedy), log_tail: self.tail() })
    }
}

/// Why a program that can use the stack listens at the kernel's, and what would change that.
fn left_to_the_kernel(listening: SocketAddr, address: &str) -> (String, String) {
    match listening.ip().to_canonical().is_loopback() {
        true => (
            format!("it listens at {listening}, and loopback stays the kernel's"),
            format!(
                "have it listen at $ADDRESS, which is {address}, or at all addresses; or {ON_THE_KERNELS}"
            ),
        ),
        false => (
            format!(
                "it listens on the kernel's port {}: its calls do not reach the preload library",
                listening.port()
            ),
            ON_THE_KERNELS.to_owned(),
        ),
    }
}

/// How it is started, with what it is told of a stack of its own and of TLS; a container from the image that was built for the run.
fn with_arguments(
    process: &Process,
    is_on_user_stack: bool,
    order: &StartOrder<'_>,
) -> Result<ServerCommand, NotRun> {
    let mut run = ServerCommand { command: process.command(), ..process.run.clone() };
    if let Some(container) = &process.container
        && let Some(id) = order.host.image(&process.folder, &container.image)
    {
        container::start_from(container, &mut run.command, id);
    }
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
    if let Some(unfit) = unfit_for_its_host(order) {
        return Err(unfit);
    }
    let (host, wanted) = (order.host, &mut || !order.stop.is_immediate());
    let failed = |reason: String, remedy: &str| failure(order, reason, remedy);
    let lost =
        |error: HostError| failed(error.to_string(), &error.remedy().unwrap_or_else(|| mend_command(order)));
    let taken = |error: HostError| {
        let problem = error.to_string();
        let remedy = error.remedy().unwrap_or_else(|| port::remedy(&problem).to_owned());
        failed(problem, &remedy)
    };
    let port = host.free_port(order.link, process.port).map_err(taken)?;
    let scratch = host.scratch();
    let ends = order.user.and_then(|user| Ends::of(user.network, order.link, user.queues));
    let address = ends
        .as_ref()
        .map_or_else(|| host.address(order.link).to_string(), |ends| ends.server_address().to_owned());
    let tls = order.tls.map(|tls| host.bring(&tls.folder, wanted)).transpose().map_err(lost)?;
    let tls = tls.map(|folder| served(&folder));
    let cpus = host.cpus().unwrap_or(order.cpus);
    let environment = Environment::new(&Told {
        address: &address,
        port,
        cpus: &cpus.to_string(),
        workers: order.user.map_or(cpus.len(), |user| user.queues.into()),
        scratch: &scratch,
        tools: host.tools(),
        database: order.database.map(|access| (access.kind, access.url.as_str())),
        stack: ends.as_ref().map(|ends| &ends.server),
        tls: tls.as_ref().map(|(certificate, key)| (&**certificate, &**key)),
        protocol: Some(order.protocol),
        upstream,
    });
    let run = with_arguments(process, ends.is_some(), order)?;
    let (command, variables) =
        environment.launching(&run).map_err(|error| failed(error.to_string(), "mend contender.toml"))?;
    let job = host.new_job(&order.log);
    let mut options = SupervisorOptions::new(job.log.clone(), command);
    options.cpus = Some(cpus.clone());
    options.log_limit_bytes = LOG_BYTES;
    options.scratch =
        std::iter::once(&scratch).chain(ends.as_ref().map(|ends| &ends.shared)).cloned().collect();
    options.side = order.link.server_side();
    let is_contained = process.container.is_some();
    if is_contained {
        options.grace = container::GRACE;
    }
    let requests = scratch.join(REQUESTS);
    options.variables.push(joined((REQUESTS_VARIABLE.into(), requests.clone().into())));
    if let Some(ends) = &ends {
        options.variables.extend(of_the_stack(&options.command, process, order, &variables, ends)?);
    }
    let folder = host.bring(&process.folder, wanted).map_err(lost)?;
    let around =
        JobSurroundings { folder: &folder, inherited: &process.inherited, is_building: false, variables };
    let job = host.start(job, &options, around).map_err(lost)?;
    let (log, secrets) = (order.log.clone(), order.tools.secrets.clone());
    Ok(Held { job, log, address, port, ends, scratch, requests, is_contained, secrets })
}

/// What mends a command that does not start.
fn mend_command(order: &StartOrder<'_>) -> String {
    let there = if order.host.is_remote() { format!(" on {}", order.host.name()) } else { String::new() };
    format!("mend the command, or install what it needs{there}")
}

/// What servers of this host alone can have so far.
fn unfit_for_its_host(order: &StartOrder<'_>) -> Option<NotRun> {
    if !order.host.is_remote() {
        return None;
    }
    // One of our own on this host listens there alone; others are where their URL says.
    let is_only_here = |access: &Access| access.seen.as_ref().is_some_and(|job| !job.host().is_remote());
    let leave_out = "leave it out, or leave --server out";
    let start_one = "give a host of the lab the role database, or start one that both hosts reach, and name it with --database URL";
    let reasons = [
        (order.user.is_some(), "it is to be on the user-space stack", leave_out),
        (order.database.is_some_and(is_only_here), "it needs a database that assay starts", start_one),
    ];
    let (_, what, remedy) = reasons.into_iter().find(|(is_so, ..)| *is_so)?;
    Some(NotRun {
        stage: Stage::Needs,
        reason: format!("{what}, which a server on another host ({}) cannot have yet", order.host.name()),
        remedy: Some(remedy.to_owned()),
        log_tail: Vec::new(),
    })
}

/// The variables of a server on the user-space stack, beside those that it is `given` anyway: one that knows nothing of that stack is
/// preloaded.
fn of_the_stack(
    command: &[OsString],
    process: &Process,
    order: &StartOrder<'_>,
    given: &[(OsString, OsString)],
    ends: &Ends,
) -> Result<Vec<OsString>, NotRun> {
    let mut variables = vec![joined((stack::STATS_VARIABLE.into(), ends.stats_page().into()))];
    if process.run.stack_arguments.is_empty() {
        check_program(command, process, order)?;
        variables.extend(preloading(process, order, given, ends)?);
    }
    Ok(variables)
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

/// The variables that put a program that knows nothing of it on the user-space stack, beside those that it is given anyway.
fn preloading(
    process: &Process,
    order: &StartOrder<'_>,
    given: &[(OsString, OsString)],
    ends: &Ends,
) -> Result<Vec<OsString>, NotRun> {
    let queues = order.user.map_or(1, |user| user.queues);
    let absent =
        |problem: String| NotRun { stage: Stage::Needs, ..failure(order, problem, stack::LIBRARY_REMEDY) };
    let library = match &order.tools.preload {
        Some(library) => library.clone(),
        None => stack::library(&order.tools.assay).map_err(absent)?,
    };
    let inherited = process.inherited.variables(Purpose::Serving);
    let others = inherited.iter().chain(given).rfind(|(name, _)| name == "LD_PRELOAD");
    let others = others.map(|(_, list)| list.as_os_str());
    Ok(stack::variables(&library, others, &ends.server, queues).into_iter().map(joined).collect())
}

fn joined((name, value): (OsString, OsString)) -> OsString {
    let mut both = name;
    both.push("=");
    both.push(value);
    both
}

fn failure(order: &StartOrder<'_>, reason: String, remedy: &str) -> NotRun {
    NotRun {
        stage: Stage::Start,
        reason,
        remedy: Some(remedy.to_owned()),
        log_tail: tail_of_death(&order.log, TAIL_LINES, &order.tools.secrets),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_on_loopback_is_told_where_to_listen_on_the_wire() {
        let told = |at: &str| left_to_the_kernel(at.parse().expect("an address"), "10.77.0.2");
        let (reason, remedy) = told("127.0.0.1:8080");
        assert_eq!(reason, "it listens at 127.0.0.1:8080, and loopback stays the kernel's");
        assert!(remedy.contains("$ADDRESS, which is 10.77.0.2"), "{remedy}");
        assert_eq!(told("[::1]:8080").1, remedy);
        let (reason, remedy) = told("0.0.0.0:8080");
        assert!(reason.ends_with("port 8080: its calls do not reach the preload library"), "{reason}");
        assert_eq!(remedy, ON_THE_KERNELS);
    }
}
