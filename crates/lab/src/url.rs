//! URLs of servers, as far as HTTP needs them.

use crate::error::LabError;

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP without TLS.
    Http,
    /// Over TLS.
    Https,
    /// HTTP/2 without TLS.
    H2c,
    /// WebSocket without TLS.
    Ws,
    /// WebSocket over TLS.
    Wss,
    /// gRPC without TLS.
    Grpc,
    /// gRPC over TLS.
    Grpcs,
}

impl Scheme {
    /// That of a server whose connections are secured, or not.
    pub(crate) fn of(is_secured: bool) -> Self {
        if is_secured { Self::Https } else { Self::Http }
    }

    /// Its name in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::H2c => "h2c",
            Self::Ws => "ws",
            Self::Wss => "wss",
            Self::Grpc => "grpc",
            Self::Grpcs => "grpcs",
        }
    }

    /// Whether messages travel over WebSockets.
    pub fn is_websocket(self) -> bool {
        matches!(self, Self::Ws | Self::Wss)
    }

    /// Whether calls of gRPC take the place of requests.
    pub fn is_grpc(self) -> bool {
        matches!(self, Self::Grpc | Self::Grpcs)
    }

    /// The port where none is written (RFC 9110 §4.2, RFC 6455 §3); gRPC has those of HTTP.
    pub fn port(self) -> u16 {
        match self {
            Self::Http | Self::H2c | Self::Ws | Self::Grpc => 80,
            Self::Https | Self::Wss | Self::Grpcs => 443,
        }
    }
}

/// A URL of a server, in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// Name or address; an address of IPv6 in brackets.
    pub host: String,
    /// The port, named or the scheme's own.
    pub port: u16,
    /// Path with its query.
    pub path: String,
}

impl Url {
    /// Takes a URL apart. `localhost:8080/a` is taken for one of plain HTTP, as browsers do.
    ///
    /// # Errors
    /// [`LabError::Argument`] when it is no such URL.
    pub fn parse(url: &str) -> Result<Self, LabError> {
        let argument =
            |problem: &str| LabError::Argument { given: url.to_owned(), problem: problem.to_owned() };
        let (scheme, rest) = match url.split_once("://") {
            None => (Scheme::Http, url),
            Some(("http", rest)) => (Scheme::Http, rest),
            Some(("https", rest)) => (Scheme::Https, rest),
            Some(("h2c", rest)) => (Scheme::H2c, rest),
            Some(("ws", rest)) => (Scheme::Ws, rest),
            Some(("wss", rest)) => (Scheme::Wss, rest),
            Some(("grpc", rest)) => (Scheme::Grpc, rest),
            Some(("grpcs", rest)) => (Scheme::Grpcs, rest),
            Some(_) => {
                return Err(argument(
                    "use http://, https://, h2c://, ws://, wss://, grpc:// or grpcs://host[:port][/path]",
                ));
            }
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let parts = host_and_port(authority, scheme);
        let (host, port) = parts.ok_or_else(|| argument("write http://host:port/path"))?;
        Ok(Self { scheme, host: host.to_owned(), port, path })
    }

    /// Whether a word is `HOST:PORT[/path]`, a URL without its scheme.
    pub fn lacks_scheme(word: &str) -> bool {
        let authority = word.split(['/', '?', '#']).next().unwrap_or(word);
        let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let names_a_port = authority.rsplit_once(':').is_some_and(|(_, port)| is_port(port));
        !word.contains("://") && names_a_port && host_and_port(authority, Scheme::Http).is_some()
    }

    /// `host:port`.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The value of the field Host: the authority without the scheme's own port (RFC 9112 §3.2).
    pub fn host_field(&self) -> String {
        if self.port == self.scheme.port() { self.host.clone() } else { self.authority() }
    }
}

/// The parts of an authority; `None` when it is none.
fn host_and_port(authority: &str, scheme: Scheme) -> Option<(&str, u16)> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse::<u16>().ok().filter(|&port| port > 0)?)
        }
        _ => (authority, scheme.port()),
    };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let plain =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    (bracketed || plain).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_brings_its_port() {
        for (url, scheme, authority, host_field, path) in [
            ("http://localhost", Scheme::Http, "localhost:80", "localhost", "/"),
            ("https://localhost", Scheme::Https, "localhost:443", "localhost", "/"),
            ("https://localhost:80/a?b#c", Scheme::Https, "localhost:80", "localhost:80", "/a?b"),
            ("localhost:8080/a", Scheme::Http, "localhost:8080", "localhost:8080", "/a"),
            ("grpc://h/a.B/C", Scheme::Grpc, "h:80", "h", "/a.B/C"),
            ("grpcs://h:50051/a.B/C", Scheme::Grpcs, "h:50051", "h:50051", "/a.B/C"),
            ("https://[::1]:8443?q", Scheme::Https, "[::1]:8443", "[::1]:8443", "/?q"),
        ] {
            let parsed = Url::parse(url).expect(url);
            let parts = (parsed.scheme, parsed.authority(), parsed.host_field(), parsed.path);
            let wanted = (scheme, authority.to_owned(), host_field.to_owned(), path.to_owned());
            assert_eq!(parts, wanted, "{url}");
        }
        for word in ["localhost:8080", "127.0.0.1:80/a:b?c", "[::1]:8080/", "a.b-c:1?d"] {
            assert!(Url::lacks_scheme(word), "{word}");
        }
        for word in
            ["localhost", "http://a:80/", "./a:80", "lang:go", "node a.js:80", "a:0", "a:", ":80", "[::1]"]
        {
            assert!(!Url::lacks_scheme(word), "{word}");
        }
        for bad in ["ftp://x/", "https://", "https://x:0/", "https://u@h/", "https://a b/"] {
            assert!(Url::parse(bad).is_err(), "{bad}");
        }
    }
}
