//! The hosts on which a run's servers live, where these are others: one, or several that take turns, round by round
//! (docs/method/fleet.md#hosts-that-take-turns).

use std::path::Path;
use std::time::Duration;

use assay_host::cpuset::CpuSet;
use assay_model::experiment::Experiment;
use assay_model::lab::{LabHost, PlacedHost};

use crate::error::LabError;
use crate::generator::Hosts;
use crate::hosts::host::Host;
use crate::log;
use crate::plan::RunPlan;
use crate::stop::Stop;
use crate::store::Store;

/// Where the servers of a run live.
pub(super) struct Homes {
    /// This host, on which servers live where there is no other for them.
    pub(super) here: Host,
    /// The other hosts on which servers live, in turns; none for this one.
    pub(super) others: Vec<ServerHost>,
    /// The place among the others of the one whose turn it is.
    serving: usize,
}

/// A host of servers, and those that load it.
pub(super) struct ServerHost {
    pub(super) host: Host,
    /// The hosts from which load comes while servers are there; none for this one.
    pub(super) generators: Vec<LabHost>,
    /// The hosts from which load comes, as the generator is told of them.
    pub(super) load: Option<Hosts>,
}

impl Homes {
    /// The hosts of a run: servers live on the first of the `others` until a round chooses, and without others `here`.
    pub(super) fn new(here: Host, others: Vec<ServerHost>) -> Self {
        Self { here, others, serving: 0 }
    }

    /// The host on which servers live now.
    pub(super) fn present(&self) -> &Host {
        self.serving_host().map_or(&self.here, |server| &server.host)
    }

    /// The host on which servers live first.
    pub(super) fn first(&self) -> &Host {
        self.others.first().map_or(&self.here, |server| &server.host)
    }

    /// The hosts from which load comes to where servers live now; none for this one.
    pub(super) fn load(&self) -> Option<&Hosts> {
        self.serving_host().and_then(|server| server.load.as_ref())
    }

    /// Chooses the host whose turn a round is, or the next one that is not lost; tells its name where several take turns.
    pub(super) fn choose(&mut self, round: u32) -> Option<String> {
        let hosts = self.others.len();
        if hosts < 2 {
            return None;
        }
        let first = round as usize % hosts;
        let mut in_turn = (0..hosts).map(|after| (first + after) % hosts);
        // Where all are lost, servers fail to start, with the reason.
        self.serving = in_turn.find(|host| self.others[*host].host.is_there()).unwrap_or(first);
        log::host_of_round(round, self.others[self.serving].host.name());
        self.name_of_turn()
    }

    /// The name of the host on which servers live now, where several take turns.
    pub(super) fn name_of_turn(&self) -> Option<String> {
        let server = self.serving_host().filter(|_| self.others.len() > 1)?;
        Some(server.host.name().to_owned())
    }

    /// The other host on which servers live now, if they do.
    fn serving_host(&self) -> Option<&ServerHost> {
        self.others.get(self.serving)
    }
}

/// The agents of all hosts of servers, with what they are; of `store` nothing travels there.
pub(super) fn open(plan: &RunPlan, store: &Store, stop: &Stop) -> Result<Vec<(Host, PlacedHost)>, LabError> {
    let mut wanted = || !stop.is_requested();
    let mut open = |host| {
        let runs = Some(store.root());
        let opened = Host::open(host, &plan.tools, &plan.program.version, runs, &mut wanted)?;
        opened.0.expect_silence(longest_window(&plan.experiment), &mut wanted).map(|()| opened)
    };
    let opened: Vec<(Host, PlacedHost)> =
        plan.server_hosts.iter().map(&mut open).collect::<Result<_, _>>()?;
    let cpus = |of: &(Host, PlacedHost)| of.0.cpus().map_or(0, CpuSet::len);
    let Some(first) = opened.first() else { return Ok(opened) };
    match opened.iter().find(|other| cpus(other) != cpus(first)) {
        None => Ok(opened),
        Some(other) => Err(LabError::Argument {
            given: format!("--server {},{}", first.1.name, other.1.name),
            problem: format!(
                "hosts that take turns are equal, and servers would have {} CPUs on one and {} on the other; give both as many \
                 with `cpus` in the lab file",
                cpus(first),
                cpus(other)
            ),
        }),
    }
}

/// How long the load of a window takes at most.
pub(super) fn longest_window(experiment: &Experiment) -> Duration {
    let Experiment { settle_s, window_s, latency_window_s, .. } = experiment;
    Duration::from_secs_f64(settle_s + window_s.max(latency_window_s.unwrap_or_default()))
}

/// The `opened` hosts with those that load each, of which lab files are written into the folder `work`.
pub(super) fn with_load(plan: &RunPlan, opened: Vec<Host>, work: &Path) -> Result<Vec<ServerHost>, LabError> {
    let with_load = |host: Host| {
        let generators = plan.generators_beside(host.name());
        let load = Hosts::write(&generators, work, &format!("generators-of-{}", host.name()))?;
        Ok(ServerHost { host, generators, load })
    };
    opened.into_iter().map(with_load).collect()
}
