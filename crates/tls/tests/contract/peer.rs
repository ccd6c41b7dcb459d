//! A plain, blocking TLS client. Its handshake goes on by itself, as a kernel's does, since nobody polls the engine while
//! it is waited for.

use std::io::{Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use assay_tls::{Client, Stream};

use crate::conformance::Peer;

/// The other end of a connection; several may stand for it.
pub(crate) struct TlsPeer {
    line: Arc<Mutex<Line>>,
    ends: (SocketAddr, SocketAddr),
}

struct Line {
    handshake: Option<JoinHandle<Result<Stream>>>,
    /// What was written before the handshake was complete; then nothing may be added.
    early: Arc<Mutex<Option<Vec<u8>>>>,
    stream: Option<Stream>,
    /// Whether the line is to end without the word that an orderly end has.
    is_reset: bool,
}

impl TlsPeer {
    pub(crate) fn connect(client: &Client, address: SocketAddr) -> Self {
        let transport = TcpStream::connect(address).unwrap();
        transport.set_nodelay(true).unwrap();
        let ends = (transport.local_addr().unwrap(), transport.peer_addr().unwrap());
        let mut stream = client.stream(transport).unwrap();
        let early = Arc::new(Mutex::new(Some(Vec::new())));
        let written = Arc::clone(&early);
        let handshake = std::thread::spawn(move || {
            while stream.conn.is_handshaking() {
                stream.conn.complete_io(&mut stream.sock)?;
            }
            stream.write_all(&written.lock().unwrap().take().unwrap_or_default())?;
            stream.flush()?;
            Ok(stream)
        });
        let line = Line { handshake: Some(handshake), early, stream: None, is_reset: false };
        Self { line: Arc::new(Mutex::new(line)), ends }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap()
    }
}

impl Line {
    fn stream(&mut self) -> Result<&mut Stream> {
        if let Some(handshake) = self.handshake.take() {
            self.stream = Some(handshake.join().unwrap()?);
        }
        self.stream.as_mut().ok_or_else(|| std::io::ErrorKind::NotConnected.into())
    }

    fn say_end(&mut self) -> Result<()> {
        let stream = self.stream()?;
        stream.conn.send_close_notify();
        stream.flush()
    }
}

impl Drop for Line {
    /// An orderly end, unless the handshake is still under way.
    fn drop(&mut self) {
        if self.stream.is_some() && !self.is_reset {
            let _ = self.say_end();
        }
    }
}

impl Peer for TlsPeer {
    fn ends(&self) -> (SocketAddr, SocketAddr) {
        self.ends
    }

    fn finish(&mut self) {
        let mut line = self.line();
        line.say_end().unwrap();
        line.stream().unwrap().sock.shutdown(Shutdown::Write).unwrap();
    }

    fn reset(self) {
        let mut line = self.line();
        let transport = &line.stream().unwrap().sock;
        rustix::net::sockopt::set_socket_linger(transport, Some(std::time::Duration::ZERO)).unwrap();
        line.is_reset = true;
    }

    fn another(&self) -> Self {
        Self { line: Arc::clone(&self.line), ends: self.ends }
    }
}

impl Read for TlsPeer {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.line().stream()?.read(buffer)
    }
}

impl Write for TlsPeer {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut line = self.line();
        if let Some(early) = &mut *line.early.lock().unwrap() {
            early.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        line.stream()?.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
