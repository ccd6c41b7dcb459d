//! Bytes to and from a server, plain or secured, until a deadline.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use assay_tls::{Client, Stream};

use super::AskError;

/// A connection, and what has arrived on it.
pub(super) struct Input {
    stream: Transport,
    /// What has arrived and was not taken.
    pub(super) bytes: Vec<u8>,
    deadline: Instant,
    timeout: Duration,
}

/// A connection, plain or secured.
enum Transport {
    Plain(TcpStream),
    Secured(Box<Stream>),
}

/// What can be read and written.
trait Both: Read + Write {}
impl<T: Read + Write> Both for T {}

impl Transport {
    fn both(&mut self) -> &mut dyn Both {
        match self {
            Self::Plain(stream) => stream,
            Self::Secured(stream) => stream,
        }
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Secured(stream) => &stream.sock,
        }
    }
}

/// How a connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Security<'i> {
    /// A connection in plain text.
    None,
    /// A connection by TLS, with the application protocol that was agreed on, if one was (ALPN).
    Tls(Option<&'i [u8]>),
}

impl Input {
    /// Secures a connection where there is a client for that; `timeout` is for this and for each answer.
    pub(super) fn new(
        socket: TcpStream,
        client: Option<&Client>,
        timeout: Duration,
    ) -> Result<Self, AskError> {
        let stream = match client {
            None => Transport::Plain(socket),
            Some(client) => Transport::Secured(Box::new(client.secured_stream(socket)?)),
        };
        Ok(Self { stream, bytes: Vec::new(), deadline: Instant::now() + timeout, timeout })
    }

    /// How the connection is secured.
    pub(super) fn security(&self) -> Security<'_> {
        match &self.stream {
            Transport::Plain(_) => Security::None,
            Transport::Secured(stream) => Security::Tls(stream.conn.alpn_protocol()),
        }
    }

    /// Grants the time for one answer, from now on.
    pub(super) fn begin(&mut self) {
        self.deadline = Instant::now() + self.timeout;
    }

    /// Sends all of `bytes`.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), AskError> {
        Ok(self.stream.both().write_all(bytes)?)
    }

    /// Reads once; false at the end of input.
    pub(super) fn more(&mut self) -> Result<bool, AskError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(AskError::Timeout(self.timeout));
        }
        self.stream.socket().set_read_timeout(Some(left))?;
        let mut buffer = [0; 16 << 10];
        match self.stream.both().read(&mut buffer) {
            Ok(read) => {
                self.bytes.extend_from_slice(&buffer[..read]);
                Ok(read > 0)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(AskError::Timeout(self.timeout))
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(AskError::Interrupted),
            Err(error) => Err(error.into()),
        }
    }
}
