//! Ports: a free one for a contender, and who listens on one.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener};

use assay_link::Link;
use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process};
use serde::{Deserialize, Serialize};

/// What is wrong with a port that somebody else has.
const IN_USE: &str = "is in use by another program";

/// What to do about `problem` of a port that could not be had, here or on another host.
pub(crate) fn remedy(problem: &str) -> &'static str {
    match problem.contains(IN_USE) {
        true => "end the program that uses it, or choose another port",
        false => {
            "choose another port; those below 1024 are root's, unless sysctl net.ipv4.ip_unprivileged_port_start says otherwise"
        }
    }
}

/// A port that nobody listens on at the server's end of `link`: `fixed` if given, else one that the kernel chooses. Between
/// this call and the server's own another program may take it; whoever answers is looked at again ([`listener`]).
///
/// # Errors
/// In words, when `fixed` is taken or nobody can listen there.
pub(crate) fn free(link: &Link, fixed: Option<u16>) -> Result<u16, String> {
    of_listener(link.listen(fixed.unwrap_or(0)), link.server_address(), fixed)
}

/// A port that nobody listens on at an address of this host, as for [`free`].
///
/// # Errors
/// As for [`free`].
pub(crate) fn free_at(address: IpAddr, fixed: Option<u16>) -> Result<u16, String> {
    of_listener(TcpListener::bind((address, fixed.unwrap_or(0))), address, fixed)
}

fn of_listener(listener: io::Result<TcpListener>, at: IpAddr, fixed: Option<u16>) -> Result<u16, String> {
    // Closed without ever having had a connection, so no TIME_WAIT stays behind.
    match (listener.and_then(|listener| listener.local_addr()), fixed) {
        (Ok(address), _) => Ok(address.port()),
        (Err(error), Some(port)) if error.kind() == ErrorKind::AddrInUse => {
            Err(format!("port {port} {IN_USE}"))
        }
        (Err(error), Some(port)) => Err(format!("cannot listen on {}: {error}", SocketAddr::new(at, port))),
        (Err(error), None) => Err(format!("cannot listen on {at}: {error}")),
    }
}

/// Who listens on `port`, as far as `processes` go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listener {
    /// Only these processes.
    Ours,
    /// Somebody else listens, also or only.
    Foreign,
    /// Nobody, or it cannot be seen (another user's processes, another network namespace).
    Unknown,
}

/// Compares the sockets that listen on `port` with those that `processes` hold.
pub(crate) fn listener(port: u16, processes: &[u32]) -> Listener {
    let listening: BTreeSet<u64> = listening(processes)
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

/// The addresses at which these processes listen, ports included.
pub(crate) fn addresses_of(processes: &[u32]) -> BTreeSet<SocketAddr> {
    let held = sockets_of(processes).unwrap_or_default();
    let own = listening(processes).into_iter().filter(|socket| held.contains(&socket.inode));
    own.map(|socket| socket.local_address).collect()
}

/// Whether who asks at an address reaches a listener. One at all addresses of IPv6 takes those of IPv4 as well, unless it says
/// otherwise (ipv6(7), `IPV6_V6ONLY`), which cannot be seen.
pub(crate) fn reaches(at: SocketAddr, listener: SocketAddr) -> bool {
    let ip = listener.ip().to_canonical();
    listener.port() == at.port() && (ip.is_unspecified() || ip == at.ip().to_canonical())
}

/// Listening sockets of the network namespace that the first of `processes` is in, or we, from `/proc/PID/net/tcp` and `tcp6`
/// (proc_pid_net(5)).
fn listening(processes: &[u32]) -> Vec<TcpNetEntry> {
    let first = processes.iter().find_map(|&pid| Process::new(i32::try_from(pid).ok()?).ok());
    let tables = match first {
        Some(process) => [process.tcp(), process.tcp6()],
        None => [procfs::net::tcp(), procfs::net::tcp6()],
    };
    let all = tables.into_iter().flatten().flatten();
    all.filter(|socket| socket.state == TcpState::Listen).collect()
}

/// Inodes of the sockets that `processes` hold; `None` when those of one of them cannot be seen.
fn sockets_of(processes: &[u32]) -> Option<BTreeSet<u64>> {
    let mut inodes = BTreeSet::new();
    for &pid in processes {
        // A process that ended meanwhile holds nothing.
        let Ok(process) = Process::new(i32::try_from(pid).ok()?) else { continue };
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
    use std::net::TcpListener;

    #[test]
    fn a_taken_port_is_refused_and_its_listener_known() {
        let local = Link::loopback();
        let here = TcpListener::bind("127.0.0.1:0").expect("listener");
        let port = here.local_addr().expect("address").port();
        let error = free(&local, Some(port)).expect_err("taken");
        assert_eq!(error, format!("port {port} is in use by another program"));
        assert!(remedy(&error).contains("end the program"), "{}", remedy(&error));
        let me = std::process::id();
        assert_eq!(listener(port, &[me]), Listener::Ours);
        assert_eq!(listener(port, &[]), Listener::Foreign);
        assert!(addresses_of(&[me]).contains(&here.local_addr().expect("address")));
        drop(here);
        assert_eq!(listener(port, &[me]), Listener::Unknown);
        assert_eq!(free(&local, Some(port)), Ok(port));
        assert!(free(&local, None).expect("a port") > 0);
    }

    #[test]
    fn a_port_that_may_not_be_had_is_named_and_nobody_is_to_be_ended_for_it() {
        let denied = Err(ErrorKind::PermissionDenied.into());
        let error = of_listener(denied, Link::loopback().server_address(), Some(80)).expect_err("denied");
        assert_eq!(error, "cannot listen on 127.0.0.1:80: permission denied");
        assert!(remedy(&error).starts_with("choose another port"), "{}", remedy(&error));
    }

    #[test]
    fn a_listener_is_reached_at_its_own_address_or_at_any_if_it_has_none() {
        let reached = |at: &str, listener: &str| {
            reaches(at.parse().expect("address"), listener.parse().expect("address"))
        };
        for listener in ["127.0.0.1:80", "0.0.0.0:80", "[::]:80", "[::ffff:127.0.0.1]:80"] {
            assert!(reached("127.0.0.1:80", listener), "{listener}");
        }
        for listener in ["127.0.0.1:81", "[::1]:80", "127.0.0.2:80", "[::]:81"] {
            assert!(!reached("127.0.0.1:80", listener), "{listener}");
        }
    }
}
