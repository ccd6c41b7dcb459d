//! What is spoken to a server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

    /// What is spoken where messages travel over WebSockets in the place of requests.
    #[must_use]
    pub fn with_messages(self) -> Self {
        if self.is_secured() { Self::Wss } else { Self::Ws }
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
        matches!(self, Self::H1Tls | Self::H2 | Self::Wss)
    }

    /// Whether it is HTTP/1.1, over TLS or not.
    pub fn is_http1(self) -> bool {
        matches!(self, Self::H1 | Self::H1Tls)
    }

    /// Whether it is HTTP/2.
    pub fn is_http2(self) -> bool {
        matches!(self, Self::H2c | Self::H2)
    }

    /// The protocol that it is laid upon, or that it takes the place of, with which its cost is told; none for one that stands
    /// by itself.
    pub fn base(self) -> Option<Self> {
        match self {
            Self::H1 | Self::Ws => None,
            Self::H1Tls | Self::H2c => Some(Self::H1),
            Self::H2 => Some(Self::H1Tls),
            Self::Wss => Some(Self::Ws),
        }
    }
}

impl std::str::FromStr for Protocol {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Self::H1, Self::H1Tls, Self::H2c, Self::H2, Self::Ws, Self::Wss];
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
        })
    }
}
