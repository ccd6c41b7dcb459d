//! The server of a load: whose it is, where the generator goes to leave it alone, what it used, whether it lived.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use assay_host::cpuset::{self, CpuSet};
use assay_host::exit_watch::ExitWatch;
use assay_host::isolation;
use assay_host::listener::{self, Found, Unseen};
use assay_host::sampler::Sampler;
use assay_host::topology::Topology;
use assay_lab::running;
use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, Neighbour, ServerEnded};
use assay_model::load::LoadReport;
use assay_model::rule::Rule;
use assay_model::running::Running;
use assay_model::usage::Usage;

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

    /// Begins to watch what it uses, and whether it lives: at its end the load has nobody left to drive, and `stop` is set.
    pub(super) fn watch(&self, stop: &Arc<AtomicBool>) -> Watch {
        let found = self.0.as_ref().ok();
        Watch {
            running: running::record(&self.0),
            sampler: found.and_then(|found| Sampler::start_all(&found.roots).ok()),
            vigil: found.and_then(|found| Vigil::keep(found, stop)),
        }
    }
}

/// A server that is watched.
pub(super) struct Watch {
    running: Running,
    sampler: Option<Sampler>,
    vigil: Option<Vigil>,
}

/// What was seen of a server.
pub(super) struct Seen {
    running: Running,
    used: Option<Usage>,
    ended: Option<ServerEnded>,
}

impl Watch {
    /// Ends the watching.
    pub(super) fn finish(self) -> Seen {
        let used = self.sampler.and_then(|sampler| sampler.finish().ok());
        Seen {
            running: self.running,
            used: used.map(|window| window.with_memory().usage),
            ended: self.vigil.and_then(Vigil::finish),
        }
    }
}

impl Seen {
    /// Adds it to the report.
    pub(super) fn tell(self, report: &mut LoadReport) {
        let neighbour = report.cpus.parse().ok().and_then(|cpus| Neighbour::of(&self.running, &cpus));
        for check in &mut report.checks {
            if let Evidence::ThreadWaited { beside_server, .. } = &mut check.evidence {
                beside_server.clone_from(&neighbour);
            }
        }
        if let Some(ended) = self.ended {
            let ended = Evidence::ServerEnded(ended);
            report.checks.insert(0, Check::objection(Rule::ServerEnded, CheckOutcome::Void, ended));
        }
        (report.server, report.running) = (self.used, Some(self.running));
    }
}

/// A thread that waits for the end of a server.
struct Vigil {
    lives: Arc<ExitWatch>,
    thread: JoinHandle<Option<ServerEnded>>,
}

impl Vigil {
    fn keep(found: &Found, stop: &Arc<AtomicBool>) -> Option<Self> {
        let (begin, stop, program) = (Instant::now(), Arc::clone(stop), found.name().to_owned());
        let lives = Arc::new(ExitWatch::of(&found.roots)?);
        let theirs = Arc::clone(&lives);
        let thread = std::thread::spawn(move || {
            let pid = theirs.wait()?;
            let ended = ServerEnded { program, pid, after_ns: begin.elapsed().into() };
            // Whoever interrupts a load may end its server in the same moment.
            (!stop.swap(true, Ordering::Relaxed)).then_some(ended)
        });
        Some(Self { lives, thread })
    }

    fn finish(self) -> Option<ServerEnded> {
        self.lives.release();
        self.thread.join().ok().flatten()
    }
}
