//! Contenders asked for the rules of HTTP/1.1 and of the test types they answer, or for those of HTTP/2, each in a process of its
//! own life that is never measured. In the same life they are asked how long their answers are, where the limit needs to know.

use std::path::PathBuf;
use std::time::Duration;

use assay_check::{Pace, Patience, Route, Rule, Target, TestType, ask, of_http, of_http2};
use assay_host::cpuset::CpuSet;
use assay_link::{Link, Spec};
use assay_model::conformance::{CheckedServer, Conformance};
use assay_model::learnt::Learnt;
use assay_model::protocol::Protocol;
use assay_model::record::{NotRun, Stage};
use assay_model::units::Nanos;
use assay_model::workload::{RequestKind, Workload};
use assay_tls::Client;
use jiff::Timestamp;

use crate::contender::before::Commands;
use crate::contender::learn::{Door, Occasion, Question, learn};
use crate::contender::probe::answer_timeout;
use crate::contender::{Preparation, Server, StartOrder, Tools, Upstream};
use crate::database::{self, Source, Supplied};
use crate::error::LabError;
use crate::event::{Event, Observer};
use crate::hosts::host::Host;
use crate::stop::Stop;
use crate::store::{RunFolder, Store};
use crate::subject::{Launch, Subject};
use crate::tls::RunTls;

/// Time for one contender's rules before a run; a rule that was begun in it is finished. Most are done in a quarter of it;
/// those that leave connections open, which have to be waited for, take it.
pub(crate) const TIME_IN_A_RUN: Duration = Duration::from_secs(3);

/// The servers to ask, and what for.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// The servers that are asked.
    pub servers: Vec<Asked>,
    /// Whether servers that are started are asked over TLS, with a certificate of our own making.
    pub tls: bool,
    /// Names of the only rules to ask for; empty for all.
    pub only: Vec<String>,
    /// What is to join them and us.
    pub link: Spec,
    /// CPUs of the servers.
    pub cpus: CpuSet,
    /// Where databases come from, where workloads need them; of each kind one.
    pub databases: Vec<Source>,
    /// What is started behind proxies; needed only where one is asked.
    pub upstream: Option<Upstream>,
    /// The programs to start.
    pub tools: Tools,
}

/// A server, with what it is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The server that is asked.
    pub subject: Subject,
    /// The workloads that it answers; the first that can be is the plain request that rules vary.
    pub workloads: Vec<Workload>,
    /// The client for a server that runs already and is asked over TLS.
    pub client: Option<Client>,
    /// Whether it is asked for the rules of HTTP/2, and in it.
    pub http2: bool,
}

/// Names of every rule that there is, in the suite's order.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    let types = TestType::ALL.into_iter().flat_map(TestType::rules);
    of_http().chain(of_http2()).chain(types).map(|rule| rule.id)
}

/// Asks one server after the other; `told` hears what came of each as soon as it is known. Logs stay in `store` only where
/// something went wrong.
///
/// # Errors
/// [`LabError::UnknownName`] for a rule that there is not, [`LabError::StoreNotWritable`]. What befalls a server is in its
/// entry.
pub fn check(
    inquiry: &Inquiry,
    store: &Store,
    observer: &mut dyn Observer,
    stop: &Stop,
    told: &mut dyn FnMut(&CheckedServer),
) -> Result<Vec<CheckedServer>, LabError> {
    for name in &inquiry.only {
        if rule_names().all(|known| known != name) {
            return Err(crate::catalogue::unknown("rule", name, rule_names()));
        }
    }
    let subjects = inquiry.servers.iter().map(|asked| &asked.subject);
    crate::subject::check_link(inquiry.link, subjects)?;
    let link = Link::open(&inquiry.tools.assay, inquiry.link)?;
    let folder = store.create("check", Timestamp::now())?;
    let mut checked = Vec::new();
    let tls = inquiry.tls.then(|| RunTls::make(&folder.work()?)).transpose()?;
    let host = Host::here(&inquiry.tools);
    let databases = inquiry.databases((&link, &host), &folder, observer, stop);
    let place = Place { host: &host, link: &link, folder: &folder, tls, databases, stop };
    for asked in &inquiry.servers {
        if stop.is_requested() {
            break;
        }
        let server = inquiry.server(&place, asked, observer)?;
        told(&server);
        checked.push(server);
    }
    place.end(observer);
    folder.clear_work();
    if checked.iter().all(|server| server.not_run.is_none()) {
        let _ = std::fs::remove_dir_all(&folder.path);
    }
    Ok(checked)
}

/// What all servers of an inquiry have around them.
struct Place<'a> {
    host: &'a Host,
    link: &'a Link,
    folder: &'a RunFolder,
    /// What secures the connections to those that are started, where they are to be.
    tls: Option<RunTls>,
    databases: Vec<(&'a Source, Result<Supplied, NotRun>)>,
    stop: &'a Stop,
}

impl Place<'_> {
    /// The database that workloads need, or why there is none. A server that was running before has its own, which we know
    /// only where the user named it.
    fn database(&self, workloads: &[Workload], started: bool) -> Option<&Result<Supplied, NotRun>> {
        let kind = workloads.iter().find_map(|workload| workload.database)?;
        let known = |source: &Source| started != matches!(source, Source::Watched(_));
        let mut databases = self.databases.iter();
        databases.find(|(source, _)| source.kind() == kind && known(source)).map(|(_, supplied)| supplied)
    }

    /// Ends the databases; what is left on a server of the user's is told.
    fn end(self, observer: &mut dyn Observer) {
        for supplied in self.databases.into_iter().filter_map(|(_, supplied)| supplied.ok()) {
            if let Err(error) = supplied.end() {
                observer.notice(&Event::DatabaseLeft { problem: &error.to_string() });
            }
        }
    }
}

impl Inquiry {
    /// Each database, or why there is none.
    fn databases(
        &self,
        (link, host): (&Link, &Host),
        folder: &RunFolder,
        observer: &mut dyn Observer,
        stop: &Stop,
    ) -> Vec<(&Source, Result<Supplied, NotRun>)> {
        let mut supplied = Vec::new();
        for source in &self.databases {
            observer.notice(&Event::StartingDatabase { builds: source.builds() });
            let order = database::Order {
                tools: self.tools.clone(),
                side: link.server_side(),
                cpus: None,
                log: folder.log("database", source.kind()),
                seed: rand::random(),
                run: &folder.id,
                guests: self.servers.iter().any(|asked| asked.subject.is_contained()),
                stop,
            };
            let database = database::supply(source, &order, host);
            supplied.push((source, database.map_err(|error| database::not_run(&error))));
        }
        supplied
    }

    fn server(
        &self,
        place: &Place<'_>,
        Asked { subject, workloads, client, http2 }: &Asked,
        observer: &mut dyn Observer,
    ) -> Result<CheckedServer, LabError> {
        let Place { host, link, folder, stop, .. } = *place;
        let work = folder.work()?;
        let database = place.database(workloads, matches!(subject.launch, Launch::Process(_)));
        let missing = database.and_then(|supplied| supplied.as_ref().err());
        let inspection = Inspection {
            tools: &self.tools,
            host,
            link,
            cpus: &self.cpus,
            log: folder.log(&subject.identity.name, "check"),
            workloads: workloads.iter().filter(|w| missing.is_none() || w.database.is_none()).collect(),
            database: database.and_then(|supplied| supplied.as_ref().ok()),
            upstream: self.upstream.as_ref(),
            tls: place.tls.as_ref().filter(|_| matches!(subject.launch, Launch::Process(_))),
            client: client.as_ref(),
            http2: *http2,
            commands: &Commands::default(),
            rules: true,
            only: &self.only,
            sized: Vec::new(),
            load_timeout: None,
            pace: Pace::Full,
            stop,
        };
        let found = match missing {
            Some(reason) if inspection.workloads.is_empty() => Err(reason.clone()),
            _ => prepare(subject, host, folder, &work, observer, stop)
                .and_then(|()| inspection.inspect(subject, observer))
                .map(|inspected| inspected.conformance),
        };
        let (conformance, not_run) = match found {
            Ok(conformance) => (conformance, None),
            Err(reason) => (None, Some(reason)),
        };
        let (path, protocol) = (inspection.path().to_owned(), inspection.protocol());
        let mut server = CheckedServer {
            name: subject.identity.name.clone(),
            title: subject.identity.title.clone(),
            path,
            protocol,
            not_run,
            conformance,
        };
        self.tools.secrets.hide_in(&mut server);
        Ok(server)
    }
}

fn prepare(
    subject: &Subject,
    host: &Host,
    folder: &RunFolder,
    work: &std::path::Path,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<(), NotRun> {
    let Launch::Process(process) = &subject.launch else { return Ok(()) };
    let preparation = Preparation { host, process, work, stop };
    observer.notice(&Event::Probing { contender: &subject.identity.name });
    preparation.needs()?;
    let Some(build) = &process.build else { return Ok(()) };
    observer.notice(&Event::Building { contender: &subject.identity.name });
    preparation.build(build, &folder.log(&subject.identity.name, "build"))
}

/// One life of a server, in which it is asked and nothing is measured.
pub(crate) struct Inspection<'a> {
    /// The programs to start.
    pub tools: &'a Tools,
    /// Where it is to live.
    pub host: &'a Host,
    /// What joins it and us.
    pub link: &'a Link,
    /// CPUs of the server.
    pub cpus: &'a CpuSet,
    /// Where its output goes.
    pub log: PathBuf,
    /// The workloads that it answers.
    pub workloads: Vec<&'a Workload>,
    /// The database, where there is one.
    pub database: Option<&'a Supplied>,
    /// What is started behind it if it is a proxy.
    pub upstream: Option<&'a Upstream>,
    /// What it is to serve with, where it is asked over TLS.
    pub tls: Option<&'a RunTls>,
    /// The client for a server that runs already and is asked over TLS.
    pub client: Option<&'a Client>,
    /// Whether it is asked for the rules of HTTP/2, and in it.
    pub http2: bool,
    /// Runs what the workloads want to be run before them.
    pub commands: &'a Commands,
    /// Whether it is asked for the rules.
    pub rules: bool,
    /// Names of the only rules to ask for; empty for all.
    pub only: &'a [String],
    /// The workloads of which it is asked how long its answers are.
    pub sized: Vec<&'a Workload>,
    /// How long a load waits for an answer; absent where none follows.
    pub load_timeout: Option<Duration>,
    /// How much time there is.
    pub pace: Pace,
    /// A person's wish.
    pub stop: &'a Stop,
}

/// What such a life has shown.
pub(crate) struct Inspected {
    /// What the server keeps of the rules, where it was asked for them.
    pub conformance: Option<Conformance>,
    /// What it answered to the workloads of which that was to be known; nothing of a request that it did not answer.
    pub answers: Vec<Learnt>,
    /// The time from the server's start to its first right answer; zero where it ran already.
    pub startup_ns: Nanos,
}

impl Inspection<'_> {
    /// Starts the server, asks it at its own paths, and stops it.
    pub(crate) fn inspect(
        &self,
        subject: &Subject,
        observer: &mut dyn Observer,
    ) -> Result<Inspected, NotRun> {
        // The rules are those of HTTP, and no call of gRPC is answered in HTTP/1.1.
        let of_http = self.workloads.iter().filter(|workload| !workload.grpc);
        let own: Vec<Workload> = of_http.map(|workload| subject.asked(workload)).collect();
        if own.is_empty() && !self.workloads.is_empty() {
            let remedy = Some("measure it: assay run -w grpc".to_owned());
            let reason = "it speaks gRPC alone, and the rules are those of HTTP".to_owned();
            return Err(NotRun { stage: Stage::Answer, reason, remedy, log_tail: Vec::new() });
        }
        let inspection = Inspection {
            workloads: own.iter().collect(),
            log: self.log.clone(),
            sized: self.sized.clone(),
            ..*self
        };
        inspection.inspect_as_it_is(subject, observer)
    }

    fn inspect_as_it_is(&self, subject: &Subject, observer: &mut dyn Observer) -> Result<Inspected, NotRun> {
        let contender = subject.identity.name.as_str();
        let event = if self.rules { Event::Checking { contender } } else { Event::Sizing { contender } };
        observer.notice(&event);
        if let (true, Launch::Running { authority, .. }) = (self.http2, &subject.launch) {
            // Whether it speaks HTTP/2 at all is the first of the rules.
            return self.inspect_at(authority, Nanos::ZERO);
        }
        let server = Server::start(subject, &self.start_order())?;
        let inspected = self.inspect_at(&server.authority, server.startup_ns);
        server.stop(self.link)?;
        inspected
    }

    fn inspect_at(&self, authority: &str, startup_ns: Nanos) -> Result<Inspected, NotRun> {
        // Before the rules, some of which a server may not survive.
        let answers = self.answers(authority);
        let conformance = if self.rules { Some(self.ask(authority)?) } else { None };
        Ok(Inspected { conformance, answers, startup_ns })
    }

    fn answers(&self, authority: &str) -> Vec<Learnt> {
        let door = Door { link: self.link, authority, tls: self.asker(), protocol: self.protocol() };
        let timeout = answer_timeout(self.load_timeout);
        let requests = self
            .sized
            .iter()
            .flat_map(|workload| (0..).zip(&workload.requests).map(move |of| (workload, of)));
        let lessons = requests.filter_map(|(workload, (number, kind))| {
            let question = Question { workload: &workload.name, number, kind, timeout };
            Some(learn(door, question, Occasion::First, None).ok()?.learnt)
        });
        lessons.collect()
    }

    fn ask(&self, authority: &str) -> Result<Conformance, NotRun> {
        let wrong = |reason: String| NotRun {
            stage: Stage::Answer,
            reason,
            remedy: Some("mend the server, or ask for another path".to_owned()),
            log_tail: Vec::new(),
        };
        let patience = if self.pace == Pace::Full { Patience::LONG } else { Patience::SHORT };
        let target = Target::new(authority, self.path()).map_err(|error| wrong(error.to_string()))?;
        let target = target.patience(patience).routes(self.routes());
        let target = match self.its_database().and_then(Supplied::ledger) {
            Some(ledger) => target.database(ledger),
            None => target,
        };
        let link = self.link.clone();
        let target = target.through(move |address, timeout| link.connect(address, timeout));
        let target = match self.asker() {
            Some(client) => target.secured(client.clone()),
            None => target,
        };
        let target = if self.http2 { target.over_http2() } else { target };
        ask(&target, &self.rules(), self.pace, &|| !self.stop.is_requested()).map_err(wrong)
    }

    /// What it is asked over.
    fn protocol(&self) -> Protocol {
        Protocol::of(self.http2, self.asker().is_some())
    }

    /// The client, where questions go over TLS.
    fn asker(&self) -> Option<&Client> {
        self.client.or_else(|| self.tls.map(|tls| &tls.client))
    }

    /// The database, if it needs one.
    fn its_database(&self) -> Option<&Supplied> {
        self.database.filter(|_| self.workloads.iter().any(|workload| workload.database.is_some()))
    }

    /// The path of the plain request: of the first GET that is the same every time; where nothing but WebSocket is spoken, that
    /// path, at which every server has to answer a client that does not ask for one.
    fn path(&self) -> &str {
        let is_plain = |request: &&RequestKind| request.method == "GET" && !request.path.contains("${");
        let among = |is_socket: bool| {
            let workloads =
                self.workloads.iter().filter(move |workload| workload.websocket.is_some() == is_socket);
            workloads.flat_map(|workload| &workload.requests).find(is_plain)
        };
        among(false).or_else(|| among(true)).map_or("/", |request| request.path.as_str())
    }

    /// Whether the server is asked for nothing but WebSocket, so that the rules of HTTP have no answer to vary.
    fn speaks_only_websocket(&self) -> bool {
        !self.workloads.is_empty() && self.workloads.iter().all(|workload| workload.websocket.is_some())
    }

    fn routes(&self) -> Vec<Route> {
        let mut routes: Vec<Route> = Vec::new();
        for workload in &self.workloads {
            let Some(kind) = TestType::of_workload(workload.family_name()) else { continue };
            let Some(request) = workload.requests.first() else { continue };
            // Of a family one is enough: the rules vary the number themselves.
            if routes.iter().all(|route| route.kind != kind) {
                routes.push(Route { kind, path: request.path.clone(), page: request.expect.html.clone() });
            }
        }
        routes
    }

    fn rules(&self) -> Vec<&'static Rule> {
        let types = self.routes().into_iter().flat_map(|route| route.kind.rules());
        let wanted = |rule: &&Rule| self.only.is_empty() || self.only.iter().any(|name| name == rule.id);
        if self.http2 {
            return of_http2().filter(wanted).collect();
        }
        let http = of_http().filter(|_| !self.speaks_only_websocket());
        http.chain(types).filter(wanted).collect()
    }

    fn start_order(&self) -> StartOrder<'_> {
        StartOrder {
            tools: self.tools,
            host: self.host,
            link: self.link,
            user: None,
            protocol: self.protocol(),
            tls: self.tls,
            client: self.asker(),
            cpus: self.cpus,
            log: self.log.clone(),
            database: self.its_database().map(|supplied| &supplied.access),
            upstream: self.upstream,
            workloads: self.workloads.iter().map(|workload| (*workload).clone()).collect(),
            load_timeout: self.load_timeout,
            commands: self.commands,
            stop: self.stop,
        }
    }
}
