//! Ports: a free one for a contender, and who listens on one.

use std::collections::BTreeSet;
use std::net::IpAddr;

use assay_host::limits::{free_port, port_in_use};
use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::FDTarget;

/// A port that nobody listens on at `address`: `fixed` if given, else one that the kernel chooses.
///
/// # Errors
/// In words, when `fixed` is taken or there is no such address.
pub(crate) fn free(address: IpAddr, fixed: Option<u16>) -> Result<u16, String> {
    let cannot = |error| format!("cannot listen on {address}: {error}");
    match fixed {
        None => free_port(address).map_err(cannot),
        Some(port) if port_in_use(address, port).map_err(cannot)? => {
            Err(format!("port {port} is in use by another program"))
        }
        Some(port) => Ok(port),
    }
}

/// Who listens on `port`, as far as `processes` go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// Only these processes.
    Ours,
    /// Also, or only, somebody else.
    Foreign,
    /// Nobody, or it cannot be seen (another user's processes, another network namespace).
    Unknown,
}

/// Compares the sockets that listen on `port` with those that `processes` hold.
pub(crate) fn listener(port: u16, processes: &[u32]) -> Listener {
    let listening: BTreeSet<u64> = listening()
        .into_iter()
        .filter(|socket| socket.local_address.port() == port)
        .map(|socket| socket.inode)
        .collect();
    match (listening.is_empty(), sockets_of(processes)) {
        (true, _) | (_, None) => Listener::Unknown,
        (false, Some(held)) if listening.is_subset(&held) => Listener::Ours,
        _ => Listener::Foreign,
    }
}

/// The ports that `processes` listen on.
pub(crate) fn ports_of(processes: &[u32]) -> BTreeSet<u16> {
    let held = sockets_of(processes).unwrap_or_default();
    listening()
        .into_iter()
        .filter(|socket| held.contains(&socket.inode))
        .map(|socket| socket.local_address.port())
        .collect()
}

/// Listening sockets of this network namespace, from `/proc/net/tcp` and `tcp6` (proc_pid_net(5)).
fn listening() -> Vec<TcpNetEntry> {
    let all = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().flatten().flatten();
    all.filter(|socket| socket.state == TcpState::Listen).collect()
}

/// Inodes of the sockets that `processes` hold; `None` when those of one of them cannot be seen.
fn sockets_of(processes: &[u32]) -> Option<BTreeSet<u64>> {
    let mut inodes = BTreeSet::new();
    for &pid in processes {
        // A process that ended meanwhile holds nothing.
        let Ok(process) = procfs::process::Process::new(i32::try_from(pid).ok()?) else { continue };
        match process.fd() {
            Ok(descriptors) => {
                inodes.extend(descriptors.flatten().filter_map(|descriptor| match descriptor.target {
                    FDTarget::Socket(inode) => Some(inode),
                    _ => None,
                }))
            }
            Err(procfs::ProcError::PermissionDenied(_)) => return None,
            Err(_) => {}
        }
    }
    Some(inodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn a_taken_port_is_refused_and_its_listener_known() {
        const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let here = TcpListener::bind("127.0.0.1:0").expect("listener");
        let port = here.local_addr().expect("address").port();
        let error = free(LOCAL, Some(port)).expect_err("taken");
        assert_eq!(error, format!("port {port} is in use by another program"));
        let me = std::process::id();
        assert_eq!(listener(port, &[me]), Listener::Ours);
        assert_eq!(listener(port, &[]), Listener::Foreign);
        assert!(ports_of(&[me]).contains(&port));
        drop(here);
        assert_eq!(listener(port, &[me]), Listener::Unknown);
        assert_eq!(free(LOCAL, Some(port)), Ok(port));
        assert!(
            free(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), None).expect_err("not ours").contains("192.0.2.1")
        );
    }
}
