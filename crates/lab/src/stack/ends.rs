//! The two ends of a user-space network's wire during one life of a server.

use std::path::{Path, PathBuf};

use assay_link::{DEVICE, Link};
use assay_model::load::StackCounts;
use assay_model::network::{Network, Stack, Wire};
use assay_model::stats_page;

use crate::scratch::{SHARED_MEMORY, scratch_in};
use crate::shared_file::read_shared;

/// The ring's file in a folder of its own, which the server's supervisor makes and removes, however it ends.
const RING: &str = "ring";
const STATS_PAGE: &str = "stats";
/// Addresses on a ring. Nothing else is on that wire, so any will do; these are private (RFC 1918).
const RING_ADDRESSES: [&str; 2] = ["10.77.0.1/24", "10.77.0.2/24"];

/// One end of a wire, as `assay load`, `assay serve` and the preload library are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserEnd {
    /// `ring:PATH`, `xdp:INTERFACE`, `tap:INTERFACE`.
    pub wire: String,
    /// The end's own address with the length of the prefix; the wire's default when absent.
    pub address: Option<String>,
}

/// Both ends of a wire.
#[derive(Debug)]
pub struct Ends {
    /// The server's.
    pub server: UserEnd,
    /// The generator's.
    pub generator: UserEnd,
    /// The folder of what they share, for the server's supervisor to make and to remove.
    pub shared: PathBuf,
}

impl Ends {
    /// The ends of `network` over `link`, for so many queues; `None` for the kernel's stack.
    pub fn of(network: Network, link: &Link, queues: u16) -> Option<Self> {
        match (network.stack(), network.wire()) {
            (Stack::Kernel, _) => None,
            (Stack::User, Wire::Xdp(_)) => Some(Self::over_cable(link, queues)),
            (Stack::User, _) => Some(Self::over_ring()),
        }
    }

    fn over_cable(link: &Link, queues: u16) -> Self {
        // In the driver each queue faces its like at the other end. Behind it, where one queue is faster, a veth pair moves a
        // frame from queue 1 to queue 0: `skb_set_queue_mapping` and `skb_get_rx_queue` (linux/skbuff.h) count differently.
        let mode = if queues > 1 { ",mode=native" } else { "" };
        let wire = format!("xdp:{DEVICE}{mode}");
        let shared = scratch_in(&std::env::temp_dir());
        let addresses = link.cable_addresses().map_or([None, None], |both| both.map(Some));
        let [server, generator] = addresses.map(|address| UserEnd { wire: wire.clone(), address });
        Self { server, generator, shared }
    }

    fn over_ring() -> Self {
        let memory = Path::new(SHARED_MEMORY);
        // A machine without /dev/shm has a temporary folder that is as good, if it is in memory.
        let shared = if memory.is_dir() { scratch_in(memory) } else { scratch_in(&std::env::temp_dir()) };
        let wire = format!("ring:{}", shared.join(RING).display());
        let [server, generator] =
            RING_ADDRESSES.map(|address| UserEnd { wire: wire.clone(), address: Some(address.to_owned()) });
        Self { server, generator, shared }
    }

    /// The file in which the server's stack tells what it counts, if it is one of ours.
    pub fn stats_page(&self) -> PathBuf {
        self.shared.join(STATS_PAGE)
    }

    /// What the server's stack has counted so far, by its own account: a server is not trusted, and whatever else is there is
    /// nothing.
    pub fn server_counts(&self) -> Option<StackCounts> {
        stats_page::total(&read_shared(&self.stats_page(), stats_page::BYTES)?, &self.server.wire)
    }

    /// The address where servers listen, without its prefix.
    pub fn server_address(&self) -> &str {
        self.server.address.as_deref().and_then(|address| address.split('/').next()).unwrap_or_default()
    }
}

impl UserEnd {
    /// The arguments with which our own programs take this end.
    pub fn arguments(&self) -> impl Iterator<Item = String> {
        let address = self.address.iter().flat_map(|address| ["--wire-address".to_owned(), address.clone()]);
        ["--stack", "user", "--wire", &self.wire].map(str::to_owned).into_iter().chain(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_one_file_with_two_addresses_in_a_folder_of_its_own() {
        let network = "user/ring".parse().expect("network");
        let ends = Ends::of(network, &Link::loopback(), 1).expect("a user network");
        assert_eq!(ends.server.wire, ends.generator.wire);
        assert_ne!(ends.server.address, ends.generator.address);
        assert_eq!(ends.server_address(), "10.77.0.1");
        let folder = ends.shared;
        assert!(!folder.exists() && ends.server.wire.starts_with(&format!("ring:{}/", folder.display())));
    }

    #[test]
    fn several_queues_of_a_cable_face_each_other_in_the_driver() {
        let network = "user/xdp".parse().expect("network");
        let wire = |queues| {
            let ends = Ends::of(network, &Link::loopback(), queues);
            ends.expect("a user network").server.wire
        };
        assert_eq!((wire(1).as_str(), wire(2).as_str()), ("xdp:assay0", "xdp:assay0,mode=native"));
    }

    #[test]
    fn the_kernel_has_no_ends() {
        let network = "kernel/loopback".parse().expect("network");
        assert!(Ends::of(network, &Link::loopback(), 1).is_none());
    }

    #[test]
    fn an_end_is_told_in_arguments() {
        let end = UserEnd { wire: "xdp:assay0".to_owned(), address: Some("198.18.0.1/30".to_owned()) };
        let words: Vec<String> = end.arguments().collect();
        assert_eq!(words.join(" "), "--stack user --wire xdp:assay0 --wire-address 198.18.0.1/30");
        assert_eq!(UserEnd { address: None, ..end }.arguments().count(), 4);
    }
}
