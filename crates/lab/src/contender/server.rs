//! A running server: started under a supervisor and found ready, or found running; stopped without a trace.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use assay_host::names;
use assay_link::Link;
use assay_model::experiment::Protocol;
use assay_model::load::StackCounts;
use assay_model::record::{NotRun, Stage};
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_model::workload::{RequestKind, Workload};

use super::before::{Ready, Surroundings};
use super::container;
use super::launch::{Held, launch};
use super::probe::{self, USER_START_TIMEOUT, answer_timeout};
use super::ready::Readiness;
use super::{NOT_FOUND, StartOrder, upstream};
use crate::hosts::host::{Host, JobHandle};
use crate::port::{self, Listener};
use crate::running;
use crate::stack::UserEnd;
use crate::subject::{Launch, Process, Subject};
use crate::supervisor::Ended;
use crate::url::Scheme;

/// Time between two looks while it starts: short at first, because it is part of the start-up time that is reported.
const FIRST_POLL: Duration = Duration::from_millis(1);
const LAST_POLL: Duration = Duration::from_millis(20);
/// How long a server may listen on other ports only. One that opens its own last is rare, and one that was told of no port common: who
/// waits for it is told within two seconds.
const OTHER_PORT_PATIENCE: Duration = Duration::from_millis(1250);
/// Time between two looks at its ports, which read every descriptor of its processes and so take CPU time from its start.
const OTHER_PORT_LOOK: Duration = Duration::from_millis(250);
/// How long the news of a server's end may take to reach us.
const END_PATIENCE: Duration = Duration::from_millis(200);
/// Longest wait until a port is free when its last process has gone: what an io_uring held of it, the kernel closes only when it
/// takes the ring down, which is behind the process's end (io_uring.c, io_ring_exit_work) and takes long with many requests.
const PORT_PATIENCE: Duration = Duration::from_secs(5);

/// A server that has answered every kind of request rightly. Dropping it stops what was started.
pub(crate) struct Server {
    /// `host:port`.
    pub authority: String,
    /// From start to the first right answer; zero when it was running already.
    pub startup_ns: Nanos,
    /// Where it lives; this host for one that runs already.
    host: Host,
    held: Option<Held>,
    /// What a proxy forwards to. Stopped after it.
    upstream: Option<Box<Server>>,
    /// What its processes are looked at through, whoever started them; absent where they cannot be seen.
    seen: Option<JobHandle>,
    /// What it is asked for, with all that commands printed for this very server.
    workloads: Vec<Workload>,
}

impl Server {
    /// Starts the subject, waits until it is ready, has run what its workloads want before them, and asks it everything once.
    pub(crate) fn start(subject: &Subject, order: &StartOrder<'_>) -> Result<Self, NotRun> {
        match &subject.launch {
            Launch::Running { authority, .. } => {
                let mut server = Self::at(authority.clone(), order.host);
                server.seen = running::find(authority).ok().and_then(|found| order.host.adopt(found.roots));
                server.await_ready(&Readiness::at_once(&order.workloads), order)?;
                server.run_commands(order)?;
                server.check_answers(order)?;
                Ok(server)
            }
            Launch::Process(process) => {
                let upstream = Self::behind(subject, order)?;
                let behind = upstream.as_ref().map(|upstream| &*upstream.authority);
                let held = launch(process, order, behind)?;
                let started = Instant::now();
                let seen = Some(held.job.handle());
                let at = Self::at(held.authority(), order.host);
                let mut server = Self { upstream, held: Some(held), seen, ..at };
                server.await_ready(&Readiness::of(process, &order.workloads), order)?;
                server.startup_ns = started.elapsed().into();
                server.look_into_container(process, order);
                server.check_owner()?;
                server.run_commands(order)?;
                server.check_answers(order)?;
                Ok(server)
            }
        }
    }

    fn at(authority: String, host: &Host) -> Self {
        Self {
            authority,
            startup_ns: Nanos::ZERO,
            host: host.clone(),
            held: None,
            upstream: None,
            seen: None,
            workloads: Vec::new(),
        }
    }

    /// The upstream of a proxy, ready before it: in plain HTTP over the kernel's TCP, on the proxy's side of the link.
    fn behind(subject: &Subject, order: &StartOrder<'_>) -> Result<Option<Box<Self>>, NotRun> {
        if !subject.is_proxy() {
            return Ok(None);
        }
        let upstream = order.upstream.ok_or_else(upstream::missing)?;
        let mut workloads = order.workloads.clone();
        // No command of the user's gets a token of the reference server.
        workloads.retain(|workload| workload.before.is_none());
        let order = StartOrder {
            cpus: &upstream.place.cpus,
            tls: None,
            client: None,
            log: order.log.with_extension("upstream.log"),
            database: None,
            upstream: None,
            protocol: Protocol::H1,
            workloads,
            ..order.clone()
        };
        let server = Self::start(&upstream.subject, &order).map_err(upstream::failed)?;
        Ok(Some(Box::new(server)))
    }

    /// The server behind a proxy.
    pub(crate) fn upstream(&self) -> Option<&Self> {
        self.upstream.as_deref()
    }

    /// What it is asked for: the workloads of its order, with all that commands printed for it.
    pub(crate) fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    fn run_commands(&mut self, order: &StartOrder<'_>) -> Result<(), NotRun> {
        let was_running = self.held.is_none();
        let ready =
            Ready { scheme: Scheme::of(order.client.is_some()), authority: &self.authority, was_running };
        let around = Surroundings { tools: order.tools, link: order.link, stop: order.stop };
        let filled = order.commands.fill(order.workloads.clone(), ready, around);
        // If the server died, a command that failed at it is not to blame.
        self.workloads = filled.map_err(|problem| self.suspected_death(Stage::Start).unwrap_or(problem))?;
        Ok(())
    }

    /// The first process of the server, by its number on its host; `None` when somebody else runs it.
    pub(crate) fn pid(&self) -> Option<u32> {
        Some(self.held.as_ref()?.job.pid())
    }

    /// Where it lives.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// What its processes are looked at through, whoever runs them; `None` where they cannot be seen.
    pub(crate) fn seen(&self) -> Option<&JobHandle> {
        self.seen.as_ref()
    }

    /// What it has used since its start; `None` where its processes cannot be seen, or somebody else runs it.
    pub(crate) fn used(&self) -> Option<Usage> {
        self.held.as_ref().and(self.seen.as_ref())?.used()
    }

    /// Whether assay started it, so that it can be replaced by a fresh one whose processes are known.
    pub(crate) fn is_own(&self) -> bool {
        self.held.is_some() && self.seen.is_some()
    }

    /// Finds out which processes are the server's, where it runs in a container.
    fn look_into_container(&mut self, process: &Process, order: &StartOrder<'_>) {
        let (Some(held), Some(container)) = (&self.held, &process.container) else { return };
        match container::first_process(container, process, &held.scratch, order) {
            Some(first) => held.job.look_at(vec![first]),
            None => self.seen = None,
        }
    }

    /// What its own stack has counted so far; `None` where the kernel's works, or it does not tell.
    pub(crate) fn stack_counts(&self) -> Option<StackCounts> {
        self.held.as_ref()?.ends.as_ref()?.server_counts()
    }

    /// How many requests it has received, by its own account; `None` where it does not tell.
    pub(crate) fn requests_counted(&self) -> Option<u64> {
        self.host.requests_counted(&self.held.as_ref()?.requests)
    }

    /// The generator's end of the wire, where it is served by the user-space stack.
    pub(crate) fn generator_end(&self) -> Option<&UserEnd> {
        Some(&self.held.as_ref()?.ends.as_ref()?.generator)
    }

    /// Why it is no longer there, if so.
    pub(crate) fn death(&mut self, stage: Stage) -> Option<NotRun> {
        self.death_within(Duration::ZERO, stage)
    }

    /// How it died, when something hints at its death, the news of which may be on its way.
    pub(crate) fn suspected_death(&mut self, stage: Stage) -> Option<NotRun> {
        self.death_within(END_PATIENCE, stage).or_else(|| self.departure(stage))
    }

    /// The failure of a server that was already running and no longer listens; nobody reports its end to us.
    fn departure(&self, stage: Stage) -> Option<NotRun> {
        let address =
            names::resolve(&self.authority).ok().filter(|_| self.held.is_none())?.first().copied()?;
        let refused = TcpStream::connect_timeout(&address, END_PATIENCE).err()?;
        (refused.kind() == io::ErrorKind::ConnectionRefused).then(|| NotRun {
            stage,
            reason: format!("nobody listens at {address} any more"),
            remedy: Some("see why the server ended, and start it again".to_owned()),
            log_tail: Vec::new(),
        })
    }

    fn death_within(&mut self, patience: Duration, stage: Stage) -> Option<NotRun> {
        self.own_death(patience, stage).or_else(|| {
            let upstream = self.upstream.as_mut()?;
            upstream.own_death(patience, stage).map(upstream::failed)
        })
    }

    fn own_death(&mut self, patience: Duration, stage: Stage) -> Option<NotRun> {
        let held = self.held.as_mut()?;
        let ended = held.job.wait(patience)?;
        // The log is whole only when its supervisor has gone, after it ended what was left behind.
        held.job.stop();
        Some(death(&ended, stage, held))
    }

    /// Stops it with all its descendants; what could not be stopped is told.
    pub(crate) fn stop(mut self, link: &Link) -> Result<(), NotRun> {
        let upstream = self.upstream.take();
        let stopped = self.stop_alone(link);
        let upstream =
            upstream.map_or(Ok(()), |mut upstream| upstream.stop_alone(link).map_err(upstream::failed));
        stopped.and(upstream)
    }

    fn stop_alone(&mut self, link: &Link) -> Result<(), NotRun> {
        let Some(mut held) = self.held.take() else { return Ok(()) };
        // On another host whoever comes next gets another port.
        if held.job.stop() && (self.host.is_remote() || is_freed(link, held.port)) {
            return Ok(());
        }
        Err(NotRun {
            stage: Stage::Load,
            reason: format!("it could not be stopped: port {} is still in use", held.port),
            remedy: Some("look for its processes and end them".to_owned()),
            log_tail: held.tail(),
        })
    }

    fn await_ready(&mut self, readiness: &Readiness, order: &StartOrder<'_>) -> Result<(), NotRun> {
        let Some(first) = readiness.request() else { return Ok(()) };
        let timeout = readiness.timeout;
        let began = Instant::now();
        let deadline = began + timeout;
        let (mut wrong_since, mut elsewhere_since) = (None::<Instant>, None::<Instant>);
        let (mut poll, mut next_look) = (FIRST_POLL, OTHER_PORT_LOOK);
        loop {
            if let Some(death) = self.death(Stage::Start) {
                return Err(death);
            }
            if let Some(unfit) = self.held.as_ref().and_then(Held::outside_the_stack) {
                return Err(unfit);
            }
            let problem = match self.attempt(first, order, USER_START_TIMEOUT) {
                Ok(()) => return Ok(()),
                Err(problem) if readiness.is_shown_by(&problem) => return Ok(()),
                Err(problem) => problem,
            };
            let wrong = wrong_since.filter(|_| problem.stage == Stage::Answer);
            wrong_since = (problem.stage == Stage::Answer).then(|| wrong.unwrap_or_else(Instant::now));
            if began.elapsed() >= next_look {
                next_look = began.elapsed() + OTHER_PORT_LOOK;
                let elsewhere = self.listens_elsewhere();
                elsewhere_since = elsewhere.then(|| elsewhere_since.unwrap_or_else(Instant::now));
            }
            let lasts = |since: Option<Instant>, patience: Duration| {
                since.is_some_and(|since| since.elapsed() >= patience.min(timeout))
            };
            let hopeless = lasts(wrong_since, readiness.patience_with_wrong_answers())
                || lasts(elsewhere_since, OTHER_PORT_PATIENCE);
            if hopeless || Instant::now() >= deadline || order.stop.is_requested() {
                return Err(self.explain(problem, began.elapsed().min(timeout)));
            }
            std::thread::sleep(poll);
            poll = (poll * 2).min(LAST_POLL);
        }
    }

    /// Asks once; a problem of stage `Answer` means that somebody answered.
    fn attempt(
        &self,
        request: &RequestKind,
        order: &StartOrder<'_>,
        user_timeout: Duration,
    ) -> Result<(), NotRun> {
        match order.user.zip(self.generator_end()) {
            None => probe::over_kernel(order, &self.authority, request),
            Some(user) => probe::over_user(order, user, &self.authority, request, user_timeout),
        }
    }

    /// Whether it listens, but not where it is asked.
    fn listens_elsewhere(&self) -> bool {
        self.held.as_ref().is_some_and(|held| self.hint(&held.job.addresses()).is_some())
    }

    /// What to do about listeners none of which is where it is asked; `None` where one is, or there is none at all.
    fn hint(&self, listeners: &BTreeSet<SocketAddr>) -> Option<String> {
        let at: SocketAddr = self.authority.parse().ok()?;
        if listeners.is_empty() || listeners.iter().any(|&listener| port::reaches(at, listener)) {
            return None;
        }
        let on_port = listeners.iter().find(|listener| listener.port() == at.port());
        if let Some(listener) = on_port {
            return Some(format!(
                "it listens at {listener} and is asked at {at}: let it listen at $ADDRESS, or at all addresses"
            ));
        }
        let ports: BTreeSet<u16> = listeners.iter().map(SocketAddr::port).collect();
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        Some(format!("it listens on port {}: let it use $PORT, or give --port", ports.join(", ")))
    }

    /// Adds what can be seen from outside to why it is not ready.
    fn explain(&self, mut problem: NotRun, waited: Duration) -> NotRun {
        let Some(held) = &self.held else { return self.explain_running(problem) };
        problem.log_tail = held.tail();
        if problem.stage != Stage::Start {
            return problem;
        }
        let tenths = (waited.as_secs_f64() * 10.0).round() / 10.0;
        problem.reason = format!("not ready within {tenths} s: {}", problem.reason);
        let hint = self.hint(&held.job.addresses());
        problem.remedy = Some(hint.unwrap_or_else(|| {
            "see whether it listens on $ADDRESS and $PORT; raise ready_timeout_s or --ready-timeout if it only needs longer"
                .to_owned()
        }));
        problem
    }

    /// Adds where a server listens that the URL may mean: often `localhost` is ::1.
    fn explain_running(&self, problem: NotRun) -> NotRun {
        if problem.stage != Stage::Start {
            return problem;
        }
        let asked = names::resolve(&self.authority).ok().and_then(|addresses| addresses.first().copied());
        match asked.and_then(running::instead_of) {
            Some(remedy) => NotRun { remedy: Some(remedy), ..problem },
            None => problem,
        }
    }

    /// Checks that the one who answers is ours: the port may have been taken meanwhile.
    fn check_owner(&mut self) -> Result<(), NotRun> {
        let foreign = |held: &Held| held.job.listener(held.port) == Listener::Foreign;
        if !self.held.as_ref().is_some_and(foreign) {
            return Ok(());
        }
        // Whoever ends while we look seems to hold nothing any more.
        if let Some(death) = self.suspected_death(Stage::Start) {
            return Err(death);
        }
        let Some(held) = &self.held else { return Ok(()) };
        Err(NotRun {
            stage: Stage::Start,
            reason: format!("port {} is answered by another program", held.port),
            remedy: Some("end that program, or choose another port".to_owned()),
            log_tail: held.tail(),
        })
    }

    fn check_answers(&mut self, order: &StartOrder<'_>) -> Result<(), NotRun> {
        let asked =
            |request: RequestKind| self.attempt(&request, order, answer_timeout(order.load_timeout)).err();
        let problem = self.workloads.iter().flat_map(Workload::probes).find_map(asked);
        let Some(problem) = problem else { return Ok(()) };
        // A server that dies while it is asked answers wrongly only by the way.
        if let Some(death) = self.suspected_death(Stage::Start) {
            return Err(death);
        }
        let log_tail = self.held.as_ref().map_or_else(Vec::new, Held::tail);
        Err(NotRun { log_tail, ..problem })
    }
}

/// What the end of a server's first process means.
fn death(ended: &Ended, stage: Stage, held: &Held) -> NotRun {
    let log_tail = held.tail();
    // A parent that leaves its work to a child may do so just before or just after the child's first answer.
    if ended.code == Some(0) && ended.left_behind > 0 {
        let left = ended.left_behind;
        return NotRun {
            stage: Stage::Start,
            reason: format!("it forks and detaches: its first process ended and left {left} running"),
            remedy: Some(
                "start it in the foreground (for example with `daemon off` or -DFOREGROUND)".to_owned(),
            ),
            log_tail,
        };
    }
    if let (true, Some(line)) = (held.is_contained, container::refusal(&log_tail))
        && container::is_of_the_engine(ended)
    {
        let reason = format!("the engine could not start it: {line}");
        let remedy = Some("mend its Dockerfile or docker_cmd".to_owned());
        return NotRun { stage, reason, remedy, log_tail };
    }
    if (ended.code, stage) == (Some(NOT_FOUND), Stage::Start) {
        let words = log_tail.last().map_or_else(String::new, |line| format!(" ({line})"));
        let reason = format!("command not found{words}");
        let remedy = Some("install it, or mend the command".to_owned());
        return NotRun { stage, reason, remedy, log_tail };
    }
    let when = if stage == Stage::Start { "before it was ready" } else { "under load" };
    let reason = format!("it ended with {ended} {when}");
    NotRun { stage, reason, remedy: Some(format!("read {}", held.log.display())), log_tail }
}

/// Whether nobody listens on `port` any more, or soon.
fn is_freed(link: &Link, port: u16) -> bool {
    let deadline = Instant::now() + PORT_PATIENCE;
    loop {
        match port::free(link, Some(port)) {
            Ok(_) => return true,
            Err(_) if Instant::now() >= deadline => return false,
            Err(_) => std::thread::sleep(LAST_POLL),
        }
    }
}
