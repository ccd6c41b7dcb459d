//! What carries a dialogue: a connection as it is, or one that is secured.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use assay_tls::{Client, Stream};

/// One connection.
pub(crate) enum Transport {
    Plain(Timed),
    Secured(Box<Stream<Timed>>),
}

/// A socket whose reads and writes end at a deadline. TLS reads it again and again for one record, and whoever sends much writes again and
/// again: a limit on each of these would begin anew with each byte.
pub(crate) struct Timed {
    socket: TcpStream,
    deadline: Instant,
    /// How long one write waits for room.
    room: Duration,
}

impl Transport {
    /// Over `socket`, secured within `patience` where a client of TLS is given; it waits for room to send as long each time, until a
    /// deadline at the latest.
    pub(crate) fn over(socket: TcpStream, tls: Option<&Client>, patience: Duration) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let socket = Timed { socket, deadline: Instant::now() + patience, room: patience };
        Ok(match tls {
            None => Self::Plain(socket),
            Some(client) => Self::Secured(Box::new(client.secured_stream(socket)?)),
        })
    }

    /// Sends all of it, until the deadline at the latest.
    pub(crate) fn send(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<()> {
        match self {
            Self::Plain(socket) => {
                socket.deadline = deadline;
                socket.write_all(bytes)
            }
            Self::Secured(stream) => {
                stream.sock.deadline = deadline;
                stream.write_all(bytes).and_then(|()| stream.flush())
            }
        }
    }

    /// Receives once, until the deadline at the latest.
    pub(crate) fn receive(&mut self, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => {
                socket.deadline = deadline;
                socket.read(buffer)
            }
            Self::Secured(stream) => {
                stream.sock.deadline = deadline;
                stream.read(buffer)
            }
        }
    }

    /// Says that nothing more will be sent: over TLS by its own word first (RFC 8446 §6.1), without which it would be a truncation.
    pub(crate) fn finish_sending(&mut self, deadline: Instant) -> io::Result<()> {
        let socket = match self {
            Self::Plain(socket) => socket,
            Self::Secured(stream) => {
                stream.sock.deadline = deadline;
                stream.conn.send_close_notify();
                stream.flush()?;
                &mut stream.sock
            }
        };
        socket.socket.shutdown(Shutdown::Write)
    }

    /// The application protocol that was agreed on, empty where none was; nothing without TLS.
    pub(crate) fn agreed(&self) -> Option<&[u8]> {
        match self {
            Self::Plain(_) => None,
            Self::Secured(stream) => Some(stream.conn.alpn_protocol().unwrap_or_default()),
        }
    }
}

impl Timed {
    /// Time until the deadline, of which there is some.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(self.left()?))?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(self.left()?.min(self.room)))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
