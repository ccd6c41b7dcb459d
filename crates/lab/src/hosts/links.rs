//! What the network between hosts carries: the reference server is started on one, and others ask it
//! (docs/method/fleet.md#the-network-between-hosts).

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_host::cpuset::CpuSet;
use assay_link::Link;
use assay_model::experiment::Span;
use assay_model::host_link::{Carried, CarriedToServer, HostLink};
use assay_model::lab::LabHost;
use assay_model::load::{Arrival, LoadReport};
use assay_model::protocol::Protocol;
use assay_model::units::Nanos;
use assay_model::workload::{Expect, RequestKind, Workload};
use assay_verdict::{SERVER_SATURATED, Times};

use super::host::{Host, Job, JobSurroundings};
use super::message::Detail;
use crate::generator::{Hosts, LoadOrder, write_workload};
use crate::host_error::HostError;
use crate::inherited::Inherited;
use crate::stop::Stop;
use crate::supervisor::SupervisorOptions;
use crate::tools::Tools;

/// Bytes of an answer, or of a request, when the capacity is measured: so many that heads take no part of it, few enough that some come
/// whole over a slow network, and enough to fill a fast one. A network carries no less than either shows.
const SIZES: [u64; 2] = [64 << 10, 1 << 20];
/// Connections of each host then: enough to fill a long way with the kernel's usual buffers.
const CONNECTIONS: u32 = 8;
/// Load before a window, until TCP has found its pace, and the window, in seconds.
const RAMP_S: f64 = 0.1;
const WINDOW_S: f64 = 0.3;
/// Longest wait for an answer, in seconds, and for the reference server to listen.
const TIMEOUT_S: f64 = 5.0;
const READY: Duration = Duration::from_secs(10);
/// Between two looks whether it listens.
const TICK: Duration = Duration::from_millis(20);

/// A look at the network between hosts.
pub(crate) struct LinkProbe<'a> {
    /// Our own program.
    pub(crate) tools: &'a Tools,
    /// What joins this host and those that are asked from it.
    pub(crate) link: &'a Link,
    /// CPUs of the generator on this host.
    pub(crate) generator_cpus: &'a CpuSet,
    /// Whether the way to the server is measured as well, by large requests.
    pub(crate) has_bodies: bool,
    /// Seed of the load.
    pub(crate) seed: u64,
    /// A folder for what passes by.
    pub(crate) work: &'a Path,
    /// A person's wish.
    pub(crate) stop: &'a Stop,
}

impl LinkProbe<'_> {
    /// What the network carries from a host to others, each by itself and all at once; to this host where there are no others. The
    /// output of the reference server goes to `log`.
    pub(crate) fn between(&self, host: &Host, generators: &[LabHost], log: &Path) -> Vec<HostLink> {
        let links = Reference::start(host, self.link, log)
            .and_then(|server| Look { probe: self, generators, server }.links());
        links.unwrap_or_else(|problem| {
            let hosts = generators.iter().map(|host| host.name.clone()).collect();
            vec![HostLink { hosts, problem: Some(problem), ..HostLink::default() }]
        })
    }
}

/// The reference server on another host.
struct Reference {
    job: Job,
    url: String,
    cpus: usize,
}

impl Reference {
    fn start(host: &Host, link: &Link, log: &Path) -> Result<Self, String> {
        let told = |error: HostError| error.to_string();
        let port = host.free_port(link, None).map_err(told)?;
        let (address, cpus) = (host.address(link), host.cpus().cloned().unwrap_or_default());
        let numbers =
            [("--address", address.to_string()), ("--port", port.to_string()), ("--cpus", cpus.to_string())];
        let mut command = vec![OsString::from(&host.tools().assay), "serve".into()];
        command.extend(numbers.into_iter().flat_map(|(name, value)| [name.into(), value.into()]));
        let (folder, job) = (host.folder(), host.new_job(log));
        let mut options = SupervisorOptions::new(job.log.clone(), command);
        options.cpus = Some(cpus.clone());
        let inherited = &Inherited::LEAST;
        let around =
            JobSurroundings { folder: &folder, inherited, is_building: false, variables: Vec::new() };
        let mut job = host.start(job, &options, around).map_err(told)?;
        let deadline = Instant::now() + READY;
        while !job.addresses().iter().any(|address| address.port() == port) {
            if let Some(ended) = job.wait(TICK) {
                return Err(format!("the reference server ended with {ended}"));
            }
            if Instant::now() > deadline {
                return Err(format!("the reference server did not listen within {} s", READY.as_secs()));
            }
        }
        let url = format!("http://{}", SocketAddr::new(address, port));
        Ok(Self { job, url, cpus: cpus.len().max(1) })
    }

    /// Share of its CPUs that it used while it was loaded, where that is known.
    fn busy_share(&self, used: Option<Nanos>, load: &LoadReport) -> Option<f64> {
        let loaded = (load.warmup_ns + load.window_ns).as_secs_f64();
        Some(used?.as_secs_f64() / (loaded * self.cpus as f64))
    }
}

struct Look<'r, 'a> {
    probe: &'r LinkProbe<'a>,
    /// The hosts of the load.
    generators: &'r [LabHost],
    server: Reference,
}

impl Look<'_, '_> {
    fn links(mut self) -> Result<Vec<HostLink>, String> {
        let all = self.generators;
        let trips = self.round_trips(all)?;
        let each = all.iter().map(std::slice::from_ref);
        let mut groups: Vec<&[LabHost]> = each.collect();
        if groups.len() != 1 {
            // Those of this host alone, or of all hosts at once.
            groups.push(all);
        }
        let links = groups.iter().map(|hosts| {
            let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
            let of = |name: &str| trips.iter().find(|(host, _)| host == name).map(|(_, trip)| *trip);
            let round_trip_ns = match names.as_slice() {
                [] => of(""),
                [only] => of(only),
                _ => None,
            };
            let link = HostLink { hosts: names, round_trip_ns, ..HostLink::default() };
            self.capacities(hosts, link)
        });
        let links = links.collect();
        self.server.job.stop();
        Ok(links)
    }

    /// The shortest time of a small answer on each host by its name, with one request in flight there; of this host without a name.
    fn round_trips(&self, hosts: &[LabHost]) -> Result<Vec<(String, Nanos)>, String> {
        let report = self.load(
            hosts,
            RequestKind::get("/hello"),
            u32::try_from(hosts.len().max(1)).unwrap_or(u32::MAX),
        )?;
        let shortest = |report: &LoadReport| Times::of(&report.latency).ok()?.service.min().map(Nanos);
        if hosts.is_empty() {
            return Ok(shortest(&report).map(|trip| (String::new(), trip)).into_iter().collect());
        }
        let shares = report.generators.iter();
        let of = shares.filter_map(|share| Some((share.name.clone(), shortest(share.report.as_deref()?)?)));
        Ok(of.collect())
    }

    /// What comes to these hosts at once of large answers, and from them of large requests where the run sends bodies.
    fn capacities(&self, hosts: &[LabHost], link: HostLink) -> HostLink {
        let link = match self.capacity(hosts, |bytes| RequestKind::get(&format!("/bytes/{bytes}"))) {
            Ok((carried, is_at_least)) => HostLink { carried: Some(carried), is_at_least, ..link },
            Err(problem) => return HostLink { problem: Some(problem), ..link },
        };
        if !self.probe.has_bodies {
            return link;
        }
        let upload = |bytes| {
            let body = Some(format!("${{letters:{bytes}}}"));
            RequestKind { method: "POST".to_owned(), body, ..RequestKind::get("/upload") }
        };
        match self.capacity(hosts, upload) {
            Ok((carried, is_at_least)) => {
                HostLink { to_server: Some(CarriedToServer { carried, is_at_least }), ..link }
            }
            Err(problem) => HostLink { problem: Some(problem), ..link },
        }
    }

    /// The most that is carried of large requests, or of large answers, and whether a CPU was busy all the time meanwhile.
    fn capacity(
        &self,
        hosts: &[LabHost],
        request: impl Fn(u64) -> RequestKind,
    ) -> Result<(Carried, bool), String> {
        let mut most: Option<(Carried, bool)> = None;
        for bytes in SIZES {
            let (answers_per_second, is_at_least) = self.answered(hosts, request(bytes))?;
            let carried = Carried { bytes_per_second: answers_per_second * bytes as f64, answers_per_second };
            if most.is_none_or(|(most, _)| carried.bytes_per_second > most.bytes_per_second) {
                most = Some((carried, is_at_least));
            }
        }
        let something = most.filter(|(carried, _)| carried.answers_per_second > 0.0);
        something.ok_or_else(|| "nothing large came through within the window".to_owned())
    }

    /// Answers that these hosts get at once in a second, and whether a CPU was busy all the time.
    fn answered(&self, hosts: &[LabHost], request: RequestKind) -> Result<(f64, bool), String> {
        let span = self.server.job.handle().begin(Detail::ByThread);
        let connections = CONNECTIONS * u32::try_from(hosts.len().max(1)).unwrap_or(1);
        let report = self.load(hosts, request, connections)?;
        let used =
            span.and_then(|span| Some(span.finish_without_memory()?.first_by_thread()?.usage.cpu_ns()));
        let server = self.server.busy_share(used, &report);
        let busiest = report.thread_busy_shares.iter().copied().chain(server).fold(0.0, f64::max);
        Ok((report.window_ns.rate_of(report.window.ok), busiest >= SERVER_SATURATED))
    }

    /// A closed loop from these hosts, or from this one where there are none.
    fn load(&self, hosts: &[LabHost], request: RequestKind, connections: u32) -> Result<LoadReport, String> {
        let LinkProbe { tools, link, generator_cpus, seed, work, stop, .. } = self.probe;
        let workload = asking(work, request)?;
        let hosts = Hosts::write(hosts, work, "network").map_err(|error| error.to_string())?;
        let order = LoadOrder {
            url: &self.server.url,
            workload: &workload,
            connections,
            pipeline: 1,
            protocol: Protocol::H1,
            arrival: Arrival::Closed,
            warmup_s: RAMP_S,
            window: Span::Seconds(WINDOW_S),
            timeout_s: TIMEOUT_S,
            cpus: &generator_cpus.to_string(),
            generators: 1,
            hosts: hosts.as_ref(),
            seed: *seed,
            stack: None,
            authority: None,
        };
        let report = order.measure(tools, link, work, &mut || !stop.is_requested());
        let report = report.map_err(|error| error.to_string())?;
        match report.generators.iter().find_map(|share| Some((&share.name, share.lost.as_ref()?))) {
            Some((host, why)) => Err(format!("{host} was lost: {why}")),
            None => Ok(report),
        }
    }
}

/// The file with a workload of one request.
fn asking(work: &Path, request: RequestKind) -> Result<PathBuf, String> {
    let expect = Expect { status: Some(200), ..Expect::default() };
    let request = RequestKind { expect, ..request };
    let workload = Workload { name: "network".to_owned(), requests: vec![request], ..Workload::default() };
    let file = work.join("network.json");
    write_workload(&file, &workload).map_err(|error| error.to_string())?;
    Ok(file)
}
