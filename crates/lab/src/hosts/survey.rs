//! A look at every host of a lab: whether an agent answers, how its clock stands to ours, what its machine is.

use std::net::IpAddr;
use std::thread;

use assay_model::cpuset::CpuSet;
use assay_model::lab::{HostFound, HostReport, HostRole, LAB_SCHEMA, Lab, LabHost, LabReport};

use super::asking::Agent as _;
use super::error::HostError;
use super::message::{Answer, Request};
use super::session::{OwnProgram, Session};

/// Looks at all hosts at the same time.
pub fn survey(lab: &Lab, own: &OwnProgram) -> LabReport {
    let hosts = thread::scope(|scope| {
        let look = |host| scope.spawn(move || visit(host, own));
        let looks: Vec<_> = lab.hosts.iter().map(look).collect();
        // A thread that panics has found a fault of ours, which is no host's.
        looks.into_iter().filter_map(|look| look.join().ok()).collect()
    });
    LabReport { schema: LAB_SCHEMA.to_owned(), hosts }
}

fn visit(host: &LabHost, own: &OwnProgram) -> HostReport {
    let mut problems = Vec::new();
    let found = look(host, own, &mut problems).map_err(|error| problems.push(error.to_string())).ok();
    HostReport { host: host.clone(), found, problems }
}

/// What its agent tells; what speaks against the host is appended to `problems`.
fn look(host: &LabHost, own: &OwnProgram, problems: &mut Vec<String>) -> Result<HostFound, HostError> {
    let session = Session::open(host, own, &mut || true)?;
    let clock = session.clock()?;
    let (diagnosis, cpus, free_bytes, has_postgresql) = match session.ask(Request::Machine)? {
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
    problems.extend(host.address.and_then(|address| elsewhere(&session, address)));
    problems.extend(lacking(host, &cpus));
    problems.extend(session.end().err().map(|error| error.to_string()));
    Ok(HostFound { clock, cpus, diagnosis, free_bytes })
}

/// That it is to use CPUs that it may not use.
fn lacking(host: &LabHost, allowed: &str) -> Option<String> {
    let wanted: CpuSet = host.cpus.as_ref()?.parse().ok()?;
    let is_allowed = allowed.parse().is_ok_and(|allowed: CpuSet| wanted.is_subset(&allowed));
    let name = &host.name;
    (!is_allowed).then(|| format!("{name} allows the CPUs {allowed} and is to use {wanted}; mend its `cpus`"))
}

/// That nothing can listen there on the address of the load.
fn elsewhere(session: &Session, address: IpAddr) -> Option<String> {
    let problem = session.ask(Request::Port { address, fixed: None }).err()?;
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
