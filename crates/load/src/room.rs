//! Whether this machine has room for the connections: descriptors and local ports, before any of them is made.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use assay_engine::EngineKind;
use assay_host::limits::{ephemeral_port_count, nofile, raise_nofile};

use assay_tcp::Stack;

use crate::LoadError;
use crate::plan::LoadPlan;

/// Descriptors of a process beside its connections: the standard ones, a few for each thread's engine, some to read /proc.
const OTHER_DESCRIPTORS: u64 = 64;

/// Places by which the table of an io_uring engine is longer than the connections it takes (`assay_engine::Config`).
const SPARE_PLACES: u64 = 256;

/// The part of a loopback address's ports that is used before the next address is: the fuller the range, the longer
/// connect(2) looks for a free port, and former connections may still hold some in TIME-WAIT.
const FILL_SHARE: f64 = 0.5;

/// Loopback addresses that are taken at most: 127.0.0.1 to 127.0.0.250.
const MAX_LOOPBACK_SOURCES: u32 = 250;

/// Descriptors that the plan's connections need with this engine.
pub(crate) fn descriptors(plan: &LoadPlan, engine: EngineKind) -> u64 {
    match engine {
        EngineKind::Epoll => u64::from(plan.all_connections()) + OTHER_DESCRIPTORS,
        // Each thread's ring has a table of its own, no larger than the limit.
        EngineKind::IoUring => {
            plan.share(u64::from(plan.all_connections()), 0) + SPARE_PLACES + OTHER_DESCRIPTORS
        }
    }
}

impl LoadPlan {
    /// Whether the process may open the descriptors that the plan needs with this engine.
    pub fn fits(&self, engine: EngineKind) -> bool {
        descriptors(self, engine) <= nofile()[1]
    }
}

/// Raises the limit of open files as far as it may be raised, when the plan needs it.
pub(crate) fn provide_descriptors(plan: &LoadPlan) -> Result<(), LoadError> {
    let Stack::Kernel(engine) = plan.stack else { return Ok(()) };
    let needed = descriptors(plan, engine);
    let [soft, hard] = nofile();
    let too_many = |limit| LoadError::Descriptors {
        connections: plan.all_connections(),
        engine: plan.stack.name(),
        needed,
        limit,
        fitting: fitting(plan, engine, limit),
    };
    if needed > hard {
        return Err(too_many(hard));
    }
    if needed > soft {
        raise_nofile().map_err(|_| too_many(soft))?;
    }
    Ok(())
}

/// Connections that fit a limit of open files with this engine.
fn fitting(plan: &LoadPlan, engine: EngineKind, limit: u64) -> u64 {
    let room = limit.saturating_sub(OTHER_DESCRIPTORS);
    match engine {
        EngineKind::Epoll => room,
        EngineKind::IoUring => room.saturating_sub(SPARE_PLACES) * plan.cpus.len() as u64,
    }
}

/// The local addresses to connect from; none lets the system choose. Of a load that several generators share all take these in turn.
///
/// # Errors
/// An address is not this machine's, or there are not local ports enough.
pub fn sources(plan: &LoadPlan) -> Result<Vec<IpAddr>, LoadError> {
    if !plan.stack.is_kernel() {
        return Ok(plan.sources.clone());
    }
    if let Some(address) = plan.sources.iter().find(|address| is_foreign(**address)) {
        return Err(LoadError::Plan(format!(
            "{address} is no address of this machine; name one that is with --source (`ip address` lists them)"
        )));
    }
    // A kernel that does not tell its range has the usual one.
    choose(plan, ephemeral_port_count().unwrap_or(28_232))
}

/// Whether nothing can be sent from an address, as it is not this machine's. Whoever connects gets the same error where no port is left
/// (connect(2): `EADDRNOTAVAIL`); who binds to any port does not.
fn is_foreign(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_err_and(|error| error.kind() == ErrorKind::AddrNotAvailable)
}

fn choose(plan: &LoadPlan, ports: u32) -> Result<Vec<IpAddr>, LoadError> {
    let usable = (f64::from(ports) * FILL_SHARE) as u32;
    let is_loopback = matches!(plan.target.ip(), IpAddr::V4(ip) if ip.is_loopback());
    let addresses = plan.sources.len().max(1) as u32;
    if !plan.sources.is_empty() || plan.all_connections() <= usable || !is_loopback {
        let room = u64::from(ports) * u64::from(addresses);
        return if u64::from(plan.all_connections()) <= room {
            Ok(plan.sources.clone())
        } else {
            Err(LoadError::Ports {
                connections: plan.all_connections(),
                addresses,
                ports,
                target: plan.target,
            })
        };
    }
    let wanted = plan.all_connections().div_ceil(usable.max(1));
    if wanted > MAX_LOOPBACK_SOURCES {
        let addresses = MAX_LOOPBACK_SOURCES;
        return Err(LoadError::Ports {
            connections: plan.all_connections(),
            addresses,
            ports,
            target: plan.target,
        });
    }
    Ok((1..=wanted).map(|n| IpAddr::V4(Ipv4Addr::new(127, 0, 0, n as u8))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(target: &str, connections: u32) -> LoadPlan {
        LoadPlan { connections, ..LoadPlan::new(target.parse().unwrap(), Vec::new()) }
    }

    #[test]
    fn loopback_gets_as_many_addresses_as_it_needs() {
        let chosen = |connections| choose(&plan("127.0.0.1:80", connections), 28_000).unwrap();
        assert_eq!((chosen(1).len(), chosen(14_000).len()), (0, 0));
        let text: Vec<String> = chosen(14_001).iter().map(ToString::to_string).collect();
        assert_eq!(text, ["127.0.0.1", "127.0.0.2"]);
        assert_eq!(chosen(64_000).len(), 5);
        assert!(choose(&plan("127.0.0.1:80", 1 << 20), 5000).is_err());
    }

    #[test]
    fn an_address_of_another_machine_is_no_source() {
        let from = |source: &str| {
            let plan = LoadPlan { sources: vec![source.parse().unwrap()], ..plan("127.0.0.1:80", 1) };
            sources(&plan).map_err(|error| error.to_string())
        };
        assert_eq!(from("127.0.0.2").map(|sources| sources.len()), Ok(1));
        let told = from("192.0.2.7").unwrap_err();
        assert!(
            told.contains("192.0.2.7 is no address of this machine") && told.contains("--source"),
            "{told}"
        );
    }

    #[test]
    fn elsewhere_too_many_connections_are_refused_before_they_are_made() {
        assert!(choose(&plan("192.0.2.1:80", 28_000), 28_000).unwrap().is_empty());
        let error = choose(&plan("192.0.2.1:80", 28_001), 28_000).unwrap_err().to_string();
        assert!(error.contains("28001 connections") && error.contains("--source"), "{error}");
        let sources: Vec<IpAddr> = vec!["192.0.2.7".parse().unwrap(), "192.0.2.8".parse().unwrap()];
        let two = LoadPlan { sources: sources.clone(), ..plan("192.0.2.1:80", 56_000) };
        assert_eq!(choose(&two, 28_000).unwrap(), sources);
        assert!(choose(&LoadPlan { connections: 56_001, ..two }, 28_000).is_err());
    }

    #[test]
    fn io_uring_needs_a_place_for_each_connection_in_its_threads_table() {
        let plan = LoadPlan { cpus: vec![0, 1], ..plan("127.0.0.1:80", 1000) };
        assert_eq!(descriptors(&plan, EngineKind::Epoll), 1064);
        assert_eq!(descriptors(&plan, EngineKind::IoUring), 820);
        let one = LoadPlan { cpus: vec![0], ..plan };
        assert_eq!(descriptors(&one, EngineKind::IoUring), 1320);
        assert_eq!(fitting(&one, EngineKind::IoUring, 1320), 1000);
    }
}
