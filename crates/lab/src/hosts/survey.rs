//! A look at every host of a lab: whether an agent answers, how its clock stands to ours, what its machine is, and what the network between
//! them carries.

use std::net::IpAddr;
use std::thread;

use assay_host::cpuset::allowed;
use assay_link::Link;
use assay_model::cpuset::CpuSet;
use assay_model::host_link::HostLink;
use assay_model::lab::{HostFound, HostReport, HostRole, LAB_SCHEMA, Lab, LabHost, LabReport};

use super::asking::Agent as _;
use super::host::Host;
use super::links::LinkProbe;
use super::message::{Answer, Request};
use super::session::{OwnProgram, Session};
use crate::host_error::HostError;
use crate::scratch;
use crate::secrets::Secrets;
use crate::stop::Stop;
use crate::tools::Tools;

/// Looks at all hosts at the same time, and then at the network between those that can be used, if that is wanted. Nothing is waited
/// for any more once a person wants to stop.
pub fn survey(lab: &Lab, own: &OwnProgram, with_links: bool, stop: &Stop) -> LabReport {
    let hosts: Vec<HostReport> = thread::scope(|scope| {
        let look = |host| scope.spawn(move || visit(host, own, stop));
        let looks: Vec<_> = lab.hosts.iter().map(look).collect();
        // A thread that panics has found a fault of ours, which is no host's.
        looks.into_iter().filter_map(|look| look.join().ok()).collect()
    });
    let links = if with_links && !stop.is_requested() { links(&hosts, own, stop) } else { Vec::new() };
    LabReport { schema: LAB_SCHEMA.to_owned(), hosts, links }
}

/// What the network carries from each host of servers to those of the load, and from that of the database to those of the servers.
fn links(hosts: &[HostReport], own: &OwnProgram, stop: &Stop) -> Vec<HostLink> {
    let usable = |role: HostRole| -> Vec<LabHost> {
        let usable = hosts.iter().filter(|host| host.problems.is_empty()).map(|host| &host.host);
        usable.filter(|host| host.roles.contains(&role)).cloned().collect()
    };
    let (servers, generators) = (usable(HostRole::Server), usable(HostRole::Generator));
    let to_load = servers.iter().map(|server| (server, &generators));
    let databases = usable(HostRole::Database);
    let to_servers = databases.iter().map(|database| (database, &servers));
    let pairs = to_load.chain(to_servers).filter(|(server, _)| server.address.is_some());
    pairs.flat_map(|(server, others)| links_of(server, others, own, stop)).collect()
}

/// What the network carries from one host to others, or to this one where there are no others.
fn links_of(server: &LabHost, others: &[LabHost], own: &OwnProgram, stop: &Stop) -> Vec<HostLink> {
    let others: Vec<LabHost> = others.iter().filter(|other| other.name != server.name).cloned().collect();
    let named = |link| HostLink { server: Some(server.name.clone()), ..link };
    let links = links_from(server, &others, own, stop).unwrap_or_else(|problem| {
        let hosts = others.iter().map(|host| host.name.clone()).collect();
        vec![HostLink { hosts, problem: Some(problem), ..HostLink::default() }]
    });
    links.into_iter().map(named).collect()
}

fn links_from(
    server: &LabHost,
    others: &[LabHost],
    own: &OwnProgram,
    stop: &Stop,
) -> Result<Vec<HostLink>, String> {
    let work = scratch::temporary().map_err(|error| error.to_string())?;
    let secrets = Secrets::of(std::env::vars_os());
    // No contender is there, and so no file that it serves.
    let files = work.path().join("files");
    let tools = Tools { assay: own.path.clone(), files, preload: None, secrets };
    let told = |error: HostError| error.to_string();
    let (host, _) =
        Host::open(server, &tools, &own.version, None, &mut || !stop.is_requested()).map_err(told)?;
    let probe = LinkProbe {
        tools: &tools,
        link: &Link::loopback(),
        generator_cpus: &allowed(),
        has_bodies: true,
        seed: 1,
        work: work.path(),
        stop,
    };
    let links = probe.between(&host, others, &work.path().join("server.log"));
    host.end().map(|()| links).map_err(told)
}

fn visit(host: &LabHost, own: &OwnProgram, stop: &Stop) -> HostReport {
    let mut problems = Vec::new();
    let found = look(host, own, &mut problems, &mut || !stop.is_requested())
        .map_err(|error| problems.push(error.to_string()))
        .ok();
    HostReport { host: host.clone(), found, problems }
}

/// What its agent tells; what speaks against the host is appended to `problems`.
fn look(
    host: &LabHost,
    own: &OwnProgram,
    problems: &mut Vec<String>,
    wanted: &mut dyn FnMut() -> bool,
) -> Result<HostFound, HostError> {
    let session = Session::open(host, own, wanted)?;
    let clock = session.clock(wanted)?;
    let (diagnosis, cpus, free_bytes, has_postgresql) = match session.ask_while(Request::Machine, wanted)? {
        Answer::Machine { diagnosis, cpus, free_bytes, has_postgresql } => {
            (*diagnosis, cpus, free_bytes, has_postgresql)
        }
        other => return Err(session.unexpected(&other)),
    };
    if host.roles.contains(&HostRole::Database) && !has_postgresql {
        let name = &host.name;
        problems.push(format!(
            "{name} is to have the database, and no PostgreSQL; apt-get install postgresql there"
        ));
    }
    problems.extend(host.address.and_then(|address| elsewhere(&session, address, wanted)));
    problems.extend(lacking(host, &cpus));
    problems.extend(session.end().err().map(|error| error.to_string()));
    Ok(HostFound { clock, cpus, diagnosis, free_bytes })
}

/// The problem that a host is told to use CPUs it may not use.
fn lacking(host: &LabHost, allowed: &str) -> Option<String> {
    let wanted: CpuSet = host.cpus.as_ref()?.parse().ok()?;
    let is_allowed = allowed.parse().is_ok_and(|allowed: CpuSet| wanted.is_subset(&allowed));
    let name = &host.name;
    (!is_allowed).then(|| format!("{name} allows the CPUs {allowed} and is to use {wanted}; mend its `cpus`"))
}

/// The problem that nothing can listen there on the address of the load.
fn elsewhere(session: &Session, address: IpAddr, wanted: &mut dyn FnMut() -> bool) -> Option<String> {
    let problem = session.ask_while(Request::Port { address, fixed: None }, wanted).err()?;
    Some(format!("{problem}; write an address of that host as its `address`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_a_host_does_not_have_are_told() {
        let host = |cpus: &str| {
            let text = format!("name = \"box1\"\ntransport = \"local\"\ncpus = \"{cpus}\"");
            toml::from_str::<LabHost>(&text).expect("a host")
        };
        assert_eq!(lacking(&host("0-1"), "0-3"), None);
        let wanted = "box1 allows the CPUs 0-3 and is to use 2-5; mend its `cpus`";
        assert_eq!(lacking(&host("2-5"), "0-3").as_deref(), Some(wanted));
    }
}
