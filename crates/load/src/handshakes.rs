//! What one thread saw of TLS: what its connections agreed on, and how long their handshakes took.

use assay_engine::{Parameters, Security};
use assay_model::tls::{Agreed, Handshakes as Reported};
use assay_model::units::Nanos;
use assay_stats::{Histogram, StatsError};

/// Handshakes by kind, from the thread's beginning.
#[derive(Clone, Default)]
pub(crate) struct Handshakes {
    /// What the first connection agreed on.
    first: Option<Parameters>,
    /// Connections that agreed on something else.
    pub(crate) otherwise: u64,
    pub(crate) full: Kind,
    pub(crate) resumed: Kind,
}

/// Handshakes of one kind.
#[derive(Clone, Default)]
pub(crate) struct Kind {
    times: Histogram,
    in_window: u64,
}

impl Handshakes {
    /// A handshake was completed at `now`.
    pub(crate) fn completed(&mut self, security: &Security, now: Nanos, is_in_window: bool) {
        let parameters = &security.parameters;
        let first = self.first.get_or_insert(*parameters);
        self.otherwise += u64::from(!agree(first, parameters));
        let kind = if security.is_resumed { &mut self.resumed } else { &mut self.full };
        kind.times.record((now - security.began).0);
        kind.in_window += u64::from(is_in_window);
    }

    /// Adds what another thread saw.
    pub(crate) fn merge(&mut self, other: &Self) {
        let is_alike = match (&self.first, &other.first) {
            (Some(ours), Some(theirs)) => agree(ours, theirs),
            _ => true,
        };
        let count = other.full.times.count() + other.resumed.times.count();
        self.otherwise += if is_alike { other.otherwise } else { count };
        self.first = self.first.or(other.first);
        self.full.merge(&other.full);
        self.resumed.merge(&other.resumed);
    }

    /// What the first connection agreed on.
    pub(crate) fn agreed(&self) -> Option<Agreed> {
        let Parameters { version, cipher, group, key, protocol } = self.first?;
        Some(Agreed {
            version: version.to_owned(),
            cipher: cipher.to_owned(),
            group: group.map(str::to_owned),
            key: key.map_or_else(|| "no key".to_owned(), |key| key.to_string()),
            protocol: protocol.map(str::to_owned),
        })
    }
}

/// Whether two connections agreed on the same. One that resumed a session may have had no key exchange.
fn agree(one: &Parameters, other: &Parameters) -> bool {
    let groups_differ = matches!((one.group, other.group), (Some(one), Some(other)) if one != other);
    !groups_differ && Parameters { group: None, ..*one } == Parameters { group: None, ..*other }
}

impl Kind {
    fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.in_window += other.in_window;
    }

    /// Handshakes as they are told.
    pub(crate) fn told(&self) -> Result<Reported, StatsError> {
        let time_hdr = (!self.times.is_empty()).then(|| self.times.to_hdr_base64()).transpose()?;
        Ok(Reported { count: self.times.count(), in_window: self.in_window, time_hdr })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TLS13: Parameters = Parameters {
        version: "TLS 1.3",
        cipher: "TLS_AES_256_GCM_SHA384",
        group: Some("X25519"),
        key: None,
        protocol: Some("http/1.1"),
    };

    fn completed(handshakes: &mut Handshakes, parameters: Parameters, is_resumed: bool) {
        let security = Security { began: Nanos(100), is_resumed, parameters };
        handshakes.completed(&security, Nanos(350), is_resumed);
    }

    #[test]
    fn kinds_are_told_apart_and_so_is_what_was_agreed_otherwise() {
        let mut handshakes = Handshakes::default();
        completed(&mut handshakes, TLS13, false);
        completed(&mut handshakes, Parameters { group: None, ..TLS13 }, true);
        completed(&mut handshakes, Parameters { group: Some("secp256r1"), ..TLS13 }, false);
        let counts = [&handshakes.full, &handshakes.resumed].map(|kind| (kind.times.count(), kind.in_window));
        assert_eq!((counts, handshakes.otherwise), ([(2, 0), (1, 1)], 1));
        assert_eq!(handshakes.full.times.sum(), 500);
    }

    #[test]
    fn a_thread_whose_connections_all_agreed_otherwise_counts_with_all_of_them() {
        let mut all = Handshakes::default();
        let mut others = Handshakes::default();
        completed(&mut all, TLS13, false);
        (0..3).for_each(|_| completed(&mut others, Parameters { version: "TLS 1.2", ..TLS13 }, false));
        all.merge(&others);
        assert_eq!((all.otherwise, all.full.times.count()), (3, 4));
        assert_eq!(all.agreed().map(|agreed| agreed.version), Some("TLS 1.3".to_owned()));
    }
}
