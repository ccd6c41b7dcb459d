//! The bench of a run: everything with which it measures that is the same in every round and for every life.

use std::path::PathBuf;

use assay_host::energy::EnergyCounters;
use assay_host::gauge::Gauge;
use assay_host::probe::{Probe, Work};
use assay_link::Link;
use assay_model::cpuset::CpuSet;
use assay_model::setting::Setting;
use assay_verdict::outlook::Past;

use crate::access::Access;
use crate::contender::before::Commands;
use crate::database::{SessionCounts, Supplied};
use crate::network::ProvisionedSetting;
use crate::plan::RunPlan;
use crate::stop::Stop;
use crate::store::RunFolder;
use crate::tls::RunTls;

/// What a run measures with, whoever is measured: complete when its first round begins, and the same until it ends.
pub(super) struct Bench<'a> {
    /// What is decided.
    pub(super) plan: &'a RunPlan,
    /// A person's wish.
    pub(super) stop: &'a Stop,
    /// Where the evidence goes.
    pub(super) folder: RunFolder,
    /// The folder with the files that generators read.
    pub(super) work: PathBuf,
    /// What secures the connections, where they are to be.
    pub(super) tls: Option<RunTls>,
    /// The networks and protocols of the run.
    pub(super) settings: Vec<ProvisionedSetting>,
    /// The link over which servers are asked for the rules of HTTP, and the database is reached.
    pub(super) link: Link,
    /// The database, where one is needed and there.
    pub(super) database: Option<Supplied>,
    /// Runs what workloads want to be run before them.
    pub(super) commands: Commands,
    /// Takes the speed of the CPUs of both sides beside each window.
    pub(super) probe: Probe,
    /// Takes it within each turn; absent where servers are on another host, or where a process may not connect to itself.
    pub(super) gauge: Option<Gauge>,
    /// Counts the machine's energy, where anything does.
    pub(super) energy: Option<EnergyCounters>,
    /// An earlier run of this machine, whose noise is expected until there is some of its own.
    pub(super) past: Option<Past>,
}

impl Bench<'_> {
    /// What secures the connections in a setting; absent for plain HTTP.
    pub(super) fn tls_in(&self, setting: Setting) -> Option<&RunTls> {
        self.tls.as_ref().filter(|_| setting.protocol.is_secured())
    }

    /// How servers reach the database, where there is one.
    pub(super) fn access(&self) -> Option<&Access> {
        self.database.as_ref().map(|supplied| &supplied.access)
    }

    /// Connections to the database, where it tells of them.
    pub(super) fn sessions(&self) -> Option<SessionCounts> {
        self.database.as_ref().and_then(Supplied::sessions)
    }
}

/// What takes the machine's speed beside each window.
pub(super) fn probe(plan: &RunPlan) -> Probe {
    Probe::new(&plan.isolation.server.union(&plan.isolation.generator), Work::default())
}

/// What shows how fast the CPUs of both sides are while a turn lasts, as far as they are this machine's.
pub(super) fn gauge(plan: &RunPlan) -> Option<Gauge> {
    let cpus = &plan.isolation;
    let generator = if plan.generator_hosts.is_empty() { cpus.generator.clone() } else { CpuSet::default() };
    let is_here = plan.server_hosts.is_empty();
    is_here.then(|| Gauge::new(&cpus.server, &generator).ok()).flatten()
}
