//! The server of a load: whose it is, where the generator goes to leave it alone, what it used.

use std::net::SocketAddr;

use assay_host::cpuset::{self, CpuSet};
use assay_host::isolation;
use assay_host::listener::{self, Found, Unseen};
use assay_host::sampler::Sampler;
use assay_host::topology::Topology;
use assay_lab::running;
use assay_model::load::LoadReport;
use assay_model::running::Running;
use assay_model::usage::Usage;
use assay_report::format;

/// The server at the load's target, as far as this machine shows it.
pub(super) struct Server(Result<Found, Unseen>);

impl Server {
    /// Looks for it.
    pub(super) fn at(target: SocketAddr) -> Self {
        Self(listener::find(target))
    }

    /// The CPUs for the generator, those that it should have first: where the server is not, and beside a server whose place
    /// is not known as many as beside one of our own.
    pub(super) fn leaves(&self) -> CpuSet {
        let allowed = cpuset::allowed();
        let theirs = match &self.0 {
            Ok(found) => &found.cpus,
            Err(Unseen::Elsewhere { .. }) => return allowed,
            Err(_) => &allowed,
        };
        isolation::beside(theirs, &allowed, &Topology::read()).generator
    }

    /// Begins to watch what it uses.
    pub(super) fn watch(&self) -> Watch {
        let sampler = self.0.as_ref().ok().and_then(|found| Sampler::start_all(&found.roots).ok());
        Watch { running: running::record(&self.0), sampler }
    }
}

/// A server that is watched.
pub(super) struct Watch {
    running: Running,
    sampler: Option<Sampler>,
}

impl Watch {
    /// Adds to the report what was seen.
    pub(super) fn finish(self, report: &mut LoadReport) {
        report.server =
            self.sampler.and_then(|sampler| sampler.finish().ok()).map(|window| window.with_memory().usage);
        report.running = Some(self.running);
    }
}

/// The server in words.
pub(super) fn describe(report: &LoadReport) -> Option<String> {
    Some(match report.running.as_ref()? {
        Running::Unseen { why } => format!("not watched: {why}"),
        Running::Found { program, pids, processes, cpus } => {
            let others = match *processes as usize - pids.len().min(1) {
                0 => String::new(),
                n => format!(" and {} more", format::count(n as u64)),
            };
            let pid = pids.first().copied().unwrap_or_default();
            let used = report.server.as_ref().map(|used| used_in_words(report, used)).unwrap_or_default();
            format!("{program} (process {pid}{others}) {}{used}", place(cpus, &report.cpus))
        }
    })
}

/// Where it may run, and whether the generator is there too.
fn place(server: &str, generator: &str) -> String {
    let cpus = |list: &str| list.parse::<CpuSet>().unwrap_or_default();
    let shared = cpus(server).intersection(&cpus(generator));
    match shared.is_empty() {
        true => format!("on CPU {server}, which the generator left alone"),
        false => format!("on any of CPUs {server}, the generator's {shared} among them"),
    }
}

fn used_in_words(report: &LoadReport, used: &Usage) -> String {
    let each = format::duration(used.cpu_ns().0 as f64 / report.books.ok.max(1) as f64);
    let memory = format::bytes(used.memory_bytes());
    format!(" · {} of a CPU, {each} per answer · {memory}", format::percent(used.busy_share(1)))
}
