//! Local ports for connections that we open.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// The first ephemeral port: all but the well-known ones (RFC 6056 §3.2).
pub(crate) const FIRST_PORT: u16 = 1024;
const COUNT: u32 = u16::MAX as u32 - FIRST_PORT as u32 + 1;

/// The ports in use from each local address towards each peer; taking and giving back cost the same however many there are.
#[derive(Default)]
pub(crate) struct Ports(HashMap<(IpAddr, SocketAddr), Towards>);

/// Ports towards one peer.
struct Towards {
    /// Where the range begins, so that a program that starts again does not meet its former ports (RFC 6056 §3.3.1).
    offset: u32,
    /// Ports of the range that were never used.
    fresh: u32,
    /// Given back, the longest unused first.
    freed: VecDeque<u16>,
    used: u32,
}

impl Ports {
    /// A port that no connection from `local` to `remote` uses; `None` when there is none. `start` is where a range begins.
    pub(crate) fn take(&mut self, local: IpAddr, remote: SocketAddr, start: u64) -> Option<u16> {
        let fresh = || Towards {
            offset: (start % u64::from(COUNT)) as u32,
            fresh: COUNT,
            freed: VecDeque::new(),
            used: 0,
        };
        let towards = self.0.entry((local, remote)).or_insert_with(fresh);
        let port = if towards.fresh > 0 {
            towards.fresh -= 1;
            FIRST_PORT + ((towards.offset + towards.fresh) % COUNT) as u16
        } else {
            towards.freed.pop_front()?
        };
        towards.used += 1;
        Some(port)
    }

    /// Gives a port back.
    pub(crate) fn give_back(&mut self, local: SocketAddr, remote: SocketAddr) {
        let key = (local.ip(), remote);
        let Some(towards) = self.0.get_mut(&key) else { return };
        towards.used -= 1;
        towards.freed.push_back(local.port());
        if towards.used == 0 {
            self.0.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_port_is_given_out_once_and_the_longest_unused_comes_back_first() {
        let (local, remote) = ("10.77.0.2".parse().unwrap(), "10.77.0.1:80".parse().unwrap());
        let mut ports = Ports::default();
        let all: Vec<u16> = std::iter::from_fn(|| ports.take(local, remote, 7)).collect();
        assert_eq!(all.len(), COUNT as usize);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert!(all.iter().all(|&port| port >= FIRST_PORT));
        assert!(ports.take(local, "10.77.0.1:81".parse().unwrap(), 7).is_some(), "another peer has its own");
        for port in [all[9], all[3]] {
            ports.give_back(SocketAddr::new(local, port), remote);
        }
        assert_eq!([(); 3].map(|()| ports.take(local, remote, 7)), [Some(all[9]), Some(all[3]), None]);
    }

    #[test]
    fn a_peer_without_connections_is_forgotten() {
        let (local, remote): (IpAddr, _) = ("10.77.0.2".parse().unwrap(), "10.77.0.1:80".parse().unwrap());
        let mut ports = Ports::default();
        let port = ports.take(local, remote, 0).unwrap();
        ports.give_back(SocketAddr::new(local, port), remote);
        assert!(ports.0.is_empty());
    }
}
