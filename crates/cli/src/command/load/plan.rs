//! From the arguments of `assay load` to a plan.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use assay_engine::EngineKind;
use assay_fleet::line::Part;
use assay_host::cpuset::{self, CpuSet};
use assay_lab::catalogue::Catalogue;
use assay_lab::contender::before::{Commands, Ready, Surroundings};
use assay_lab::{Exit, Scheme, Stop, Url};
use assay_link::Link;
use assay_load::{Http, LoadPlan, Reuse, Span};
use assay_model::load::Arrival;
use assay_model::units::Nanos;
use assay_model::workload::Workload;
use assay_report::load::Asked;
use assay_tls::Client;
use assay_wire::End;

use super::server::Server;
use crate::args::{EngineName, HttpName, LoadArguments, Places, value};
use crate::command::{list, run, sweep};
use crate::failure::Failure;
use crate::output;
use crate::secrets::learn_those_of;

/// Longest workload that the lab hands over, in bytes: a few bodies, each byte of which may be written as six.
const MAX_HANDED_OVER_BYTES: u64 = 256 << 20;
/// Slices in which the right answers of a turn are told: short enough to show how it settles.
const TURN_SLICE: Nanos = Nanos::from_millis(10);

/// Whom the load is for.
pub(super) fn target(arguments: &LoadArguments) -> Result<SocketAddr, Failure> {
    let url = Url::parse(&arguments.url)?;
    arguments.at.map_or_else(|| resolve(&url), Ok)
}

/// The plan; `server` is the one at `target`, where the generator is to leave it alone.
pub(super) fn build(
    arguments: &LoadArguments,
    target: SocketAddr,
    server: Option<&Server>,
) -> Result<LoadPlan, Failure> {
    let url = Url::parse(&arguments.url)?;
    // A ring ends in memory of this machine, whatever the address in it.
    if !arguments.stack.is_in_memory() {
        arguments.consent.to_address(&url.host, target)?;
    }
    let workload = workload_of(arguments, &url)?;
    learn_those_of([&workload]);
    let cpus = cpus(arguments, server)?;
    let plan = with_engine(arguments, with_workload(arguments, target, workload, cpus, None)?)?;
    // Whoever hands a workload over made the ring's folder, and removes it.
    if !is_handed_over(arguments) {
        sweep::behind_stack(&plan.stack)?;
    }
    Ok(plan)
}

/// The part that a generator has in a load which somebody else leads, who has asked all that was to be asked.
pub(super) fn of_part(arguments: &LoadArguments, part: Part) -> Result<LoadPlan, Failure> {
    let cpus: CpuSet = part.cpus.parse().map_err(Failure::usage)?;
    let sent = part.authorities.as_deref();
    let plan = with_workload(arguments, part.target, part.workload, Vec::new(), sent)?;
    let plan = LoadPlan { sources: part.sources, seconds: part.seconds, ..plan };
    with_engine(arguments, plan.part(part.slice, cpus.iter().collect()))
}

fn with_workload(
    arguments: &LoadArguments,
    target: SocketAddr,
    workload: Workload,
    cpus: Vec<u32>,
    authorities: Option<&str>,
) -> Result<LoadPlan, Failure> {
    let url = Url::parse(&arguments.url)?;
    let http = http(arguments, &url, workload.grpc)?;
    let plan = LoadPlan::new(target, workload.requests);
    let series_interval = if arguments.on_request { TURN_SLICE } else { plan.series_interval };
    Ok(LoadPlan {
        http,
        websocket: workload.websocket,
        grpc: workload.grpc,
        idle: arguments.idle,
        host: url.host_field(),
        connections: arguments.connections,
        cpus,
        arrival: arrival(arguments)?,
        warmup: arguments.warmup,
        span: arguments.requests.map_or(Span::Time(arguments.duration), Span::Requests),
        pipeline: arguments.streams.unwrap_or(arguments.pipeline),
        timeout: arguments.timeout,
        drain: arguments.timeout,
        reuse: reuse(arguments),
        tls: client(arguments, &url, http, authorities)?,
        sources: arguments.sources.clone(),
        seed: arguments.seed,
        checking: arguments.check.rule(),
        series_interval,
        series_from_start: arguments.on_request,
        ..plan
    })
}

/// The plan on the stack that was asked for.
fn with_engine(arguments: &LoadArguments, plan: LoadPlan) -> Result<LoadPlan, Failure> {
    let stack = arguments.stack.stack(End::Second, None, || engine(arguments, &plan))?;
    Ok(LoadPlan { stack, ..plan })
}

/// The engine that was asked for or, if that is left to us, the best one that can hold the connections.
fn engine(arguments: &LoadArguments, plan: &LoadPlan) -> EngineKind {
    let kind = arguments.engine.kind();
    if arguments.engine == EngineName::Auto && !plan.fits(kind) { EngineKind::Epoll } else { kind }
}

fn reuse(arguments: &LoadArguments) -> Reuse {
    let once = arguments.close.then_some(1);
    arguments.requests_per_connection.or(once).map_or(Reuse::Always, Reuse::Requests)
}

/// The version of HTTP that is meant, with what is said of it; calls of gRPC travel over HTTP/2.
fn http(arguments: &LoadArguments, url: &Url, is_called: bool) -> Result<Http, Failure> {
    let http = match (arguments.http, url.scheme) {
        (Some(HttpName::One), _) if is_called => {
            return Err(Failure::usage("gRPC runs over HTTP/2: leave --http 1.1 out"));
        }
        _ if is_called => Http::Two,
        (Some(HttpName::One), Scheme::H2c) => {
            return Err(Failure::usage("h2c:// is HTTP/2: leave --http 1.1 out, or write http://"));
        }
        (Some(HttpName::Two), _) | (None, Scheme::H2c) => Http::Two,
        (Some(HttpName::One) | None, _) => Http::One,
    };
    match http {
        Http::Two if url.scheme.is_websocket() => {
            Err(Failure::usage("a WebSocket is opened by HTTP/1.1: leave --http 2 out"))
        }
        Http::One if arguments.streams.is_some() => {
            Err(Failure::usage("--streams is for HTTP/2: add --http 2, or write h2c:// in the URL"))
        }
        Http::Two if arguments.pipeline > 1 => Err(Failure::usage(
            "--pipeline is for HTTP/1.1: several requests at once are --streams in HTTP/2",
        )),
        http => Ok(http),
    }
}

/// How connections are secured, if the URL asks for it; `authorities` have come from another host.
fn client(
    arguments: &LoadArguments,
    url: &Url,
    http: Http,
    authorities: Option<&str>,
) -> Result<Option<Client>, Failure> {
    match url.scheme {
        Scheme::Https | Scheme::Wss | Scheme::Grpcs => {
            let client = arguments.tls.client(&url.host, authorities)?;
            Ok(Some(if http == Http::Two { client.with_http2() } else { client }))
        }
        Scheme::Http | Scheme::H2c | Scheme::Ws | Scheme::Grpc if arguments.tls.is_given() => {
            Err(Failure::usage(
                "--cacert, --insecure, --server-name, --cert, --cipher and --no-resumption are for TLS: write https://, wss:// or \
                 grpcs:// in the URL, or leave them out",
            ))
        }
        Scheme::Http | Scheme::H2c | Scheme::Ws | Scheme::Grpc => Ok(None),
    }
}

fn resolve(url: &Url) -> Result<SocketAddr, Failure> {
    let name = url.host.trim_start_matches('[').trim_end_matches(']');
    let found = (name, url.port).to_socket_addrs();
    let mut found = found.map_err(|e| Failure::usage(format_args!("cannot resolve `{}`: {e}", url.host)))?;
    found.next().ok_or_else(|| Failure::usage(format_args!("`{}` has no address", url.host)))
}

/// What is requested, and from which host where the URL names one.
pub(super) fn asked(arguments: &LoadArguments) -> Asked {
    let url = Url::parse(&arguments.url).ok().filter(|_| arguments.workload.is_none());
    Asked { words: asked_in_words(arguments), authority: url.map(|url| url.authority()) }
}

/// In the words of a request line.
fn asked_in_words(arguments: &LoadArguments) -> String {
    match (&arguments.workload, Url::parse(&arguments.url)) {
        (Some(file), _) => file.display().to_string(),
        (None, Ok(url)) if url.scheme.is_websocket() => {
            format!("{} messages over {}", arguments.socket.kind(), url.path)
        }
        (None, Ok(url)) if url.scheme.is_grpc() => format!("calls of {}", url.path),
        (None, Ok(url)) => format!("{} {}", arguments.request.method(), url.path),
        (None, Err(_)) => String::new(),
    }
}

/// What is asked for, with what a command printed that is run now.
fn workload_of(arguments: &LoadArguments, url: &Url) -> Result<Workload, Failure> {
    let before = arguments.request.before();
    let workload = match &arguments.workload {
        Some(named) => workload(arguments, named, before)?,
        None => own_workload(arguments, url)?,
    };
    if url.scheme.is_websocket() && workload.websocket.is_none() {
        return Err(Failure::usage(format_args!(
            "{} asks over HTTP: write http://, or `websocket = \"text\"` into it",
            workload.name
        )));
    }
    if url.scheme.is_grpc() && !workload.grpc {
        return Err(Failure::usage(format_args!(
            "{} asks over HTTP: write http://, or `grpc = true` into it",
            workload.name
        )));
    }
    let workload = Workload { before: before.map(str::to_owned).or(workload.before), ..workload };
    if workload.before.is_none() {
        return Ok(workload);
    }
    if let Some(fault) = workload.requests.iter().find_map(|request| workload.fault_of(request)) {
        return Err(Failure::usage(fault));
    }
    let tools = run::tools(&Catalogue::empty())?;
    let (link, stop) = (Link::loopback(), Stop::new());
    let around = Surroundings { tools: &tools, link: &link, stop: &stop };
    let ready = Ready { scheme: url.scheme, authority: &url.authority(), was_running: true };
    let filled = Commands::new(before).fill(vec![workload], ready, around);
    let filled = filled.map_err(|problem| Failure::Unmeasured {
        exit: Exit::ContenderFailed,
        reason: output::reason(&problem),
    })?;
    filled.into_iter().next().ok_or_else(|| Failure::Bug("a workload was lost".to_owned()))
}

/// One request, or one message.
fn own_workload(arguments: &LoadArguments, url: &Url) -> Result<Workload, Failure> {
    if url.scheme.is_websocket() {
        let request = arguments.request.kind(&url.path)?;
        let (request, kind) = (arguments.socket.message(request)?, arguments.socket.kind());
        return Ok(Workload { websocket: Some(kind), ..run::own_workload(request) });
    }
    if arguments.socket.is_given() {
        return Err(Failure::usage(
            "--message-bytes and --binary are for WebSocket: write ws:// or wss:// in the URL",
        ));
    }
    if url.scheme.is_grpc() {
        let call = arguments.request.call(&url.path)?;
        return Ok(Workload { grpc: true, ..run::own_workload(call) });
    }
    Ok(run::own_workload(arguments.request.kind(&url.path)?))
}

/// Whether the lab hands the workload over, which has asked all that was to be asked.
pub(super) fn is_handed_over(arguments: &LoadArguments) -> bool {
    let file = arguments.workload.as_ref();
    file.and_then(|file| file.extension()).is_some_and(|extension| extension == "json")
}

/// A workload as people write it (TOML), as the catalogue has it (a name), or as the lab hands it over (JSON).
fn workload(arguments: &LoadArguments, file: &Path, before: Option<&str>) -> Result<Workload, Failure> {
    if is_handed_over(arguments) {
        let wrong = |error| Failure::usage(format_args!("{}: {error}", file.display()));
        return serde_json::from_str(&read(file)?).map_err(wrong);
    }
    let workloads = match file.to_str().filter(|name| !run::is_file(name)) {
        Some(name) => {
            let places = Places { catalogue: arguments.catalogue.clone(), runs: PathBuf::new() };
            list::open(&places)?.workloads_called(name)?.into_iter().cloned().collect()
        }
        None => {
            let (workloads, warnings) = Catalogue::workloads_in(file, before)?;
            warnings.iter().for_each(output::warning);
            workloads
        }
    };
    let names: Vec<&str> = workloads.iter().map(|workload| workload.name.as_str()).collect();
    let several = Failure::usage(format_args!(
        "{} stands for {}; name one of these, leave one value in its [parameter], or measure all with `assay run -w`",
        file.display(),
        names.join(", ")
    ));
    <[Workload; 1]>::try_from(workloads).map(|[only]| only).map_err(|_| several)
}

fn read(file: &Path) -> Result<String, Failure> {
    let text = assay_file::read(file, MAX_HANDED_OVER_BYTES);
    text.map_err(|source| Failure::Read { path: file.to_owned(), source })
}

fn arrival(arguments: &LoadArguments) -> Result<Arrival, Failure> {
    if arguments.rate == "max" {
        return Ok(Arrival::Closed);
    }
    let per_second = value::rate(&arguments.rate).map_err(Failure::usage)?;
    Ok(arguments.arrival.model().at(per_second))
}

/// One CPU for each thread. Whoever asks for more threads than there are CPUs beside the server gets the server's too.
fn cpus(arguments: &LoadArguments, server: Option<&Server>) -> Result<Vec<u32>, Failure> {
    let allowed = arguments.cpus.clone().unwrap_or_else(cpuset::allowed);
    let best = server.map_or_else(|| allowed.clone(), Server::leaves);
    let all: Vec<u32> = best.iter().chain(allowed.difference(&best).iter()).collect();
    let decided = queues(arguments)?.map(usize::from);
    match arguments.threads.or(decided) {
        Some(0) => Err(Failure::usage("0 threads; give at least 1")),
        Some(n) if n > all.len() => Err(Failure::Machine(format!(
            "{n} threads need a CPU each, and this process may use {}; more would only wait for each other",
            all.len()
        ))),
        // Whoever is at the other end began with the first CPUs.
        Some(n) if decided.is_some() => Ok(all[all.len() - n..].to_vec()),
        Some(n) => Ok(all[..n].to_vec()),
        None => Ok(best.iter().collect()),
    }
}

/// How many queues the other end of a wire has made, if it is left to us to have as many threads.
fn queues(arguments: &LoadArguments) -> Result<Option<u16>, Failure> {
    let is_open = arguments.threads.is_none() && arguments.cpus.is_none();
    let wire = arguments.stack.wire.as_ref().filter(|_| is_open);
    let found = wire.map_or(Ok(None), assay_wire::queues);
    found.map_err(|error| Failure::Machine(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let url = Url::parse("http://[::1]:8080/a?b#c").unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("[::1]", 8080, "/a?b"));
        assert_eq!(resolve(&url).unwrap().to_string(), "[::1]:8080");
    }
}
