//! The roles of a lab's hosts in a run.

use assay_host::cpuset::{self, CpuSet};
use assay_host::isolation::{Isolation, Separation};
use assay_model::lab::{HostRole, Lab, LabHost, Transport};

use crate::args::RunArguments;
use crate::command::from;
use crate::failure::Failure;

/// The hosts of a run, where they are others, or this one by an agent.
#[derive(Default)]
pub(super) struct RunHosts {
    /// Hosts of the servers, in turns; none for this one without an agent.
    pub(super) servers: Vec<LabHost>,
    /// Host of the database; absent where the lab has none.
    pub(super) database: Option<LabHost>,
    /// Hosts of the load; none for this one without an agent.
    pub(super) generators: Vec<LabHost>,
}

/// The hosts that the arguments name, or that have the roles.
pub(super) fn hosts(arguments: &RunArguments) -> Result<RunHosts, Failure> {
    let (file, named) = (arguments.lab.as_deref(), arguments.server.as_slice());
    if file.is_none() && named.is_empty() && arguments.from.is_empty() {
        return Ok(RunHosts::default());
    }
    let known = from::Hosts::of(file)?;
    let generators = known.generators(&arguments.from)?;
    let chosen = || {
        let database = database(&known.lab)?;
        let is_all_else_here = generators.is_empty();
        let servers = servers(&known, named, is_all_else_here && database.is_some())?;
        let is_here =
            matches!(&servers[..], [only] if only.transport == Transport::Local && is_all_else_here);
        let away = servers.into_iter().filter(|_| !is_here).map(|host| known.with_address(host));
        Ok((away.collect::<Result<_, _>>()?, database))
    };
    let (servers, database) = chosen().map_err(|problem: String| known.wrong(&problem))?;
    Ok(RunHosts { servers, database, generators })
}

/// The hosts of the servers: those that are named, or have the role; none for this one where it need not be named.
fn servers(known: &from::Hosts<'_>, named: &[String], may_be_this: bool) -> Result<Vec<LabHost>, String> {
    let having = known.with_role(HostRole::Server, named)?;
    if having.is_empty() && !may_be_this {
        return Err(match known.lab.hosts.is_empty() {
            true => "load from other hosts is for servers that they reach; say where these are to be with --server".to_owned(),
            false => format!("none of its hosts has the role server; say which with --server: {}", known.names()),
        });
    }
    Ok(having)
}

/// The host of the database.
fn database(lab: &Lab) -> Result<Option<LabHost>, String> {
    let mut having = lab.hosts.iter().filter(|host| host.roles.contains(&HostRole::Database));
    match (having.next(), having.next()) {
        (Some(one), Some(other)) => Err(format!(
            "{} and {} have the role database; a run has one database, so leave it to one of them",
            one.name, other.name
        )),
        (only, _) => Ok(only.cloned()),
    }
}

impl RunHosts {
    /// The CPUs of servers and generator on this host, which are `here` where all stays here. The generator, or whoever leads those of
    /// other hosts, has this machine to itself.
    pub(super) fn isolation(&self, arguments: &RunArguments, here: Isolation) -> Result<Isolation, Failure> {
        let named = |host: &LabHost| match host.address {
            Some(address) => format!("{} at {address}", host.name),
            None => host.name.clone(),
        };
        let servers = match self.servers.as_slice() {
            [] => return Ok(here),
            [only] => format!("servers on the host {}", named(only)),
            several => {
                let named: Vec<String> = several.iter().map(named).collect();
                format!("servers on the hosts {} in turns", named.join(", "))
            }
        };
        if arguments.server_cpus.is_some() {
            return Err(Failure::usage(format_args!(
                "--server-cpus divides this machine, and servers run on {}; write `cpus` in its lab file",
                self.servers[0].name
            )));
        }
        let generator = cpuset::allowed();
        let names: Vec<&str> = self.generators.iter().map(|host| host.name.as_str()).collect();
        let load = match names.is_empty() {
            true => format!("load from the CPUs {generator} of this one"),
            false if self.servers.len() > 1 => {
                format!("load from those of the hosts {} that have no servers", names.join(", "))
            }
            false => format!("load from the hosts {}", names.join(", ")),
        };
        let statement = format!("{servers}; {load}");
        Ok(Isolation { server: CpuSet::new(), generator, separation: Separation::Cores, statement })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_are_those_that_are_named_or_have_the_role() {
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
        let names = |known: &from::Hosts<'_>, named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
            let found = servers(known, &named, false)?;
            Ok::<_, String>(found.into_iter().map(|host| host.name).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(names(&one, &[]), Ok("b".to_owned()));
        assert_eq!(names(&one, &["a"]), Ok("a".to_owned()));
        assert!(names(&one, &["c"]).is_err_and(|problem| problem.ends_with("known are `a`, `b`")));
        assert_eq!(names(&two, &[]), Ok("a b".to_owned()), "they take turns");
        assert_eq!(names(&two, &["b", "a"]), Ok("b a".to_owned()));
        assert!(names(&two, &["b", "b"]).is_err_and(|problem| problem.starts_with("b is named twice")));
        assert!(names(&none, &[]).is_err_and(|problem| problem.starts_with("none of its hosts")));
        assert_eq!(servers(&none, &[], true), Ok(Vec::new()), "only the database is elsewhere");
        let nowhere = from::Hosts::of(None).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(names(&nowhere, &[]).is_err_and(|problem| problem.ends_with("with --server")));
        assert_eq!(names(&nowhere, &["ssh:me@box1"]), Ok("box1".to_owned()));
        let databases = known(&[host("a", "\"database\""), host("b", "\"database\"")]);
        let problem = database(&databases.lab).expect_err("two");
        assert!(problem.starts_with("a and b have the role database; a run has one database"), "{problem}");
    }
}
