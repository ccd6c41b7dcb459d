//! The roles of a lab's hosts in a run.

use assay_host::cpuset::{self, CpuSet};
use assay_host::isolation::{Isolation, Separation};
use assay_lab::catalogue::read_lab;
use assay_model::lab::{HostRole, Lab, LabHost, Transport};

use crate::args::RunArguments;
use crate::command::from;
use crate::failure::Failure;

/// Where servers are to live and load is to come from.
pub(super) struct Placed {
    /// The CPUs of both on this host.
    pub(super) isolation: Isolation,
    /// The host of the servers; absent for this one without an agent.
    pub(super) server: Option<LabHost>,
    /// The hosts of the load; none for this one without an agent.
    pub(super) generators: Vec<LabHost>,
}

/// The hosts that the arguments name, or that have the roles; `isolation` where all stays here.
pub(super) fn place(arguments: &RunArguments, isolation: Isolation) -> Result<Placed, Failure> {
    let here = |isolation| Placed { isolation, server: None, generators: Vec::new() };
    let Some(file) = arguments.lab.as_deref() else { return Ok(here(isolation)) };
    let lab = read_lab(file)?;
    let generators = from::generators(file, &lab, &arguments.from)?;
    let server =
        choose(&lab, arguments.server.as_deref()).map_err(|problem| from::in_file(file, &problem))?;
    if server.transport == Transport::Local && generators.is_empty() {
        return Ok(here(isolation));
    }
    if server.address.is_none() {
        let problem = format!("{} has no address for the load; write `address`", server.name);
        return Err(from::in_file(file, &problem));
    }
    let isolation = alone(server, &generators, arguments.server_cpus.is_some())?;
    Ok(Placed { isolation, server: Some(server.clone()), generators })
}

fn choose<'l>(lab: &'l Lab, named: Option<&str>) -> Result<&'l LabHost, String> {
    if let Some(name) = named {
        return from::host(lab, name);
    }
    let mut servers = lab.hosts.iter().filter(|host| host.roles.contains(&HostRole::Server));
    match (servers.next(), servers.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(format!(
            "none of its hosts has the role server; say which with --server: {}",
            from::names(lab)
        )),
        (Some(one), Some(other)) => {
            Err(format!("{} and {} have the role server; say which with --server", one.name, other.name))
        }
    }
}

/// The generator, or whoever leads those of other hosts, has this machine to itself.
fn alone(server: &LabHost, generators: &[LabHost], are_cpus_given: bool) -> Result<Isolation, Failure> {
    if are_cpus_given {
        return Err(Failure::usage(format_args!(
            "--server-cpus divides this machine, and servers run on {}; write `cpus` in its lab file",
            server.name
        )));
    }
    let generator = cpuset::allowed();
    let address = server.address.map(|address| address.to_string()).unwrap_or_default();
    let names: Vec<&str> = generators.iter().map(|host| host.name.as_str()).collect();
    let load = match names.is_empty() {
        true => format!("load from the CPUs {generator} of this one"),
        false => format!("load from the hosts {}", names.join(", ")),
    };
    let statement = format!("servers on the host {} at {address}; {load}", server.name);
    Ok(Isolation { server: CpuSet::new(), generator, separation: Separation::Cores, statement })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_the_one_that_is_named_or_has_the_role() {
        let host = |name: &str, role: &str| {
            format!("{{\"name\": \"{name}\", \"transport\": \"local\", \"roles\": [{role}]}}")
        };
        let lab = |hosts: &[String]| -> Lab {
            serde_json::from_str(&format!("{{\"host\": [{}]}}", hosts.join(", "))).expect("a lab")
        };
        let (one, two, none) = (
            lab(&[host("a", ""), host("b", "\"server\"")]),
            lab(&[host("a", "\"server\""), host("b", "\"server\"")]),
            lab(&[host("a", "")]),
        );
        let name = |lab: &Lab, named| choose(lab, named).map(|host| host.name.clone());
        assert_eq!(name(&one, None), Ok("b".to_owned()));
        assert_eq!(name(&one, Some("a")), Ok("a".to_owned()));
        assert!(name(&one, Some("c")).is_err_and(|problem| problem.ends_with("known are a, b")));
        assert!(name(&two, None).is_err_and(|problem| problem.starts_with("a and b have the role")));
        assert!(name(&none, None).is_err_and(|problem| problem.starts_with("none of its hosts")));
    }
}
