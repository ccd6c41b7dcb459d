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
    const ALL: [Self; 7] = [Self::Http, Self::Https, Self::H2c, Self::Ws, Self::Wss, Self::Grpc, Self::Grpcs];

    /// The scheme of this name, in whatever case (RFC 3986 §3.1).
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name().eq_ignore_ascii_case(name))
    }

    /// The scheme of a server whose connections are secured, or not.
    pub(crate) fn of(is_secured: bool) -> Self {
        if is_secured { Self::Https } else { Self::Http }
    }

    /// The scheme's name in a URL.
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
        let unknown = || {
            argument("use http://, https://, h2c://, ws://, wss://, grpc:// or grpcs://host[:port][/path]")
        };
        let (scheme, rest) = match url.split_once("://") {
            None => (Scheme::Http, url),
            Some((name, rest)) => (Scheme::named(name).ok_or_else(unknown)?, rest),
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let (host, port) = host_and_port(authority, scheme).map_err(|problem| argument(&problem))?;
        Ok(Self { scheme, host: host.to_owned(), port, path })
    }

    /// Whether a word begins with a scheme (RFC 3986 §3.1), be it one that no server here has.
    pub fn has_scheme(word: &str) -> bool {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        let is_name = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_part)
        };
        word.split_once("://").is_some_and(|(name, _)| is_name(name))
    }

    /// Whether a word is `HOST:PORT[/path]`, a URL without its scheme.
    pub fn lacks_scheme(word: &str) -> bool {
        let authority = word.split(['/', '?', '#']).next().unwrap_or(word);
        let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let names_a_port = authority.rsplit_once(':').is_some_and(|(_, port)| is_port(port));
        !word.contains("://") && names_a_port && host_and_port(authority, Scheme::Http).is_ok()
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

/// The parts of an authority, or what is wrong with it.
fn host_and_port(authority: &str, scheme: Scheme) -> Result<(&str, u16), String> {
    if authority.contains('@') {
        return Err(
            "leave user and password out of the URL; send them with -H 'Authorization: Basic …'".into()
        );
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    if let Some(problem) = fault_of_host(host) {
        return Err(problem.to_owned());
    }
    Ok((host, port.map_or(Ok(scheme.port()), port_named)?))
}

/// What is wrong with a name or an address; an address of IPv6 stands in brackets (RFC 3986 §3.2.2).
fn fault_of_host(host: &str) -> Option<&'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    match (host.starts_with('['), host.ends_with(']')) {
        (true, true) => None,
        (true, false) => Some("the address lacks its closing bracket; write http://[::1]:port/path"),
        _ if host.contains(':') => Some("an address of IPv6 needs brackets; write http://[::1]:port/path"),
        _ if !host.is_ascii() => {
            Some("the host is not in ASCII; write its Punycode form, which begins with xn--")
        }
        _ if host.is_empty() || !host.bytes().all(is_plain) => Some("write http://host:port/path"),
        _ => None,
    }
}

fn port_named(text: &str) -> Result<u16, String> {
    let port = text.parse::<u16>().ok().filter(|&port| port > 0);
    port.ok_or_else(|| format!("`{text}` is no port; write one from 1 to 65535, as in http://host:8080/path"))
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
            ("HTTP://h/A", Scheme::Http, "h:80", "h", "/A"),
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

    #[test]
    fn what_is_wrong_with_a_url_is_told_with_what_to_write() {
        for (bad, words) in [
            ("http://127.0.0.1:99999/", "`99999` is no port; write one from 1 to 65535"),
            ("http://h:0/", "`0` is no port"),
            ("http://h:http/", "`http` is no port"),
            ("http://user:pw@h/", "-H 'Authorization: Basic …'"),
            ("http://münchen.invalid/", "Punycode"),
            ("http://[::1/", "lacks its closing bracket; write http://[::1]:port/path"),
            ("http://[fe80::abcd/", "lacks its closing bracket"),
            ("http://::1/", "needs brackets"),
            ("http://a b/", "write http://host:port/path"),
            ("ftp://h/", "use http://"),
        ] {
            let told = Url::parse(bad).expect_err(bad).to_string();
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn a_word_with_any_scheme_is_a_url() {
        for word in ["http://h/", "HTTP://h/", "grpc://h/", "grpcs://h/", "ftp://h/"] {
            assert!(Url::has_scheme(word), "{word}");
        }
        for word in ["h/", "./a://b", "node a.js http://h", "://h", "lang:go"] {
            assert!(!Url::has_scheme(word), "{word}");
        }
    }
}
