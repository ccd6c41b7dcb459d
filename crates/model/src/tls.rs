//! TLS as data: what connections agreed on, why one could not be secured, what a load saw of both.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::units::Nanos;

/// Why a connection could not be secured, or is secure no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TlsFault {
    /// The certificate is for another name.
    WrongName,
    /// The certificate was issued by nobody who is trusted.
    UnknownIssuer,
    /// The certificate's time is over.
    Expired,
    /// The certificate's time has not come.
    NotYetValid,
    /// The certificate is that of an authority, which issues others and is nobody's own.
    AuthorityCertificate,
    /// The certificate is for other purposes than a server's.
    OtherPurpose,
    /// The certificate is of a version of X.509 before the third.
    OldCertificate,
    /// The certificate is wrong in another way.
    BadCertificate,
    /// The two sides have no application protocol in common (ALPN, RFC 7301).
    NoProtocol,
    /// The two sides have no version, cipher or group in common.
    NoCommonParameters,
    /// The other side wants a certificate of ours and has none, or one that it does not accept.
    CertificateWanted,
    /// The other side refused with this alert (RFC 8446 §6.2).
    Refused(u8),
    /// What came is no TLS.
    NotTls,
    /// The other side closed the connection before the handshake was complete.
    ClosedInHandshake,
    /// The connection ended without the alert that says so (RFC 8446 §6.1), so what came may not be all.
    Truncated,
    /// A record does not decrypt, or breaks the rules of the protocol.
    Broken,
}

impl fmt::Display for TlsFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::WrongName => "its certificate is for another name",
            Self::UnknownIssuer => "its certificate was issued by nobody who is trusted here",
            Self::Expired => "its certificate has expired",
            Self::NotYetValid => "its certificate is not valid yet",
            Self::AuthorityCertificate => {
                "its certificate is that of an authority, not of a server (`openssl req -x509` makes one of a server with -addext \
                 basicConstraints=critical,CA:FALSE)"
            }
            Self::OtherPurpose => "its certificate is not for servers (extended key usage)",
            Self::OldCertificate => "its certificate is no X.509 of version 3",
            Self::BadCertificate => "its certificate is not valid",
            Self::NoProtocol => "it speaks no application protocol that was offered (ALPN)",
            Self::NoCommonParameters => "it has no version, cipher or group of TLS in common with us",
            Self::CertificateWanted => "it wants another certificate from us",
            Self::Refused(alert) => return write!(out, "it refused the handshake (TLS alert {alert})"),
            Self::NotTls => "what it sends is no TLS",
            Self::ClosedInHandshake => "it closed the connection in the TLS handshake",
            Self::Truncated => "the connection ended without TLS's word for it, so what came may not be all",
            Self::Broken => "what it sends breaks the rules of TLS",
        })
    }
}

impl std::error::Error for TlsFault {}

/// The key of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// RSA with a modulus of so many bits.
    Rsa(u16),
    /// ECDSA on the curve P-256.
    P256,
    /// ECDSA on the curve P-384.
    P384,
    /// ECDSA on the curve P-521.
    P521,
    /// Ed25519.
    Ed25519,
    /// Another kind of key.
    Other,
}

impl fmt::Display for KeyKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Rsa(bits) => return write!(out, "RSA {bits}"),
            Self::P256 => "ECDSA P-256",
            Self::P384 => "ECDSA P-384",
            Self::P521 => "ECDSA P-521",
            Self::Ed25519 => "Ed25519",
            Self::Other => "a key of another kind",
        })
    }
}

/// What a load saw of TLS, over the generator's whole life unless a field says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsReport {
    /// Name that the server was asked for (SNI) and that its certificate had to be for.
    pub server_name: String,
    /// Whether any certificate was taken, valid or not.
    pub insecure: bool,
    /// Whether sessions could be resumed.
    pub resumption: bool,
    /// What the first connection agreed on; absent where none was secured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<Agreed>,
    /// Connections that agreed on something else.
    #[serde(default)]
    pub otherwise: u64,
    /// Handshakes with a certificate and its signature.
    pub full: Handshakes,
    /// Handshakes that resumed a session (RFC 8446 §2.2, RFC 5246 §7.3).
    pub resumed: Handshakes,
    /// Handshakes that failed.
    #[serde(default)]
    pub failed: u64,
    /// Bytes given to the transport, TLS's own included.
    pub sent_bytes: u64,
    /// Bytes taken from the transport, TLS's own included.
    pub received_bytes: u64,
}

/// What a connection's two sides agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agreed {
    /// Version: `TLS 1.3` or `TLS 1.2`.
    pub version: String,
    /// Cipher suite by its name at IANA.
    pub cipher: String,
    /// Group of the key exchange by its name at IANA; absent where a session was resumed without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Key of the server's certificate, such as `ECDSA P-256` or `RSA 2048`.
    pub key: String,
    /// Application protocol (ALPN); absent where the server chose none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

impl Agreed {
    /// Whether this is another version, cipher suite, key or group than `asked`; a session that was resumed may have no group.
    pub fn differs_from(&self, asked: &Self) -> bool {
        let groups = self.group.as_ref().zip(asked.group.as_ref());
        (&self.version, &self.cipher, &self.key) != (&asked.version, &asked.cipher, &asked.key)
            || groups.is_some_and(|(own, asked)| own != asked)
    }
}

impl fmt::Display for Agreed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}, {}", self.version, self.cipher, self.key)?;
        self.group.as_ref().map_or(Ok(()), |group| write!(out, ", {group}"))
    }
}

/// Handshakes of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Handshakes {
    /// How many there were.
    pub count: u64,
    /// How many of them were completed in the window; their rate is this over its length.
    pub in_window: u64,
    /// From the established connection to the completed handshake, as the histograms of
    /// [`Latency`](crate::load::Latency); absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_hdr: Option<String>,
}

impl Handshakes {
    /// How many were completed in each second of a window.
    pub fn per_second(&self, window: Nanos) -> f64 {
        self.in_window as f64 / window.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}
