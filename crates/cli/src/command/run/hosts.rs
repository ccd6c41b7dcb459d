//! The roles of a lab's hosts in a run.

use assay_host::cpuset::{self, CpuSet};
use assay_host::isolation::{Isolation, Separation};
use assay_model::lab::{HostRole, Lab, LabHost, Transport};

use crate::args::RunArguments;
use crate::command::from;
use crate::failure::Failure;

/// The hosts of a run, where they are others, or this one by an agent.
#[derive(Default)]
pub(super) struct Hosts {
    /// That of the servers; absent for this one without an agent.
    pub(super) server: Option<LabHost>,
    /// That of the database; absent where the lab has none.
    pub(super) database: Option<LabHost>,
    /// Those of the load; none for this one without an agent.
    pub(super) generators: Vec<LabHost>,
}

/// The hosts that the arguments name, or that have the roles.
pub(super) fn hosts(arguments: &RunArguments) -> Result<Hosts, Failure> {
    let (file, named) = (arguments.lab.as_deref(), arguments.server.as_deref());
    if file.is_none() && named.is_none() && arguments.from.is_empty() {
        return Ok(Hosts::default());
    }
    let known = from::Hosts::of(file)?;
    let generators = known.generators(&arguments.from)?;
    let chosen = || {
        let database = database(&known.lab)?;
        let is_all_else_here = generators.is_empty();
        let server = server(&known, named, is_all_else_here && database.is_some())?;
        let is_here = |host: &LabHost| host.transport == Transport::Local && is_all_else_here;
        let away = server.filter(|host| !is_here(host)).map(|host| known.with_address(host));
        Ok((away.transpose()?, database))
    };
    let (server, database) = chosen().map_err(|problem: String| known.wrong(&problem))?;
    Ok(Hosts { server, database, generators })
}

/// The host of the servers: the one that is named, or has the role; absent for this one where it need not be named.
fn server(
    known: &from::Hosts<'_>,
    named: Option<&str>,
    may_be_this: bool,
) -> Result<Option<LabHost>, String> {
    if let Some(name) = named {
        return known.host(name).map(Some);
    }
    match only(&known.lab, HostRole::Server) {
        Ok(None) if !may_be_this => Err(match known.lab.hosts.is_empty() {
            true => "load from other hosts is for servers that they reach; say where these are to be with --server".to_owned(),
            false => format!("none of its hosts has the role server; say which with --server: {}", known.names()),
        }),
        Ok(host) => Ok(host),
        Err(both) => Err(format!("{both}; say which with --server")),
    }
}

/// The host of the database.
fn database(lab: &Lab) -> Result<Option<LabHost>, String> {
    only(lab, HostRole::Database)
        .map_err(|both| format!("{both}; a run has one database, so leave it to one of them"))
}

/// The host that has a role, if one has; that two have it.
fn only(lab: &Lab, role: HostRole) -> Result<Option<LabHost>, String> {
    let mut having = lab.hosts.iter().filter(|host| host.roles.contains(&role));
    match (having.next(), having.next()) {
        (Some(one), Some(other)) => {
            Err(format!("{} and {} have the role {}", one.name, other.name, role.name()))
        }
        (only, _) => Ok(only.cloned()),
    }
}

impl Hosts {
    /// The CPUs of servers and generator on this host, which are `here` where all stays here. The generator, or whoever leads those of
    /// other hosts, has this machine to itself.
    pub(super) fn isolation(&self, arguments: &RunArguments, here: Isolation) -> Result<Isolation, Failure> {
        let Some(server) = &self.server else { return Ok(here) };
        if arguments.server_cpus.is_some() {
            return Err(Failure::usage(format_args!(
                "--server-cpus divides this machine, and servers run on {}; write `cpus` in its lab file",
                server.name
            )));
        }
        let generator = cpuset::allowed();
        let address = server.address.map(|address| address.to_string()).unwrap_or_default();
        let names: Vec<&str> = self.generators.iter().map(|host| host.name.as_str()).collect();
        let load = match names.is_empty() {
            true => format!("load from the CPUs {generator} of this one"),
            false => format!("load from the hosts {}", names.join(", ")),
        };
        let statement = format!("servers on the host {} at {address}; {load}", server.name);
        Ok(Isolation { server: CpuSet::new(), generator, separation: Separation::Cores, statement })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_the_one_that_is_named_or_has_the_role() {
        let host = |name: &str, role: &str| {
            format!(
                "[[host]]\nname = \"{name}\"\ntransport = \"local\"\naddress = \"127.0.0.1\"\nroles = [{role}]\n"
            )
        };
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("lab.toml");
        let known = |hosts: &[String]| {
            std::fs::write(&file, hosts.concat()).expect("written");
            from::Hosts::of(Some(&file)).unwrap_or_else(|failure| panic!("{failure}"))
        };
        let (one, two, none) = (
            known(&[host("a", ""), host("b", "\"server\"")]),
            known(&[host("a", "\"server\""), host("b", "\"server\"")]),
            known(&[host("a", "")]),
        );
        let name = |known: &from::Hosts<'_>, named| {
            server(known, named, false).map(|host| host.map(|host| host.name).unwrap_or_default())
        };
        assert_eq!(name(&one, None), Ok("b".to_owned()));
        assert_eq!(name(&one, Some("a")), Ok("a".to_owned()));
        assert!(name(&one, Some("c")).is_err_and(|problem| problem.ends_with("known are a, b")));
        assert!(name(&two, None).is_err_and(|problem| problem.starts_with("a and b have the role")));
        assert!(name(&none, None).is_err_and(|problem| problem.starts_with("none of its hosts")));
        assert_eq!(server(&none, None, true), Ok(None), "only the database is elsewhere");
        let nowhere = from::Hosts::of(None).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(name(&nowhere, None).is_err_and(|problem| problem.ends_with("with --server")));
        assert_eq!(name(&nowhere, Some("ssh:me@box1")), Ok("box1".to_owned()));
        let databases = known(&[host("a", "\"database\""), host("b", "\"database\"")]);
        let problem = database(&databases.lab).expect_err("two");
        assert!(problem.starts_with("a and b have the role database; a run has one database"), "{problem}");
    }
}
