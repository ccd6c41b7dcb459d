//! From arguments to an inquiry: which servers, which workloads, which CPUs.

use assay_host::cpuset::{self, CpuSet};
use assay_host::isolation::{self, CompanionPlace};
use assay_host::topology::Topology;
use assay_lab::catalogue::{Catalogue, is_url};
use assay_lab::conformance::{Asked, Inquiry};
use assay_lab::database::{GivenUrl, Source};
use assay_lab::{Launch, Scheme, Subject, Upstream, database_of};
use assay_model::database::DatabaseKind;
use assay_model::record::Origin;
use assay_model::workload::{MessageKind, RequestKind, Workload};
use assay_tls::Client;

use crate::args::{CheckArguments, HttpName, RequestArguments, with_ports};
use crate::command::{list, run};
use crate::failure::Failure;
use crate::output;
use crate::secrets::{learn_those_of, secrets};

pub(super) fn build(arguments: &CheckArguments) -> Result<Inquiry, Failure> {
    let catalogue = catalogue(arguments)?;
    let subjects = subjects(&catalogue, arguments)?;
    check_tls(&subjects, arguments)?;
    let asked = |subject: Subject| {
        let workloads = workloads(&catalogue, &subject, arguments)?;
        learn_those_of(&workloads);
        let client = client(&subject, arguments)?;
        let http2 = is_http2(&subject, arguments)?;
        Ok(Asked { subject, workloads, client, http2 })
    };
    let servers: Vec<Asked> = subjects.into_iter().map(asked).collect::<Result<_, Failure>>()?;
    Ok(Inquiry {
        databases: databases(&catalogue, &servers, arguments.database.given()?.as_ref())?,
        upstream: upstream(&catalogue, &servers),
        servers,
        tls: arguments.start_with_tls,
        only: arguments.only.clone(),
        link: arguments.link,
        cpus: cpus(arguments),
        tools: run::tools(&catalogue)?,
    })
}

/// The catalogue; an empty one where the user has none and none is needed.
fn catalogue(arguments: &CheckArguments) -> Result<Catalogue, Failure> {
    let needed = !arguments.workload.is_empty()
        || arguments.selectors.iter().any(|selector| !selector.contains('/') && !is_url(selector))
        || (arguments.selectors.is_empty() && arguments.cmd.is_empty());
    list::open_if(needed, &arguments.places)
}

fn subjects(catalogue: &Catalogue, arguments: &CheckArguments) -> Result<Vec<Subject>, Failure> {
    let cwd =
        std::env::current_dir().map_err(|e| Failure::Machine(format!("there is no working folder: {e}")))?;
    let mut subjects = Vec::new();
    if !arguments.selectors.is_empty() || arguments.cmd.is_empty() {
        let (selected, warnings) = catalogue.select_only(&arguments.selectors)?;
        warnings.iter().for_each(output::warning);
        subjects = selected;
    }
    for (command, port) in with_ports(&arguments.cmd, &arguments.port)? {
        subjects.push(Subject::from_command(command, &cwd, port)?);
    }
    Ok(subjects.into_iter().map(|subject| subject.hiding(secrets())).collect())
}

/// Whether a server is asked for the rules of HTTP/2.
fn is_http2(subject: &Subject, arguments: &CheckArguments) -> Result<bool, Failure> {
    let scheme = match subject.launch {
        Launch::Running { scheme, .. } => Some(scheme),
        Launch::Process(_) => None,
    };
    match (arguments.http, scheme) {
        (Some(HttpName::One), Some(Scheme::H2c)) => {
            Err(Failure::usage("h2c:// is HTTP/2: leave --http 1.1 out, or write http://"))
        }
        (_, Some(Scheme::Grpc | Scheme::Grpcs)) => Err(Failure::usage(
            "the rules that are checked are those of HTTP, not of gRPC: measure it with `assay run http://… -w grpc`",
        )),
        (Some(HttpName::Two), Some(Scheme::Ws | Scheme::Wss)) => {
            Err(Failure::usage("a WebSocket is opened by HTTP/1.1: leave --http 2 out"))
        }
        (Some(HttpName::Two), _) | (None, Some(Scheme::H2c)) => Ok(true),
        (Some(HttpName::One) | None, _) => Ok(false),
    }
}

/// The TLS client for a server that runs already; none for one without TLS.
fn client(subject: &Subject, arguments: &CheckArguments) -> Result<Option<Client>, Failure> {
    match &subject.launch {
        Launch::Running { scheme: Scheme::Https | Scheme::Wss, authority, .. } => {
            let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
            arguments.tls.client(host, None).map(Some)
        }
        Launch::Running { .. } | Launch::Process(_) => Ok(None),
    }
}

/// Whether what was said of TLS concerns anybody.
fn check_tls(subjects: &[Subject], arguments: &CheckArguments) -> Result<(), Failure> {
    let is_secured = |subject: &Subject| {
        matches!(subject.launch, Launch::Running { scheme: Scheme::Https | Scheme::Wss, .. })
    };
    if arguments.tls.is_given() && !subjects.iter().any(is_secured) {
        return Err(Failure::usage(
            "--cacert, --insecure, --server-name, --cert, --cipher and --no-resumption are for a server that runs: write its URL, \
             https://…, or leave them out",
        ));
    }
    let is_started = |subject: &Subject| matches!(subject.launch, Launch::Process(_));
    if arguments.start_with_tls && !subjects.iter().any(is_started) {
        return Err(Failure::usage(
            "--tls is for servers that are started; write https:// in the URL instead",
        ));
    }
    Ok(())
}

/// The workload of a URL that names a WebSocket.
fn messages(subject: &Subject) -> Option<Workload> {
    let Launch::Running { scheme, path, .. } = &subject.launch else { return None };
    scheme.is_websocket().then(|| Workload {
        name: "websocket".to_owned(),
        about: "Messages that come back over a WebSocket.".to_owned(),
        websocket: Some(MessageKind::Text),
        requests: vec![RequestKind::get(path)],
        ..Workload::default()
    })
}

/// What a server is asked for: what the person names, else what its file names, else GET of its path.
fn workloads(
    catalogue: &Catalogue,
    subject: &Subject,
    arguments: &CheckArguments,
) -> Result<Vec<Workload>, Failure> {
    if !arguments.workload.is_empty() {
        let mut named = Vec::new();
        for name in &arguments.workload {
            named.extend(catalogue.workloads_called(name)?.into_iter().cloned());
        }
        return Ok(named);
    }
    if subject.identity.origin == Origin::Folder && arguments.path.is_none() {
        let called = |name: &String| catalogue.workloads_called(name).unwrap_or_default();
        let known: Vec<Workload> = subject.identity.workloads.iter().flat_map(called).cloned().collect();
        if !known.is_empty() {
            return Ok(known);
        }
    }
    if let Some(messages) = messages(subject) {
        return Ok(vec![messages]);
    }
    let path = match (&arguments.path, &subject.launch) {
        (Some(path), _) | (None, Launch::Running { path, .. }) => path.as_str(),
        (None, Launch::Process(_)) => "/",
    };
    Ok(vec![run::own_workload(RequestArguments::default().kind(path)?)])
}

/// Where databases come from, as far as they are needed. Nothing is measured, so they may have any CPUs.
fn databases(
    catalogue: &Catalogue,
    servers: &[Asked],
    given: Option<&GivenUrl>,
) -> Result<Vec<Source>, Failure> {
    let runs_with_rows = |Asked { subject, workloads, .. }: &Asked| {
        let has_rows = |workload: &Workload| workload.database == Some(DatabaseKind::Postgresql);
        matches!(subject.launch, Launch::Running { .. }) && workloads.iter().any(has_rows)
    };
    // The database of a server that runs already is the user's: it is observed, and nothing else.
    let watched = given.filter(|_| servers.iter().any(runs_with_rows)).cloned().map(Source::Watched);
    let mut sources: Vec<Source> = Vec::new();
    for Asked { subject, workloads, .. } in servers {
        let Some(kind) = database_of(workloads.iter().map(|workload| (subject, workload)))? else { continue };
        if sources.iter().any(|source| source.kind() == kind) {
            continue;
        }
        sources.push(match given.filter(|_| kind == DatabaseKind::Postgresql) {
            Some(url) => Source::beside(url.clone(), servers.iter().map(|asked| &asked.subject))?,
            None => {
                let place = CompanionPlace { cpus: cpuset::allowed(), beside_generator: false };
                run::private(catalogue, kind, place)?
            }
        });
    }
    Ok(sources.into_iter().chain(watched).collect())
}

/// What is behind proxies. Nothing is measured, so it may have any CPUs.
fn upstream(catalogue: &Catalogue, servers: &[Asked]) -> Option<Upstream> {
    let is_needed = servers.iter().any(|asked| asked.subject.is_proxy());
    let subject = catalogue.limits().into_iter().find(|_| is_needed)?;
    Some(Upstream { subject, place: CompanionPlace { cpus: cpuset::allowed(), beside_generator: false } })
}

fn cpus(arguments: &CheckArguments) -> CpuSet {
    let default = || isolation::split(&cpuset::allowed(), &Topology::read()).server;
    arguments.server_cpus.clone().unwrap_or_else(default)
}
