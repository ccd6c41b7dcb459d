//! What a server is started for: a network, and the protocol that is spoken over it.

use std::fmt;

use crate::network::Network;
use crate::protocol::Protocol;

/// What one life of a server is for. A server is started afresh for each, and cells of one setting alone are compared with one
/// another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setting {
    /// The TCP and the wire; absent where the experiment names no network.
    pub network: Option<Network>,
    /// What is spoken.
    pub protocol: Protocol,
}

impl Setting {
    /// HTTP/1.1 over the run's own network.
    pub const USUAL: Self = Self { network: None, protocol: Protocol::H1 };

    /// HTTP/1.1 on a network.
    pub fn on(network: Option<Network>) -> Self {
        Self { network, protocol: Protocol::H1 }
    }
}

/// A setting as it stands behind "on": `user/ring`, `h1+tls`, `user/ring over h1+tls`.
impl fmt::Display for Setting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.network, self.protocol.is_plain()) {
            (Some(network), true) => network.fmt(out),
            (Some(network), false) => write!(out, "{network} over {}", self.protocol),
            (None, _) => self.protocol.fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_named_by_what_sets_it_apart() {
        let ring = "user/ring".parse().ok();
        for (network, protocol, name) in [
            (None, Protocol::H1, "h1"),
            (None, Protocol::H1Tls, "h1+tls"),
            (ring, Protocol::H1, "user/ring"),
            (ring, Protocol::H1Tls, "user/ring over h1+tls"),
        ] {
            assert_eq!(Setting { network, protocol }.to_string(), name);
        }
    }
}
