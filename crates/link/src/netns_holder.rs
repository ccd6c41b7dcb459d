//! The netns holder: a process of our own program that makes the namespaces, holds them, and hands out sockets of theirs.
//!
//! A socket belongs to the namespace that it was made in, whoever uses it later. So whoever wants to reach the server from
//! the generator's side needs no right to enter a namespace, nor has to leave its own: it asks for a socket.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use assay_model::link::LinkFacts;
use assay_model::network::Cable;
use assay_model::rate::Rate;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto};
use serde::{Deserialize, Serialize};

use crate::device;
use crate::end::{self, DEVICE, GENERATOR, SERVER};
use crate::error::LinkError;
use crate::middle::{Dropped, Middle};
use crate::netlink::{self, Netlink};
use crate::passing::hand_over;
use crate::shape::shape;
use crate::space::{Side, Spaces, move_into, refused};

/// What the netns holder says first, on one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HolderReport {
    /// The link is there.
    Ready(Box<Ready>),
    /// It is not.
    Forbidden { problem: String, remedy: String },
}

/// What a user of the link must know.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(crate) facts: LinkFacts,
    /// The network namespaces of server and generator.
    pub(crate) networks: [PathBuf; 2],
    /// The user namespace that they belong to.
    pub(crate) user: Option<PathBuf>,
}

/// What can be asked for, as one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum HolderRequest {
    /// A socket for TCP over IPv4, on the server's side.
    ServerTcp = b's',
    /// A socket for TCP over IPv4, on the generator's side.
    GeneratorTcp = b'g',
    /// Netlink on the server's side.
    ServerNetlink = b'S',
    /// Netlink on the generator's side.
    GeneratorNetlink = b'G',
    /// Netlink in the middle.
    MiddleNetlink = b'M',
    /// What the link dropped so far: a line with [`Dropped`] as JSON, or `null`.
    Dropped = b'd',
    /// A request to throw away what waits in the middle; the same line afterwards.
    Emptied = b'e',
}

/// The body of the hidden subcommand `assay hold-netns`: provisions a cable with so many queues, tells `control`, and holds it until the
/// other side of `control` is closed.
///
/// # Errors
/// When `control` breaks; a link that cannot be made is told there.
pub fn hold_netns(cable: Cable, queues: u16, mut control: UnixStream) -> io::Result<()> {
    let (report, held) = match HeldNamespaces::make(cable, queues) {
        Ok((ready, held)) => (HolderReport::Ready(Box::new(ready)), Some(held)),
        Err(LinkError::Forbidden { problem, remedy }) => (HolderReport::Forbidden { problem, remedy }, None),
        Err(LinkError::NetnsHolder(error)) => return Err(error),
    };
    writeln!(control, "{}", serde_json::to_string(&report)?)?;
    let Some(held) = held else { return Ok(()) };
    let mut request = [0];
    while control.read(&mut request)? == 1 {
        match HolderRequest::of(request[0]) {
            Some(request @ (HolderRequest::Dropped | HolderRequest::Emptied)) => {
                let dropped = held.dropped(request == HolderRequest::Emptied).ok();
                writeln!(control, "{}", serde_json::to_string(&dropped)?)?;
            }
            request => {
                let socket = request.and_then(|request| held.grant(request).ok());
                hand_over(&control, socket.as_ref().map(AsFd::as_fd))?;
            }
        }
    }
    Ok(())
}

impl HolderRequest {
    const ALL: [Self; 7] = [
        Self::ServerTcp,
        Self::GeneratorTcp,
        Self::ServerNetlink,
        Self::GeneratorNetlink,
        Self::MiddleNetlink,
        Self::Dropped,
        Self::Emptied,
    ];

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|request| *request as u8 == byte)
    }
}

/// What the netns holder holds.
struct HeldNamespaces {
    spaces: Spaces,
    middle: Option<Middle>,
}

impl HeldNamespaces {
    fn make(cable: Cable, queues: u16) -> Result<(Ready, Self), LinkError> {
        let told = |what: &'static str| move |error: io::Error| refused(what, &error);
        let spaces = Spaces::make(!cable.is_plain())?;
        let shape = cable.bits_per_second.map(shape);
        let loss_per_million = (cable.loss > Rate::ZERO).then(|| cable.loss.per_million());
        let (server, generator) = (spaces.server.as_fd(), spaces.generator.as_fd());
        let middle = if cable.is_plain() {
            let netlink = Netlink::open().map_err(told("a netlink socket"))?;
            device::create_cable(&netlink, DEVICE, DEVICE, server, queues.into())
                .map_err(told("a pair of virtual devices (veth)"))?;
            None
        } else {
            let middle = Middle::make(server, generator, shape.clone(), loss_per_million);
            Some(middle.map_err(told("the middle of the link (veth, bridge, tbf, nf_tables)"))?)
        };
        let end = |space: &File, address| -> io::Result<_> {
            move_into(space.as_fd())?;
            let device = end::set_up(&Netlink::open()?, address, middle.is_some())?;
            Ok((device, end::set_sysctls()))
        };
        let (device, sysctls) =
            end(&spaces.generator, GENERATOR).map_err(told("the generator's end (veth)"))?;
        end(&spaces.server, SERVER).map_err(told("the server's end (veth)"))?;
        let facts = LinkFacts {
            server_address: SERVER.to_string(),
            generator_address: GENERATOR.to_string(),
            mtu_bytes: device.mtu_bytes,
            gso_max_bytes: device.gso_max_bytes,
            shape,
            loss_per_million,
            middle: middle.is_some(),
            sysctls,
            user_namespace: spaces.in_user_namespace,
        };
        let [Side { network: server, user }, Side { network: generator, .. }] = spaces.sides();
        Ok((Ready { facts, networks: [server, generator], user }, Self { spaces, middle }))
    }

    fn dropped(&self, empty: bool) -> io::Result<Dropped> {
        let Some(middle) = &self.middle else { return Ok(Dropped::default()) };
        if empty {
            middle.empty()?;
        }
        middle.dropped()
    }

    /// A socket of one of the namespaces.
    fn grant(&self, request: HolderRequest) -> io::Result<OwnedFd> {
        let space = match request {
            HolderRequest::ServerTcp | HolderRequest::ServerNetlink => Some(&self.spaces.server),
            HolderRequest::GeneratorTcp | HolderRequest::GeneratorNetlink => Some(&self.spaces.generator),
            HolderRequest::MiddleNetlink => self.spaces.middle.as_ref(),
            HolderRequest::Dropped | HolderRequest::Emptied => None,
        };
        move_into(space.ok_or(io::ErrorKind::InvalidInput)?.as_fd())?;
        match request {
            HolderRequest::ServerTcp | HolderRequest::GeneratorTcp => Ok(rustix::net::socket_with(
                AddressFamily::INET,
                SocketType::STREAM,
                SocketFlags::CLOEXEC,
                Some(ipproto::TCP),
            )?),
            _ => netlink::socket(),
        }
    }
}
