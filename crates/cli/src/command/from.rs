//! The hosts that a command line names: those of a lab file, or typed ones, which need no file.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::Path;

use assay_lab::catalogue::{read_lab, typed_host};
use assay_model::lab::{HostRole, Lab, LabHost, Transport};

use crate::failure::Failure;

/// The hosts that can be named.
pub(crate) struct Hosts<'a> {
    file: Option<&'a Path>,
    pub(crate) lab: Lab,
}

impl<'a> Hosts<'a> {
    /// The hosts of a lab file, if one is given.
    pub(crate) fn of(file: Option<&'a Path>) -> Result<Self, Failure> {
        Ok(Self { file, lab: file.map(read_lab).transpose()?.unwrap_or_default() })
    }

    /// The hosts from which load is to come: those that are named, else those whose role is generator. None where that is this host alone,
    /// whose generator needs no agent.
    pub(crate) fn generators(&self, named: &[String]) -> Result<Vec<LabHost>, Failure> {
        let chosen = self.with_role(HostRole::Generator, named).map_err(|problem| self.wrong(&problem))?;
        let is_this_one = matches!(&chosen[..], [only] if only.transport == Transport::Local);
        Ok(if is_this_one { Vec::new() } else { chosen })
    }

    /// The host of that name, or the one that is typed in its place.
    pub(crate) fn host(&self, name: &str) -> Result<LabHost, String> {
        if let Some(typed) = typed_host(name) {
            return typed;
        }
        let found = self.lab.hosts.iter().find(|host| host.name == name).cloned();
        found.ok_or_else(|| match self.file {
            Some(_) => format!("there is no host `{name}` in it; known are {}", self.quoted_names()),
            None => format!("{name} is a name of no lab file: give one with --lab, or write ssh:{name}"),
        })
    }

    /// A host with the address at which load reaches it: a typed one may leave that to its name.
    pub(crate) fn with_address(&self, host: LabHost) -> Result<LabHost, String> {
        match host.address {
            Some(_) => Ok(host),
            None if self.lab.hosts.contains(&host) => {
                Err(format!("{} has no address for the load; write `address`", host.name))
            }
            None => Ok(LabHost { address: Some(address_of(&host)?), ..host }),
        }
    }

    /// The names of all hosts of the file.
    pub(crate) fn names(&self) -> String {
        self.lab.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Names of the hosts in quotation marks, because any word may be one.
    fn quoted_names(&self) -> String {
        let quoted = self.lab.hosts.iter().map(|host| format!("`{}`", host.name));
        quoted.collect::<Vec<_>>().join(", ")
    }

    /// What is wrong with them.
    pub(crate) fn wrong(&self, problem: &str) -> Failure {
        match self.file {
            Some(file) => Failure::usage(format_args!("{}: {problem}", file.display())),
            None => Failure::usage(problem),
        }
    }

    /// The hosts that are named for a role, else those that have it.
    pub(crate) fn with_role(&self, role: HostRole, named: &[String]) -> Result<Vec<LabHost>, String> {
        if named.is_empty() {
            let has = |host: &&LabHost| host.roles.contains(&role);
            return Ok(self.lab.hosts.iter().filter(has).cloned().collect());
        }
        let hosts: Vec<LabHost> = named.iter().map(|name| self.host(name)).collect::<Result<_, _>>()?;
        let twice = hosts
            .iter()
            .enumerate()
            .find(|(index, host)| hosts[..*index].iter().any(|other| other.name == host.name));
        match twice {
            Some((_, host)) => {
                let role = match role {
                    HostRole::Generator => "each host has one generator with all of its CPUs",
                    _ => "each host has its turn as it is",
                };
                Err(format!("{} is named twice; {role}", host.name))
            }
            None => Ok(hosts),
        }
    }
}

/// Where load reaches a typed host behind which no address stands: the first that its name has here.
fn address_of(host: &LabHost) -> Result<IpAddr, String> {
    let (destination, name) = (host.destination(), host.machine());
    let found = (name, 0).to_socket_addrs().ok().and_then(|mut found| found.next());
    let unknown = || {
        format!(
            "this host knows no address of {name}, at which load is to reach it; write one behind it, such as \
             {}:{destination}=10.0.0.1",
            host.transport.name()
        )
    };
    found.map(|address| address.ip()).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab(hosts: &[(&str, &str, &str)]) -> Hosts<'static> {
        let host = |(name, transport, role): &(&str, &str, &str)| {
            format!("{{\"name\": \"{name}\", \"transport\": \"{transport}\", \"roles\": [{role}]}}")
        };
        let hosts: Vec<String> = hosts.iter().map(host).collect();
        let lab = serde_json::from_str(&format!("{{\"host\": [{}]}}", hosts.join(", "))).expect("a lab");
        Hosts { file: Some(Path::new("lab.toml")), lab }
    }

    fn names(hosts: &Hosts<'_>, named: &[&str]) -> Result<String, String> {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let found = hosts.generators(&named).map_err(|failure| failure.to_string());
        found.map(|hosts| hosts.into_iter().map(|host| host.name).collect::<Vec<_>>().join(","))
    }

    #[test]
    fn load_comes_from_those_that_are_named_or_have_the_role() {
        let role = "\"generator\"";
        let two = lab(&[("here", "local", role), ("box1", "ssh", ""), ("box2", "ssh", role)]);
        let one = lab(&[("here", "local", role), ("box1", "ssh", "\"server\"")]);
        assert_eq!(names(&two, &[]).as_deref(), Ok("here,box2"));
        assert_eq!(names(&two, &["box2", "box1"]).as_deref(), Ok("box2,box1"));
        assert_eq!(names(&one, &[]).as_deref(), Ok(""), "this host needs no agent");
        assert_eq!(names(&two, &["here"]).as_deref(), Ok(""));
        let unknown = "lab.toml: there is no host `box3` in it; known are `here`, `box1`, `box2`";
        assert_eq!(names(&two, &["box3"]), Err(unknown.to_owned()));
        assert!(names(&two, &["box1", "box1"]).is_err_and(|problem| problem.contains("box1 is named twice")));
    }

    #[test]
    fn a_typed_host_needs_no_file() {
        let none = Hosts { file: None, lab: Lab::default() };
        assert_eq!(names(&none, &["ssh:me@box1", "slurm:gen2"]).as_deref(), Ok("box1,gen2"));
        assert!(
            names(&none, &["ssh:me@box1", "ssh:you@box1"]).is_err_and(|problem| problem.contains("twice"))
        );
        let problem = names(&none, &["box1"]).expect_err("no file");
        assert_eq!(problem, "box1 is a name of no lab file: give one with --lab, or write ssh:box1");
        let host = |text: &str| typed_host(text).expect("typed").expect("a host");
        assert_eq!(address_of(&host("ssh:root@127.0.0.1")), Ok(IpAddr::from([127, 0, 0, 1])));
        let unknown = address_of(&host("ssh:me@no-such.invalid")).expect_err("nobody's name");
        assert!(unknown.ends_with("such as ssh:me@no-such.invalid=10.0.0.1"), "{unknown}");
    }
}
