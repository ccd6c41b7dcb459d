//! What the network between the hosts of a run carries, measured before the first round.

use assay_model::host_link::HostLink;
use assay_model::lab::LabHost;

use crate::database::Supplied;
use crate::error::LabError;
use crate::event::Event;
use crate::hosts::host::Host;
use crate::hosts::links::LinkProbe;
use crate::log;
use crate::rounds::Runner;

impl Runner<'_> {
    /// Measures round trip and capacity between hosts: of the load and of the servers, each by itself and all at once; of the servers and
    /// of the database.
    pub(crate) fn probe_links(&mut self) -> Result<(), LabError> {
        let database = self.bench.database.as_ref().and_then(Supplied::agent);
        if (self.homes.others.is_empty() && database.is_none()) || self.bench.stop.is_requested() {
            return Ok(());
        }
        self.telling.notice(&Event::ProbingNetwork);
        let to_servers = self.homes.others.iter().flat_map(|host| {
            let is_turned = self.homes.others.len() > 1;
            named(self.links_between(&host.host, &host.generators), is_turned.then(|| host.host.name()))
        });
        let to_database = database.iter().flat_map(|host_of_database| {
            let hosts = &self.bench.plan.server_hosts;
            let each: Vec<&[LabHost]> = match hosts.as_slice() {
                [] => vec![&[]],
                _ => hosts.iter().map(std::slice::from_ref).collect(),
            };
            let links =
                each.into_iter().flat_map(|host| self.links_between(host_of_database, host)).collect();
            named(links, Some(host_of_database.name()))
        });
        self.record.host_links = to_servers.chain(to_database).collect();
        self.record.host_links.iter().for_each(log::host_link);
        self.save()
    }

    /// What the network carries from a host to others.
    fn links_between(&self, host: &Host, generators: &[LabHost]) -> Vec<HostLink> {
        let plan = self.bench.plan;
        let mut requests = plan.workloads.iter().flat_map(|workload| &workload.requests);
        let probe = LinkProbe {
            tools: &plan.tools,
            link: &self.bench.link,
            generator_cpus: &plan.isolation.generator,
            has_bodies: requests.any(|request| request.body.is_some()),
            seed: plan.seed,
            work: &self.bench.work,
            stop: self.bench.stop,
        };
        probe.between(host, generators, &self.bench.folder.log("network", "server"))
    }
}

/// Links with the host that answered, where it is to be named.
fn named(links: Vec<HostLink>, server: Option<&str>) -> Vec<HostLink> {
    let named = |link| HostLink { server: server.map(str::to_owned), ..link };
    links.into_iter().map(named).collect()
}
