//! What both sides agreed on, in the words of IANA.

use assay_engine::Parameters;
use rustls::{CipherSuite, CommonState, ProtocolVersion};

use crate::{PROTOCOLS, key};

/// What is not named here nobody offered.
const UNKNOWN: &str = "unknown";

/// What a connection agreed on, once its handshake is complete.
pub(crate) fn of(tls: &CommonState) -> Parameters {
    Parameters {
        version: tls.protocol_version().map_or(UNKNOWN, version),
        cipher: tls.negotiated_cipher_suite().map_or(UNKNOWN, |suite| cipher(suite.suite())),
        group: tls.negotiated_key_exchange_group().and_then(|group| group.name().as_str()),
        key: tls.peer_certificates().and_then(<[_]>::first).map(key::kind),
        protocol: tls.alpn_protocol().and_then(protocol),
    }
}

fn version(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::TLSv1_3 => "TLS 1.3",
        ProtocolVersion::TLSv1_2 => "TLS 1.2",
        other => other.as_str().unwrap_or(UNKNOWN),
    }
}

/// rustls has names of its own for those of TLS 1.3.
pub(crate) fn cipher(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        other => other.as_str().unwrap_or(UNKNOWN),
    }
}

fn protocol(chosen: &[u8]) -> Option<&'static str> {
    PROTOCOLS.into_iter().find(|known| *known == chosen).and_then(|known| str::from_utf8(known).ok())
}
