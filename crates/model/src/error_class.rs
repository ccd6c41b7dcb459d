//! The classes of failed requests.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::tls::TlsFault;

/// Why a request failed; the classes are disjoint (docs/method/validation.md#classes-of-failure).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Nobody listens at the address.
    ConnectRefused,
    /// The connection was not established in time.
    ConnectTimeout,
    /// Any other failure to connect.
    ConnectOther,
    /// No local port was left.
    AddressExhausted,
    /// The server's certificate is for another name.
    TlsWrongName,
    /// The server's certificate was issued by nobody who is trusted.
    TlsUnknownIssuer,
    /// The server's certificate is not valid yet, or no longer.
    TlsExpired,
    /// The server's certificate is wrong in another way.
    TlsBadCertificate,
    /// No application protocol in common (ALPN).
    TlsNoProtocol,
    /// The server refused the handshake: for want of common parameters, or of a certificate of ours.
    TlsRefused,
    /// The server speaks no TLS.
    TlsNotSpoken,
    /// The server closed the connection in the handshake.
    TlsClosed,
    /// What the server sent breaks the rules of TLS.
    TlsBroken,
    /// The server does not become a WebSocket.
    UpgradeRefused,
    /// Reset while the request was being sent.
    SendReset,
    /// The server did not take the whole request in time: its windows stayed shut, or it gave it back again and again, unlooked at.
    SendTimeout,
    /// Reset before the response's head was complete.
    ResetBeforeHead,
    /// Reset inside the response's body.
    ResetInBody,
    /// The server reset the request's stream, and nothing but that (RFC 9113 §6.4).
    StreamReset,
    /// The connection ended before the response did.
    EarlyEof,
    /// No complete head in time.
    HeadTimeout,
    /// No complete body in time.
    BodyTimeout,
    /// Not HTTP/1.1 by RFC 9112, or not HTTP/2 by RFC 9113.
    Parse,
    /// Another status than expected.
    UnexpectedStatus,
    /// A proxy's own answer in place of its upstream's (502 or 504, RFC 9110 §15.6), which was not expected.
    BadGateway,
    /// A body of the right length with other content.
    WrongBody,
    /// A body of another length than expected.
    WrongLength,
    /// A header field other than expected.
    WrongHeader,
    /// Not WebSocket by RFC 6455.
    BadFrame,
    /// A message of another kind than the one that was sent.
    WrongKind,
    /// A call of gRPC that ended with another status than OK.
    RpcStatus,
    /// An answer to a call of gRPC that tells no status.
    RpcNoStatus,
    /// An answer to a call of gRPC with status OK and no message.
    RpcNoMessage,
    /// An answer to a call of gRPC whose body is not one message in its frame: another length, another flag, bytes behind it.
    RpcBadFrame,
    /// A message of gRPC that is compressed, though no coding was agreed on.
    RpcCompressed,
    /// A coded body, such as one of gzip, that does not decompress.
    BadCoding,
    /// A coded body that inflates to more than is looked at.
    Inflates,
    /// Due, but no connection could be had before the end.
    UnsentNoConnection,
    /// Due, but not sent before the end.
    UnsentEnd,
    /// A fault of the generator itself.
    ClientInternal,
}

impl ErrorClass {
    /// Whether a request was given up after a wait whose length is known, so that it is among the times of those that were cut off too. One
    /// whose connection was not made in time never left, and is not.
    pub fn is_cut_off(self) -> bool {
        matches!(
            self,
            Self::HeadTimeout
                | Self::BodyTimeout
                | Self::SendTimeout
                | Self::UnsentEnd
                | Self::UnsentNoConnection
        )
    }

    /// Whether an answer came that was not the right one; unlike no answer, which a crowded machine can cause.
    pub fn is_wrong_answer(self) -> bool {
        matches!(
            self,
            Self::Parse
                | Self::UnexpectedStatus
                | Self::BadGateway
                | Self::WrongBody
                | Self::WrongLength
                | Self::WrongHeader
                | Self::BadFrame
                | Self::WrongKind
                | Self::RpcStatus
                | Self::RpcNoStatus
                | Self::RpcNoMessage
                | Self::RpcBadFrame
                | Self::RpcCompressed
                | Self::BadCoding
                | Self::Inflates
        )
    }

    /// What a client's arguments can do about a connection that cannot be secured; nothing for what has other reasons.
    pub fn remedy_of_tls(self) -> Option<&'static str> {
        Some(match self {
            Self::TlsWrongName => {
                "name what it is for with --server-name, or take any certificate with --insecure"
            }
            Self::TlsUnknownIssuer => {
                "name the authority's certificate with --cacert FILE, or take any certificate with --insecure"
            }
            Self::TlsExpired => {
                "renew it, or see to this machine's clock; --insecure takes any certificate all the same"
            }
            Self::TlsBadCertificate => "mend it, or take any certificate with --insecure",
            Self::TlsNoProtocol => {
                "let the server choose what is offered: h2 with --http 2 and for gRPC, http/1.1 without"
            }
            Self::TlsRefused => {
                "see in the server's log what it misses: a certificate of ours (--cert, --key), or a version or cipher"
            }
            Self::TlsNotSpoken => {
                "see that it listens for TLS at this port, or write http:// for one without"
            }
            Self::TlsClosed => "see in the server's log why, and that it listens for TLS at this port",
            Self::TlsBroken => "see what is between us and the server",
            _ => return None,
        })
    }
}

impl From<TlsFault> for ErrorClass {
    fn from(fault: TlsFault) -> Self {
        match fault {
            TlsFault::WrongName => Self::TlsWrongName,
            TlsFault::UnknownIssuer => Self::TlsUnknownIssuer,
            TlsFault::Expired | TlsFault::NotYetValid => Self::TlsExpired,
            TlsFault::AuthorityCertificate
            | TlsFault::OtherPurpose
            | TlsFault::OldCertificate
            | TlsFault::BadCertificate => Self::TlsBadCertificate,
            TlsFault::NoProtocol => Self::TlsNoProtocol,
            TlsFault::NoCommonParameters | TlsFault::CertificateWanted | TlsFault::Refused(_) => {
                Self::TlsRefused
            }
            TlsFault::NotTls => Self::TlsNotSpoken,
            TlsFault::ClosedInHandshake => Self::TlsClosed,
            TlsFault::Truncated => Self::EarlyEof,
            TlsFault::Broken => Self::TlsBroken,
        }
    }
}

impl std::fmt::Display for ErrorClass {
    /// The class as it stands behind a number: "12 connection refused".
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::ConnectRefused => "connection refused",
            Self::ConnectTimeout => "no connection in time",
            Self::ConnectOther => "other failure to connect",
            Self::AddressExhausted => "no local port left",
            Self::TlsWrongName => "certificate for another name",
            Self::TlsUnknownIssuer => "certificate of an unknown issuer",
            Self::TlsExpired => "certificate not valid at this time",
            Self::TlsBadCertificate => "invalid certificate",
            Self::TlsNoProtocol => "no application protocol in common",
            Self::TlsRefused => "TLS handshake refused",
            Self::TlsNotSpoken => "no TLS spoken",
            Self::TlsClosed => "closed in the TLS handshake",
            Self::TlsBroken => "TLS broken",
            Self::UpgradeRefused => "WebSocket refused",
            Self::SendReset => "reset while sending",
            Self::SendTimeout => "request not taken in time",
            Self::ResetBeforeHead => "reset before the head",
            Self::ResetInBody => "reset in the body",
            Self::StreamReset => "stream reset",
            Self::EarlyEof => "ended too early",
            Self::HeadTimeout => "no head in time",
            Self::BodyTimeout => "no whole body in time",
            Self::Parse => "no valid HTTP",
            Self::UnexpectedStatus => "unexpected status",
            Self::BadGateway => "no answer from the upstream",
            Self::WrongBody => "wrong body",
            Self::WrongLength => "wrong length",
            Self::WrongHeader => "wrong header",
            Self::BadFrame => "no valid WebSocket",
            Self::WrongKind => "wrong kind of message",
            Self::RpcStatus => "gRPC status other than OK",
            Self::RpcNoStatus => "no gRPC status",
            Self::RpcNoMessage => "no gRPC message",
            Self::RpcBadFrame => "no valid gRPC message",
            Self::RpcCompressed => "compressed gRPC message",
            Self::BadCoding => "body that does not decompress",
            Self::Inflates => "body that inflates without end",
            Self::UnsentNoConnection => "unsent for want of a connection",
            Self::UnsentEnd => "unsent at the end",
            Self::ClientInternal => "fault of the generator",
        })
    }
}
