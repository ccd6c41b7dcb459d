//! Servers that somebody else runs: which processes of this machine they are, and what they use.

use std::net::SocketAddr;

use assay_host::cpuset::CpuSet;
use assay_host::listener::{self, Found, Instead, Unseen};
use assay_host::names;
use assay_model::running::Running;

use crate::subject::{Launch, Subject};

/// The server at `host:port`, where the generator will reach it.
///
/// # Errors
/// In a sentence, when it is not on this machine or cannot be seen.
pub fn find(authority: &str) -> Result<Found, String> {
    listener::find(address_of(authority)?).map_err(|unseen| unseen.to_string())
}

/// Whether the server at `host:port` is none of this machine's.
pub fn is_elsewhere(authority: &str) -> bool {
    address_of(authority).is_ok_and(|at| matches!(listener::find(at), Err(Unseen::Elsewhere { .. })))
}

fn address_of(authority: &str) -> Result<SocketAddr, String> {
    let addresses = names::resolve(authority).map_err(|e| format!("cannot resolve {authority}: {e}"))?;
    addresses.first().copied().ok_or_else(|| format!("{authority} has no address"))
}

/// All CPUs on which the running ones among `subjects` may be, as far as they are found on this machine.
pub fn cpus_of(subjects: &[Subject]) -> CpuSet {
    let found = subjects.iter().filter_map(|subject| match &subject.launch {
        Launch::Running { authority, .. } => find(authority).ok(),
        Launch::Process(_) => None,
    });
    found.fold(CpuSet::new(), |all, found| all.union(&found.cpus))
}

/// What to do where nobody listens at an address, as far as this machine shows which server the user may have meant.
pub fn instead_of(asked: SocketAddr) -> Option<String> {
    Some(match listener::instead_of(asked)? {
        Instead::Address(other) => format!("somebody listens at {other}: write that into the URL"),
        Instead::Ports(ports) => {
            let ports = ports.iter().map(|(program, port)| format!("{program} on port {port}"));
            format!(
                "start the server, or mend the port: here listen {}",
                ports.collect::<Vec<_>>().join(", ")
            )
        }
    })
}

/// What the record keeps of a search.
pub fn record<E: ToString>(found: &Result<Found, E>) -> Running {
    match found {
        Ok(found) => Running::Found {
            program: found.name().to_owned(),
            pids: found.roots.clone(),
            processes: u32::try_from(found.processes.len()).unwrap_or(u32::MAX),
            cpus: found.cpus.to_string(),
        },
        Err(why) => Running::Unseen { why: why.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_url_of_this_machine_names_its_server() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
        let authority = listener.local_addr().expect("bound").to_string();
        let subject = Subject::from_url(&format!("http://{authority}/")).expect("a URL");
        assert!(assay_host::cpuset::allowed().is_subset(&cpus_of(&[subject])));
        let Running::Found { pids, processes, .. } = record(&find(&authority)) else { panic!("not found") };
        assert!(pids == [std::process::id()] && processes >= 1);
        assert_eq!(instead_of(authority.parse().expect("an address")), None);
        // 192.0.2.0/24 is for documents (RFC 5737).
        assert!(!is_elsewhere(&authority) && is_elsewhere("192.0.2.1:80"));
        drop(listener);
        let Running::Unseen { why } = record(&find(&authority)) else { panic!("still found") };
        assert!(why.contains("no socket listens"), "{why}");
    }
}
