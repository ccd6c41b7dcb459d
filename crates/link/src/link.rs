//! The side of whoever uses a link.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_model::link::LinkFacts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::end::{self, Counted};
use crate::error::LinkError;
use crate::holder::{Ready, Report, Wish};
use crate::netlink::Netlink;
use crate::passing::take;
use crate::space::Side;
use assay_model::network::Spec;

/// Longest wait for the holder; making namespaces takes milliseconds, on a machine under load perhaps a second.
const HOLDER_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that may wait for a listener that only looks whether a port is free.
const BACKLOG: i32 = 1;

/// What joins client and server. When the last clone is dropped, a link that was made ends.
#[derive(Clone, Debug)]
pub struct Link {
    spec: Spec,
    cable: Option<Arc<Cable>>,
}

/// Two namespaces with a cable between them.
#[derive(Debug)]
struct Cable {
    // Dropped before the holder is waited for: its end is the holder's end.
    control: Option<Mutex<UnixStream>>,
    holder: Child,
    ready: Ready,
    /// To the network configuration of the generator's and the server's side; one question at a time.
    ends: Mutex<[Netlink; 2]>,
}

impl Link {
    /// The machine's own loopback.
    pub fn loopback() -> Self {
        Self { spec: Spec::Loopback, cable: None }
    }

    /// Makes the link that `spec` asks for, through the program `assay`.
    ///
    /// # Errors
    /// When the kernel forbids a part of it, with the remedy.
    pub fn open(assay: &Path, spec: Spec) -> Result<Self, LinkError> {
        let cable = match spec {
            Spec::Loopback => None,
            Spec::Veth { bits_per_second } => Some(Arc::new(Cable::lay(assay, bits_per_second)?)),
        };
        Ok(Self { spec, cable })
    }

    /// What was asked for.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// How it was set up; `None` for loopback.
    pub fn facts(&self) -> Option<&LinkFacts> {
        self.cable.as_ref().map(|cable| &cable.ready.facts)
    }

    /// Where servers listen.
    pub fn server_address(&self) -> IpAddr {
        IpAddr::V4(if self.cable.is_some() { end::SERVER } else { Ipv4Addr::LOCALHOST })
    }

    /// Addresses of the cable's ends with the length of their prefix, the server's and the generator's, for whoever brings a
    /// TCP/IP of their own; `None` for loopback.
    pub fn cable_addresses(&self) -> Option<[String; 2]> {
        self.cable.as_ref()?;
        Some([end::SERVER, end::GENERATOR].map(|address| format!("{address}/{}", end::PREFIX_BITS)))
    }

    /// Where servers are to be started; `None` for the namespace of the machine.
    pub fn server_side(&self) -> Option<Side> {
        self.side(0)
    }

    /// The same for the generator.
    pub fn generator_side(&self) -> Option<Side> {
        self.side(1)
    }

    fn side(&self, index: usize) -> Option<Side> {
        let ready = &self.cable.as_ref()?.ready;
        Some(Side { network: ready.networks[index].clone(), user: ready.user.clone() })
    }

    /// Connects from the generator's side.
    ///
    /// # Errors
    /// As [`TcpStream::connect_timeout`], and when the holder is gone.
    pub fn connect(&self, address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        match &self.cable {
            None => TcpStream::connect_timeout(address, timeout),
            Some(cable) => connect(cable.socket(Wish::GeneratorTcp)?, address, timeout),
        }
    }

    /// Listens on the server's side, on `port` or one that the kernel chooses.
    ///
    /// # Errors
    /// As [`TcpListener::bind`], and when the holder is gone.
    pub fn listen(&self, port: u16) -> io::Result<TcpListener> {
        let address = SocketAddr::new(self.server_address(), port);
        let Some(cable) = &self.cable else { return TcpListener::bind(address) };
        let socket = cable.socket(Wish::ServerTcp)?;
        // As std does for its own listeners: connections in TIME_WAIT do not count.
        rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(TcpListener::from(socket))
    }

    /// What was sent so far, to the server and to the generator; `None` where nobody counts that: on loopback.
    pub(crate) fn counted(&self) -> Option<[Counted; 2]> {
        let cable = self.cable.as_ref()?;
        let is_shaped = cable.ready.facts.shape.is_some();
        let ends = cable.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let [generator, server] = ends.each_ref().map(|end| end::sent(end, is_shaped).ok());
        Some([generator?, server?])
    }
}

impl Cable {
    fn lay(assay: &Path, bits_per_second: Option<u64>) -> Result<Self, LinkError> {
        let (control, theirs) = UnixStream::pair().map_err(LinkError::Holder)?;
        let mut holder = Command::new(assay)
            .arg("hold")
            .args(bits_per_second.map(|bits| bits.to_string()))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in the terminal is for assay, which ends the holder when all that runs in its namespaces has ended.
            .process_group(0)
            .spawn()
            .map_err(LinkError::Holder)?;
        match first_words(&control).and_then(|ready| Ok((netlinks(&control)?, ready))) {
            Ok((ends, ready)) => {
                Ok(Self { control: Some(Mutex::new(control)), holder, ready, ends: Mutex::new(ends) })
            }
            Err(error) => {
                let _ = holder.kill();
                let _ = holder.wait();
                Err(error)
            }
        }
    }

    fn socket(&self, wish: Wish) -> io::Result<OwnedFd> {
        let control = self.control.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        // Nothing is left half done by a thread that dies in between but an answer, which the next one would take.
        let control = control.lock().unwrap_or_else(PoisonError::into_inner);
        ask(&control, wish)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        drop(self.control.take());
        let _ = self.holder.wait();
    }
}

fn first_words(control: &UnixStream) -> Result<Ready, LinkError> {
    control.set_read_timeout(Some(HOLDER_TIMEOUT)).map_err(LinkError::Holder)?;
    let mut line = String::new();
    // It says nothing more until it is asked, so nothing gets stuck in the buffer.
    BufReader::new(control).read_line(&mut line).map_err(LinkError::Holder)?;
    match serde_json::from_str(&line).map_err(|error| LinkError::Holder(error.into()))? {
        Report::Ready(ready) => Ok(*ready),
        Report::Forbidden { problem, remedy } => Err(LinkError::Forbidden { problem, remedy }),
    }
}

fn netlinks(control: &UnixStream) -> Result<[Netlink; 2], LinkError> {
    let netlink = |wish| ask(control, wish).and_then(Netlink::over).map_err(LinkError::Holder);
    Ok([netlink(Wish::GeneratorNetlink)?, netlink(Wish::ServerNetlink)?])
}

fn ask(mut control: &UnixStream, wish: Wish) -> io::Result<OwnedFd> {
    control.write_all(&[wish as u8])?;
    take(control)
}

/// Connects a socket that is there already, which the standard library cannot.
fn connect(socket: OwnedFd, address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(true)?;
    match rustix::net::connect(&stream, address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => await_connection(&stream, timeout)?,
        Err(error) => return Err(error.into()),
    }
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn await_connection(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(&mut [PollFd::new(stream, PollFlags::OUT)], Some(&wait)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return stream.take_error()?.map_or(Ok(()), Err),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
