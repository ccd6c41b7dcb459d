//! Whom to ask, and how long to wait for what.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_host::names;
use assay_tls::Client;

use crate::route::Route;

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection, an answer, or room to send; longer than any server on an idle machine needs.
    pub answer: Duration,
    /// For the end of a connection that has to end.
    pub end: Duration,
    /// Between two pieces of a request that shall arrive apart.
    pub piece: Duration,
    /// For all that is said and heard for one rule: a server that takes or gives a little within each of the other limits holds nobody
    /// up for longer.
    pub rule: Duration,
}

impl Patience {
    /// For a suite on its own.
    pub const LONG: Self = Self {
        answer: Duration::from_secs(5),
        end: Duration::from_secs(2),
        piece: Duration::from_millis(2),
        rule: Duration::from_secs(60),
    };
    /// For a suite before a measurement.
    pub const SHORT: Self = Self {
        answer: Duration::from_secs(3),
        end: Duration::from_millis(750),
        piece: Duration::from_micros(500),
        rule: Duration::from_secs(20),
    };
}

/// A file that a server must not give away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    /// Name of the file, which lies beside the folder that is served.
    pub name: String,
    /// Text that it holds and no right answer does.
    pub secret: String,
}

/// What a database has done since it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Statements that read rows.
    pub selects: u64,
    /// Rows that they returned.
    pub rows_read: u64,
    /// Statements that change rows.
    pub updates: u64,
    /// Rows that they changed.
    pub rows_changed: u64,
}

impl Counts {
    /// What was added since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            selects: self.selects.saturating_sub(earlier.selects),
            rows_read: self.rows_read.saturating_sub(earlier.rows_read),
            updates: self.updates.saturating_sub(earlier.updates),
            rows_changed: self.rows_changed.saturating_sub(earlier.rows_changed),
        }
    }
}

/// The database behind a server, which tells what was asked of it.
pub trait Ledger: Send {
    /// What it has done for others than us.
    ///
    /// # Errors
    /// In words, when it does not answer.
    fn counts(&mut self) -> Result<Counts, String>;

    /// The number of every row of the table `world`, by id from 1.
    ///
    /// # Errors
    /// In words, when it does not answer.
    fn numbers(&mut self) -> Result<Vec<i32>, String>;
}

/// A [`Ledger`] that several may ask.
#[derive(Clone)]
pub(crate) struct Books(Arc<Mutex<dyn Ledger>>);

impl Books {
    /// Asks it; nobody else does meanwhile.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&mut dyn Ledger) -> Result<T, String>,
    ) -> Result<T, String> {
        question(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Books {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Books")
    }
}

/// A function that connects to an address within a time.
type Connecting = dyn Fn(&SocketAddr, Duration) -> io::Result<TcpStream> + Send + Sync;

/// How connections are made.
#[derive(Clone)]
pub(crate) struct Connect(Arc<Connecting>);

impl Connect {
    pub(crate) fn to(&self, address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        (self.0)(address, timeout)
    }
}

impl fmt::Debug for Connect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Connect")
    }
}

/// A server and the plain request that the rules vary.
#[derive(Clone, Debug)]
pub struct Target {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) connect: Connect,
    pub(crate) tls: Option<Client>,
    /// Whether it is asked over HTTP/2.
    pub(crate) http2: bool,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) patience: Patience,
    /// When the rule for which it is asked has to be over; absent where each connection has [`Patience::rule`] for itself.
    pub(crate) until: Option<Instant>,
    pub(crate) planted: Option<Planted>,
    pub(crate) routes: Vec<Route>,
    pub(crate) database: Option<Books>,
}

/// Why there is nobody to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError(String);

impl fmt::Display for TargetError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for TargetError {}

impl Target {
    /// The server at `authority` (`host:port`), asked with a GET of `path`.
    ///
    /// # Errors
    /// When the authority names no address, or the path is no request target.
    pub fn new(authority: &str, path: &str) -> Result<Self, TargetError> {
        let cannot = |why: &dyn fmt::Display| TargetError(format!("`{authority}`: {why}; write host:port"));
        let addresses = names::resolve(authority).map_err(|error| cannot(&error))?;
        if !path.starts_with('/') || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TargetError(format!("`{path}` is no path; begin it with / and escape the rest")));
        }
        Ok(Self {
            addresses,
            connect: Connect(Arc::new(TcpStream::connect_timeout)),
            tls: None,
            http2: false,
            host: authority.to_owned(),
            path: path.to_owned(),
            patience: Patience::LONG,
            until: None,
            planted: None,
            routes: Vec::new(),
            database: None,
        })
    }

    /// The scheme over which it is asked. A server need not answer for another (RFC 9110 §7.4).
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The whole URI of the plain request.
    pub(crate) fn uri(&self) -> String {
        format!("{}://{}{}", self.scheme(), self.host, self.path)
    }

    /// The server as it is asked for a rule from now on.
    pub(crate) fn begun(&self) -> Self {
        Self { until: Some(Instant::now() + self.patience.rule), ..self.clone() }
    }

    /// With these limits on every wait.
    #[must_use]
    pub fn patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    /// With connections made so; for a server in another network than ours.
    #[must_use]
    pub fn through(
        self,
        connect: impl Fn(&SocketAddr, Duration) -> io::Result<TcpStream> + Send + Sync + 'static,
    ) -> Self {
        Self { connect: Connect(Arc::new(connect)), ..self }
    }

    /// With connections that are secured, the same dialogues over TLS.
    #[must_use]
    pub fn secured(self, client: Client) -> Self {
        let client = if self.http2 { client.with_http2() } else { client };
        Self { tls: Some(client), ..self }
    }

    /// Over HTTP/2: agreed on by ALPN over TLS, else begun at once (RFC 9113 §3.2, §3.3).
    #[must_use]
    pub fn over_http2(self) -> Self {
        let tls = self.tls.map(|client| client.with_http2());
        Self { tls, http2: true, ..self }
    }

    /// With a file beside the folder it serves, which no path may reach.
    #[must_use]
    pub fn planted(self, planted: Planted) -> Self {
        Self { planted: Some(planted), ..self }
    }

    /// With the paths of the test types that it answers.
    #[must_use]
    pub fn routes(self, routes: Vec<Route>) -> Self {
        Self { routes, ..self }
    }

    /// With the database that is behind it, so that what it asks there can be counted.
    #[must_use]
    pub fn database(self, ledger: Arc<Mutex<dyn Ledger>>) -> Self {
        Self { database: Some(Books(ledger)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_tls::{ClientTerms, Trust};

    #[test]
    fn a_uri_has_the_scheme_over_which_the_server_is_asked() {
        let (server_name, trust) = ("localhost".to_owned(), Trust::Anybody);
        let terms =
            ClientTerms { server_name, trust, identity: None, resumption: false, ciphers: Vec::new() };
        let plain = Target::new("127.0.0.1:80", "/a?b=c").unwrap();
        assert_eq!(plain.uri(), "http://127.0.0.1:80/a?b=c");
        assert_eq!(plain.secured(Client::new(terms).unwrap()).uri(), "https://127.0.0.1:80/a?b=c");
    }

    #[test]
    fn targets() {
        assert!(Target::new("127.0.0.1:80", "/a?b=c").is_ok());
        for (authority, path) in
            [("127.0.0.1", "/"), ("127.0.0.1:x", "/"), ("127.0.0.1:80", "a"), ("127.0.0.1:80", "/a b")]
        {
            assert!(Target::new(authority, path).is_err(), "{authority} {path}");
        }
    }
}
