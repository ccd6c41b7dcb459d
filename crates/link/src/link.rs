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

use crate::device::{self, Counted};
use crate::end::{self, DEVICE};
use crate::error::LinkError;
use crate::middle::{Dropped, PORTS};
use crate::netlink::Netlink;
use crate::netns_holder::{HolderReport, HolderRequest, Ready};
use crate::passing::take;
use crate::space::Side;
use assay_model::network::{Cable, Spec};

/// Longest wait for the netns holder; making namespaces takes milliseconds, on a machine under load perhaps a second.
const NETNS_HOLDER_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that may wait for a listener that only looks whether a port is free.
const BACKLOG: i32 = 1;

/// What joins client and server. When the last clone is dropped, a link that was made ends.
#[derive(Clone, Debug)]
pub struct Link {
    spec: Spec,
    veth: Option<Arc<VethPair>>,
}

/// Two namespaces with a cable between them.
#[derive(Debug)]
struct VethPair {
    // Dropped before the netns holder is waited for: its end is the holder's end.
    control: Option<Mutex<UnixStream>>,
    holder: Child,
    ready: Ready,
    /// Where frames to the server and to the generator are counted; one question at a time.
    exits: Mutex<[Exit; 2]>,
}

/// A device by which frames leave the link.
#[derive(Debug)]
struct Exit {
    netlink: Netlink,
    device: &'static str,
}

impl Link {
    /// The machine's own loopback.
    pub fn loopback() -> Self {
        Self { spec: Spec::Loopback, veth: None }
    }

    /// Makes the link that `spec` asks for, through the program `assay`, with one queue.
    ///
    /// # Errors
    /// When the kernel forbids a part of it, with the remedy.
    pub fn open(assay: &Path, spec: Spec) -> Result<Self, LinkError> {
        Self::with_queues(assay, spec, 1)
    }

    /// Makes the link with so many queues at each end, of which each faces its like at the other: one for each thread that brings a
    /// TCP/IP of its own. What passes through the middle has one queue whatever is asked.
    ///
    /// # Errors
    /// As [`Link::open`].
    pub fn with_queues(assay: &Path, spec: Spec, queues: u16) -> Result<Self, LinkError> {
        let veth = match spec {
            Spec::Loopback => None,
            Spec::Veth(cable) => Some(Arc::new(VethPair::provision(assay, cable, queues)?)),
        };
        Ok(Self { spec, veth })
    }

    /// What was asked for.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// How it was set up; `None` for loopback.
    pub fn facts(&self) -> Option<&LinkFacts> {
        self.veth.as_ref().map(|cable| &cable.ready.facts)
    }

    /// Where servers listen.
    pub fn server_address(&self) -> IpAddr {
        IpAddr::V4(if self.veth.is_some() { end::SERVER } else { Ipv4Addr::LOCALHOST })
    }

    /// Addresses of the cable's ends with the length of their prefix, the server's and the generator's, for whoever brings a
    /// TCP/IP of their own; `None` for loopback.
    pub fn cable_addresses(&self) -> Option<[String; 2]> {
        self.veth.as_ref()?;
        Some([end::SERVER, end::GENERATOR].map(|address| format!("{address}/{}", end::PREFIX_BITS)))
    }

    /// Where servers are to be started; `None` for the namespace of the machine.
    pub fn server_side(&self) -> Option<Side> {
        self.side(0)
    }

    /// Where the generator is to be started; `None` for the namespace of the machine.
    pub fn generator_side(&self) -> Option<Side> {
        self.side(1)
    }

    fn side(&self, index: usize) -> Option<Side> {
        let ready = &self.veth.as_ref()?.ready;
        Some(Side { network: ready.networks[index].clone(), user: ready.user.clone() })
    }

    /// Connects from the generator's side.
    ///
    /// # Errors
    /// As [`TcpStream::connect_timeout`], and when the netns holder is gone.
    pub fn connect(&self, address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        match &self.veth {
            None => TcpStream::connect_timeout(address, timeout),
            Some(cable) => connect(cable.socket(HolderRequest::GeneratorTcp)?, address, timeout),
        }
    }

    /// Listens on the server's side, on `port` or one that the kernel chooses.
    ///
    /// # Errors
    /// As [`TcpListener::bind`], and when the netns holder is gone.
    pub fn listen(&self, port: u16) -> io::Result<TcpListener> {
        let address = SocketAddr::new(self.server_address(), port);
        let Some(cable) = &self.veth else { return TcpListener::bind(address) };
        let socket = cable.socket(HolderRequest::ServerTcp)?;
        // As std does for its own listeners: connections in TIME_WAIT do not count.
        rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(TcpListener::from(socket))
    }

    /// What left it so far, to the server and to the generator; `None` where nobody counts that: on loopback.
    pub(crate) fn counted(&self) -> Option<[Counted; 2]> {
        let exits = self.veth.as_ref()?.exits.lock().unwrap_or_else(PoisonError::into_inner);
        let [to_server, to_generator] =
            exits.each_ref().map(|exit| device::find(&exit.netlink, exit.device).ok());
        Some([to_server?.sent, to_generator?.sent])
    }

    /// What it dropped so far; `None` on loopback, and where that cannot be read.
    pub(crate) fn dropped(&self) -> Option<Dropped> {
        self.veth.as_ref()?.tell(HolderRequest::Dropped).ok()
    }

    /// Throws away what is still on its way, when both who sent it and who waited for it have ended.
    pub fn empty(&self) {
        if let Some(veth) = self.veth.as_ref().filter(|veth| veth.ready.facts.middle) {
            // What could not be thrown away arrives, if late.
            let _ = veth.tell(HolderRequest::Emptied);
        }
    }
}

impl VethPair {
    fn provision(assay: &Path, cable: Cable, queues: u16) -> Result<Self, LinkError> {
        let (control, theirs) = UnixStream::pair().map_err(LinkError::NetnsHolder)?;
        let mut holder = Command::new(assay)
            .arg("hold-netns")
            .args([Spec::Veth(cable).to_string(), queues.to_string()])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in the terminal is for assay, which ends the netns holder when all that runs in its namespaces has ended.
            .process_group(0)
            .spawn()
            .map_err(LinkError::NetnsHolder)?;
        match first_words(&control).and_then(|ready| Ok((exits(&control, ready.facts.middle)?, ready))) {
            Ok((exits, ready)) => {
                Ok(Self { control: Some(Mutex::new(control)), holder, ready, exits: Mutex::new(exits) })
            }
            Err(error) => {
                let _ = holder.kill();
                let _ = holder.wait();
                Err(error)
            }
        }
    }

    /// Asks for what is told in a line.
    fn tell(&self, request: HolderRequest) -> io::Result<Dropped> {
        let control = self.control.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let mut control = control.lock().unwrap_or_else(PoisonError::into_inner);
        control.write_all(&[request as u8])?;
        let told: Option<Dropped> = serde_json::from_str(&line(&control)?)?;
        told.ok_or_else(|| io::Error::other("the netns holder of the link cannot tell"))
    }

    fn socket(&self, request: HolderRequest) -> io::Result<OwnedFd> {
        let control = self.control.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        // Nothing is left half done by a thread that dies in between but an answer, which the next one would take.
        let control = control.lock().unwrap_or_else(PoisonError::into_inner);
        ask(&control, request)
    }
}

impl Drop for VethPair {
    fn drop(&mut self) {
        drop(self.control.take());
        let _ = self.holder.wait();
    }
}

fn first_words(control: &UnixStream) -> Result<Ready, LinkError> {
    control.set_read_timeout(Some(NETNS_HOLDER_TIMEOUT)).map_err(LinkError::NetnsHolder)?;
    let words = line(control).map_err(LinkError::NetnsHolder)?;
    match serde_json::from_str(&words).map_err(|error| LinkError::NetnsHolder(error.into()))? {
        HolderReport::Ready(ready) => Ok(*ready),
        HolderReport::Forbidden { problem, remedy } => Err(LinkError::Forbidden { problem, remedy }),
    }
}

/// A line of the netns holder's. It says nothing more until it is asked, so nothing gets stuck in the buffer.
fn line(control: &UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(control).read_line(&mut line)?;
    Ok(line)
}

/// In the middle, if there is one, frames are counted behind the filters, else where the other end sends them.
fn exits(control: &UnixStream, middle: bool) -> Result<[Exit; 2], LinkError> {
    let exit = |request, device| {
        let netlink = ask(control, request).and_then(Netlink::over).map_err(LinkError::NetnsHolder)?;
        Ok(Exit { netlink, device })
    };
    if middle {
        return Ok([
            exit(HolderRequest::MiddleNetlink, PORTS[0])?,
            exit(HolderRequest::MiddleNetlink, PORTS[1])?,
        ]);
    }
    Ok([exit(HolderRequest::GeneratorNetlink, DEVICE)?, exit(HolderRequest::ServerNetlink, DEVICE)?])
}

fn ask(mut control: &UnixStream, request: HolderRequest) -> io::Result<OwnedFd> {
    control.write_all(&[request as u8])?;
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
