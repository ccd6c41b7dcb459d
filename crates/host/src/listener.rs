//! The server that answers at an address of this machine, and the CPUs on which it may run.
//!
//! From the address to the sockets that listen there (`/proc/net/tcp` and `tcp6`, proc_pid_net(5)), from their inodes to the
//! processes that hold them (`/proc/PID/fd`), and from there to all below these and to their threads. A group of sockets
//! that share a port (`SO_REUSEPORT`, socket(7)) is several sockets of one server.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use procfs::net::TcpState;
use procfs::process::FDTarget;

use crate::cpuset::CpuSet;
use crate::process::{Process, ancestors, scan_trees};

/// Most attempts to find the process that holds a socket. The socket may be closed after sockets were listed and before processes are; and
/// a process that is just being started holds all sockets of its parent, until it becomes another program.
const MOST_LOOKS: u32 = 3;
/// Most servers that are named to somebody who may have meant one of them.
const MOST_NAMED: usize = 4;

/// The server at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Processes of the server that hold a listening socket and have no such parent; all others are below them.
    pub roots: Vec<u32>,
    /// All processes of the server, ascending by pid.
    pub processes: Vec<Process>,
    /// The CPUs on which its threads may run; where it has pinned some of them, on which these may: whoever pins threads pins
    /// those that work.
    pub cpus: CpuSet,
}

/// Why a server cannot be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// The address is not this machine's, or of another network namespace.
    #[error("{address} is no address of this machine, or that of another network namespace (a container)")]
    Elsewhere {
        /// The address.
        address: IpAddr,
    },
    /// The address is ours, but no socket listens at the port.
    #[error(
        "no socket listens on port {port} in this network namespace: it is handed on to another one (a container), or nobody is there"
    )]
    NobodyListens {
        /// The port.
        port: u16,
    },
    /// The sockets are there, but the processes that hold them cannot be seen.
    #[error(
        "the server at port {port} belongs to user {uid}, whose processes cannot be looked into: run as root"
    )]
    OtherUser {
        /// The port.
        port: u16,
        /// The owner of the socket, by number.
        uid: u32,
    },
    /// A socket is held by whoever started us, or all else: a service manager that keeps it for a server.
    #[error(
        "the socket at port {port} is held by process {pid}, a manager of services, and not by a server of its own"
    )]
    Manager {
        /// The port.
        port: u16,
        /// The process that holds the socket.
        pid: u32,
    },
}

/// Where somebody listens instead of at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instead {
    /// At the same port of another address.
    Address(SocketAddr),
    /// At other ports, where the user's own servers do: their programs and ports, ascending by port.
    Ports(Vec<(String, u16)>),
}

/// A socket that listens.
#[derive(Clone, Copy, Debug)]
struct Listening {
    address: SocketAddr,
    inode: u64,
    uid: u32,
}

/// The server that answers at `address`.
///
/// # Errors
/// When it is not on this machine, or cannot be seen from here.
pub fn find(address: SocketAddr) -> Result<Found, Unseen> {
    let (ip, port) = (address.ip().to_canonical(), address.port());
    if !is_ours(ip) {
        return Err(Unseen::Elsewhere { address: ip });
    }
    let holders = holders_at(SocketAddr::new(ip, port))?;
    // Below a process above us is everything, we included. systemd keeps the sockets that it hands on (systemd.socket(5)).
    let above = ancestors(std::process::id());
    let (managers, own): (Vec<u32>, Vec<u32>) =
        holders.into_iter().partition(|pid| *pid == 1 || above.contains(pid));
    match managers.first() {
        Some(&pid) if own.is_empty() => Err(Unseen::Manager { port, pid }),
        _ => Ok(describe(&own)),
    }
}

/// Where a server listens on this machine that the user may have meant when nothing listens at `address`; `None` where somebody
/// does, where the address is of another machine, and where nobody is to be seen or so many that naming them would not help.
pub fn instead_of(address: SocketAddr) -> Option<Instead> {
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    let listening = listening();
    if !is_ours(address.ip()) || !reached(&listening, address).is_empty() {
        return None;
    }
    if let Some(other) = at_port(&listening, address.port()) {
        return Some(Instead::Address(other));
    }
    let addresses = reachable(&listening, address, rustix::process::getuid().as_raw());
    if addresses.len() > MOST_NAMED {
        return None;
    }
    let named = |at: SocketAddr| Some((find(at).ok()?.name().to_owned(), at.port()));
    let ports: Vec<(String, u16)> = addresses.into_iter().filter_map(named).collect();
    (!ports.is_empty()).then_some(Instead::Ports(ports))
}

impl Found {
    /// The name of the program: that of its first process.
    pub fn name(&self) -> &str {
        self.processes.first().map_or("", |process| process.name.as_str())
    }
}

/// Whether an address is one of this machine's: a socket can be bound to no other (bind(2), EADDRNOTAVAIL).
fn is_ours(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

/// Where the first socket that listens on `port` is reached; one that is bound to all addresses, at loopback.
fn at_port(listening: &[Listening], port: u16) -> Option<SocketAddr> {
    let socket = listening.iter().find(|socket| socket.address.port() == port)?;
    let ip = match socket.address.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    Some(SocketAddr::new(ip, port))
}

/// Where sockets of the user `uid` are reached at the address that was asked, by port.
fn reachable(listening: &[Listening], asked: SocketAddr, uid: u32) -> BTreeSet<SocketAddr> {
    let own = listening.iter().filter(|socket| socket.uid == uid);
    let at = own.map(|socket| SocketAddr::new(asked.ip(), socket.address.port()));
    at.filter(|at| !reached(listening, *at).is_empty()).collect()
}

/// All sockets that listen in this network namespace.
fn listening() -> Vec<Listening> {
    let tables = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().flatten().flatten();
    let listening = tables.filter(|socket| socket.state == TcpState::Listen);
    let listening = listening.map(|socket| Listening {
        address: socket.local_address,
        inode: socket.inode,
        uid: socket.uid,
    });
    listening.collect()
}

/// The sockets among which the kernel chooses for a connection to `address`: those bound to this very address, else those
/// bound to any; of both first those of IPv4 for IPv4 (kernel: `inet_hashtables.c`, `__inet_lookup_listener`).
fn reached(listening: &[Listening], address: SocketAddr) -> Vec<&Listening> {
    let at = |ip: IpAddr| {
        let bound = SocketAddr::new(ip, address.port());
        listening.iter().filter(|socket| socket.address == bound).collect::<Vec<_>>()
    };
    let mapped = match address.ip() {
        IpAddr::V4(ip) => IpAddr::V6(ip.to_ipv6_mapped()),
        IpAddr::V6(ip) => IpAddr::V6(ip),
    };
    let both_kinds = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let ranks = match address {
        SocketAddr::V4(_) => vec![address.ip(), mapped, IpAddr::V4(Ipv4Addr::UNSPECIFIED), both_kinds],
        SocketAddr::V6(_) => vec![address.ip(), both_kinds],
    };
    ranks.into_iter().map(at).find(|sockets| !sockets.is_empty()).unwrap_or_default()
}

/// The processes that hold the sockets which a connection to `address` reaches, ascending.
fn holders_at(address: SocketAddr) -> Result<Vec<u32>, Unseen> {
    let port = address.port();
    let mut owner = None;
    for _ in 0..MOST_LOOKS {
        let listening = listening();
        let reached = reached(&listening, address);
        owner = reached.first().map(|socket| socket.uid);
        if owner.is_none() {
            break;
        }
        let holders = holders(&reached.iter().map(|socket| socket.inode).collect());
        if !holders.is_empty() {
            return Ok(holders);
        }
    }
    Err(owner.map_or(Unseen::NobodyListens { port }, |uid| Unseen::OtherUser { port, uid }))
}

/// The processes that hold one of these sockets, ascending, as far as they can be looked into.
fn holders(inodes: &BTreeSet<u64>) -> Vec<u32> {
    let holds = |process: &procfs::process::Process| {
        let descriptors = process.fd().into_iter().flatten().flatten();
        let mut sockets = descriptors.filter_map(|descriptor| match descriptor.target {
            FDTarget::Socket(inode) => Some(inode),
            _ => None,
        });
        sockets.any(|inode| inodes.contains(&inode))
    };
    let visible = procfs::process::all_processes().into_iter().flatten().flatten();
    let holding = visible.filter(holds).filter_map(|process| u32::try_from(process.pid).ok());
    let mut holding: Vec<u32> = holding.collect();
    holding.sort_unstable();
    holding
}

fn describe(holders: &[u32]) -> Found {
    let processes = scan_trees(holders);
    // A holder below another one comes with it.
    let parent_of =
        |pid: u32| processes.iter().find(|process| process.pid == pid).map(|process| process.parent);
    let below = |pid: &u32| {
        let mut above = std::iter::successors(parent_of(*pid), |pid| parent_of(*pid)).take(processes.len());
        above.any(|pid| holders.contains(&pid))
    };
    let roots = holders.iter().copied().filter(|pid| !below(pid)).collect();
    let cpus =
        processes.iter().flat_map(|process| threads_of(process.pid)).filter_map(crate::cpuset::of_thread);
    let cpus = place_of_work(&cpus.collect::<Vec<_>>());
    Found { roots, processes, cpus }
}

/// Where threads with these CPUs do their work.
fn place_of_work(threads: &[CpuSet]) -> CpuSet {
    let together = |sets: &[&CpuSet]| sets.iter().fold(CpuSet::new(), |all, own| all.union(own));
    let all = together(&threads.iter().collect::<Vec<_>>());
    let pinned: Vec<&CpuSet> = threads.iter().filter(|own| **own != all).collect();
    if pinned.is_empty() { all } else { together(&pinned) }
}

fn threads_of(pid: u32) -> Vec<u32> {
    let process = i32::try_from(pid).ok().and_then(|pid| procfs::process::Process::new(pid).ok());
    let tasks = process.and_then(|process| process.tasks().ok()).into_iter().flatten().flatten();
    tasks.filter_map(|task| u32::try_from(task.tid).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    fn socket(address: &str, inode: u64) -> Listening {
        Listening { address: address.parse().expect(address), inode, uid: 0 }
    }

    #[test]
    fn the_sockets_that_a_connection_reaches() {
        let listening = [
            socket("0.0.0.0:80", 1),
            socket("[::]:80", 2),
            socket("127.0.0.2:80", 3),
            socket("127.0.0.2:80", 4),
            socket("[::ffff:127.0.0.3]:80", 5),
            socket("[::]:81", 6),
            socket("[::1]:81", 7),
        ];
        for (address, expected) in [
            ("127.0.0.1:80", &[1][..]),
            ("127.0.0.2:80", &[3, 4]),
            ("127.0.0.3:80", &[5]),
            ("[::1]:80", &[2]),
            ("127.0.0.1:81", &[6]),
            ("[::1]:81", &[7]),
            ("[::1]:82", &[]),
        ] {
            let found = reached(&listening, address.parse().expect(address));
            assert_eq!(found.iter().map(|socket| socket.inode).collect::<Vec<_>>(), expected, "{address}");
        }
    }

    #[test]
    fn who_listens_at_the_port_or_at_the_address_is_told_instead() {
        let listening = [socket("[::1]:80", 1), socket("[::]:81", 2), socket("127.0.0.1:82", 3)];
        let other = |port| at_port(&listening, port).map(|address| address.to_string());
        assert_eq!(
            [80, 81, 82, 83].map(other),
            [Some("[::1]:80"), Some("[::1]:81"), Some("127.0.0.1:82"), None].map(|at| at.map(str::to_owned))
        );
        let at = |asked: &str, uid| {
            let found = reachable(&listening, asked.parse().expect(asked), uid);
            found.iter().map(SocketAddr::port).collect::<Vec<_>>()
        };
        assert_eq!((at("127.0.0.1:9", 0), at("[::1]:9", 0)), (vec![81, 82], vec![80, 81]));
        assert!(at("127.0.0.1:9", 1).is_empty(), "another user's");
    }

    #[test]
    fn a_listener_at_another_address_is_told_to_who_asks_in_vain() {
        let listener = TcpListener::bind("[::1]:0").expect("a port");
        let there = listener.local_addr().expect("bound");
        let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, there.port()));
        assert_eq!(instead_of(asked), Some(Instead::Address(there)));
        assert_eq!(instead_of(there), None, "somebody is there");
        let elsewhere: SocketAddr = "192.0.2.1:80".parse().expect("an address");
        assert_eq!(instead_of(elsewhere), None);
    }

    #[test]
    fn this_process_is_found_at_its_addresses() {
        for bound in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(bound) else { continue };
            let address = listener.local_addr().expect("bound");
            let ip = match address.ip() {
                ip if !ip.is_unspecified() => ip,
                // A socket of both kinds is reached by IPv4 as well.
                _ => IpAddr::V4(Ipv4Addr::LOCALHOST),
            };
            let found = find(SocketAddr::new(ip, address.port())).expect(bound);
            assert_eq!(found.roots, [std::process::id()], "{bound}");
            // Other tests pin threads of this process, which then tell where the work is done.
            assert!(!found.cpus.is_empty() && found.cpus.is_subset(&crate::cpuset::allowed()), "{bound}");
            assert!(!found.name().is_empty());
            drop(listener);
            // A child that another test is starting holds this process's sockets until it is another program.
            let deadline = Instant::now() + Duration::from_secs(10);
            let mut gone = find(SocketAddr::new(ip, address.port()));
            while gone.is_ok() && Instant::now() < deadline {
                gone = find(SocketAddr::new(ip, address.port()));
            }
            assert_eq!(gone, Err(Unseen::NobodyListens { port: address.port() }), "{bound}");
        }
    }

    #[test]
    fn pinned_threads_tell_where_the_work_is_done() {
        for (threads, expected) in [
            (&["0-3", "0-3"][..], "0-3"),
            (&["0-3", "2", "3"], "2-3"),
            (&["2", "2"], "2"),
            (&["0-1", "0", "1"], "0-1"),
            (&[], ""),
        ] {
            let threads: Vec<CpuSet> = threads.iter().map(|list| list.parse().expect("a list")).collect();
            assert_eq!(place_of_work(&threads).to_string(), expected);
        }
    }

    #[test]
    fn workers_that_inherited_the_socket_come_with_their_parent() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::empty()).expect("ours");
        let mut worker = std::process::Command::new("sleep").arg("1000").spawn().expect("started");
        let found = find(listener.local_addr().expect("bound"));
        worker.kill().expect("alive");
        worker.wait().expect("ended");
        let found = found.expect("found");
        assert_eq!(found.roots, [std::process::id()]);
        assert!(found.processes.iter().any(|process| process.pid == worker.id()), "{found:?}");
    }

    #[test]
    fn another_machines_server_is_not_looked_for() {
        // TEST-NET-1 (RFC 5737) is nobody's address.
        let address: SocketAddr = "192.0.2.1:80".parse().expect("an address");
        assert_eq!(find(address), Err(Unseen::Elsewhere { address: address.ip() }));
    }
}
