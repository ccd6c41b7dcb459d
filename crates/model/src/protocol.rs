//! What is spoken to a server.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// What is spoken to a server.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "h1")]
    H1,
    /// HTTP/1.1 over TLS.
    #[serde(rename = "h1+tls")]
    H1Tls,
    /// HTTP/2 without TLS, which the client begins by prior knowledge (RFC 9113 §3.3).
    #[serde(rename = "h2c")]
    H2c,
    /// HTTP/2 over TLS, agreed on by ALPN.
    #[serde(rename = "h2")]
    H2,
    /// WebSocket, from HTTP/1.1 on (RFC 6455).
    #[serde(rename = "ws")]
    Ws,
    /// WebSocket over TLS.
    #[serde(rename = "wss")]
    Wss,
    /// gRPC over HTTP/2 without TLS.
    #[serde(rename = "grpc")]
    Grpc,
    /// gRPC over HTTP/2 and TLS.
    #[serde(rename = "grpcs")]
    Grpcs,
}

impl Protocol {
    /// The protocol of this version of HTTP, over TLS or not.
    pub fn of(is_http2: bool, is_secured: bool) -> Self {
        match (is_http2, is_secured) {
            (false, false) => Self::H1,
            (false, true) => Self::H1Tls,
            (true, false) => Self::H2c,
            (true, true) => Self::H2,
        }
    }

    /// What is spoken where messages travel over WebSockets in the place of requests: a socket begins in HTTP/1.1, so HTTP/2 stays
    /// what it is.
    #[must_use]
    pub fn with_messages(self) -> Self {
        match self {
            Self::H1 | Self::Ws => Self::Ws,
            Self::H1Tls | Self::Wss => Self::Wss,
            Self::H2c | Self::H2 | Self::Grpc | Self::Grpcs => self,
        }
    }

    /// What is spoken where calls of gRPC take the place of requests.
    #[must_use]
    pub fn with_calls(self) -> Self {
        if self.is_secured() { Self::Grpcs } else { Self::Grpc }
    }

    /// Whether it is gRPC, over TLS or not.
    pub fn is_grpc(self) -> bool {
        matches!(self, Self::Grpc | Self::Grpcs)
    }

    /// Whether it is WebSocket, over TLS or not.
    pub fn is_websocket(self) -> bool {
        matches!(self, Self::Ws | Self::Wss)
    }

    /// Whether it is the one that is meant where none is named.
    pub fn is_plain(&self) -> bool {
        *self == Self::H1
    }

    /// Whether the connections are secured.
    pub fn is_secured(self) -> bool {
        matches!(self, Self::H1Tls | Self::H2 | Self::Wss | Self::Grpcs)
    }

    /// Whether it is HTTP/1.1, over TLS or not.
    pub fn is_http1(self) -> bool {
        matches!(self, Self::H1 | Self::H1Tls)
    }

    /// Whether it is HTTP/2, or runs over that.
    pub fn is_http2(self) -> bool {
        matches!(self, Self::H2c | Self::H2 | Self::Grpc | Self::Grpcs)
    }

    /// The protocol that it runs over, or that it takes the place of, with which its cost is told; none for one that stands
    /// by itself.
    pub fn base(self) -> Option<Self> {
        match self {
            Self::H1 | Self::Ws | Self::Grpc => None,
            Self::H1Tls | Self::H2c => Some(Self::H1),
            Self::H2 => Some(Self::H1Tls),
            Self::Wss => Some(Self::Ws),
            Self::Grpcs => Some(Self::Grpc),
        }
    }
}

impl std::str::FromStr for Protocol {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Self::H1, Self::H1Tls, Self::H2c, Self::H2, Self::Ws, Self::Wss, Self::Grpc, Self::Grpcs];
        let named = all.into_iter().find(|protocol| protocol.to_string() == name);
        named.ok_or_else(|| {
            let known = all.map(|protocol| protocol.to_string()).join(", ");
            format!("there is no protocol `{name}`; there are {known}")
        })
    }
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::H1 => "h1",
            Self::H1Tls => "h1+tls",
            Self::H2c => "h2c",
            Self::H2 => "h2",
            Self::Ws => "ws",
            Self::Wss => "wss",
            Self::Grpc => "grpc",
            Self::Grpcs => "grpcs",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_read_by_the_name_that_it_is_told_by() {
        for protocol in
            [Protocol::H1, Protocol::H1Tls, Protocol::H2c, Protocol::H2, Protocol::Ws, Protocol::Wss]
        {
            assert_eq!(protocol.to_string().parse(), Ok(protocol));
        }
        assert!("h3".parse::<Protocol>().is_err_and(|why| why.contains("h1, h1+tls, h2c, h2")));
    }

    #[test]
    fn calls_are_laid_upon_http2_that_is_secured_as_they_are() {
        for (spoken, with_calls) in [
            (Protocol::H1, Protocol::Grpc),
            (Protocol::H2c, Protocol::Grpc),
            (Protocol::H1Tls, Protocol::Grpcs),
            (Protocol::Grpcs, Protocol::Grpcs),
        ] {
            assert_eq!(spoken.with_calls(), with_calls);
            assert!(with_calls.is_http2() && with_calls.is_secured() == spoken.is_secured());
            assert_eq!(with_calls.to_string().parse(), Ok(with_calls));
        }
    }

    #[test]
    fn messages_travel_over_sockets_that_begin_in_http1() {
        for (spoken, with_messages) in [
            (Protocol::H1, Protocol::Ws),
            (Protocol::H1Tls, Protocol::Wss),
            (Protocol::Wss, Protocol::Wss),
            (Protocol::H2c, Protocol::H2c),
        ] {
            assert_eq!(spoken.with_messages(), with_messages);
        }
    }
}
