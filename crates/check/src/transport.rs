//! What carries a dialogue: a connection as it is, or one that is secured.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use assay_tls::{Client, Stream};

/// One connection.
pub(crate) enum Transport {
    Plain(TcpStream),
    Secured(Box<Stream>),
}

impl Transport {
    /// Over `socket`, secured where a client of TLS is given; each of its waits lasts `patience` at most.
    pub(crate) fn over(socket: TcpStream, tls: Option<&Client>, patience: Duration) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(patience))?;
        socket.set_read_timeout(Some(patience))?;
        Ok(match tls {
            None => Self::Plain(socket),
            Some(client) => Self::Secured(Box::new(client.secured_stream(socket)?)),
        })
    }

    /// Sends all of it.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.write_all(bytes),
            Self::Secured(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// Receives once, within a time.
    pub(crate) fn receive(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<usize> {
        self.socket().set_read_timeout(Some(within))?;
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Secured(stream) => stream.read(buffer),
        }
    }

    /// Says that nothing more will be sent: over TLS by its own word first (RFC 8446 §6.1), without which it would be a truncation.
    pub(crate) fn finish_sending(&mut self) -> io::Result<()> {
        if let Self::Secured(stream) = self {
            stream.conn.send_close_notify();
            stream.flush()?;
        }
        self.socket().shutdown(Shutdown::Write)
    }

    /// The application protocol that was agreed on, empty where none was; nothing without TLS.
    pub(crate) fn agreed(&self) -> Option<&[u8]> {
        match self {
            Self::Plain(_) => None,
            Self::Secured(stream) => Some(stream.conn.alpn_protocol().unwrap_or_default()),
        }
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Secured(stream) => &stream.sock,
        }
    }
}
