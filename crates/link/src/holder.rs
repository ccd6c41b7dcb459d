//! The holder: a process of our own program that makes the two namespaces, holds them, and hands out sockets of theirs.
//!
//! A socket belongs to the namespace that it was made in, whoever uses it later. So whoever wants to reach the server from
//! the generator's side needs no right to enter a namespace, nor has to leave its own: it asks for a socket.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use assay_model::link::{LinkFacts, LinkShape};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto};
use serde::{Deserialize, Serialize};

use crate::end::{self, GENERATOR, SERVER};
use crate::error::LinkError;
use crate::netlink::{self, Netlink};
use crate::passing::hand_over;
use crate::shape::shape;
use crate::space::{Side, Spaces, move_into, refused};

/// What the holder says first, on one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
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

/// A socket that can be asked for, as one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Wish {
    /// TCP over IPv4, on the server's side.
    ServerTcp = b's',
    /// The same on the generator's.
    GeneratorTcp = b'g',
    /// Netlink on the server's side.
    ServerNetlink = b'S',
    /// The same on the generator's.
    GeneratorNetlink = b'G',
}

/// The body of the hidden subcommand `assay hold`: makes a link that carries `bits_per_second`, tells `control`, and holds
/// it until the other side of `control` is closed.
///
/// # Errors
/// When `control` breaks; a link that cannot be made is told there.
pub fn hold(bits_per_second: Option<u64>, mut control: UnixStream) -> io::Result<()> {
    let made = make(bits_per_second.map(shape));
    let (report, spaces) = match made {
        Ok((ready, spaces)) => (Report::Ready(Box::new(ready)), Some(spaces)),
        Err(LinkError::Forbidden { problem, remedy }) => (Report::Forbidden { problem, remedy }, None),
        Err(LinkError::Holder(error)) => return Err(error),
    };
    writeln!(control, "{}", serde_json::to_string(&report)?)?;
    let Some(spaces) = spaces else { return Ok(()) };
    let mut wish = [0];
    while control.read(&mut wish)? == 1 {
        let socket = Wish::of(wish[0]).and_then(|wish| grant(wish, &spaces).ok());
        hand_over(&control, socket.as_ref().map(AsFd::as_fd))?;
    }
    Ok(())
}

fn make(shape: Option<LinkShape>) -> Result<(Ready, Spaces), LinkError> {
    let spaces = Spaces::make()?;
    let told = |what: &'static str| move |error: io::Error| refused(what, &error);
    let netlink = Netlink::open().map_err(told("a netlink socket"))?;
    end::lay_cable(&netlink, spaces.server.as_fd()).map_err(told("a pair of virtual devices (veth)"))?;
    let device =
        end::set_up(&netlink, GENERATOR, shape.as_ref()).map_err(told("the generator's end (veth, tbf)"))?;
    let sysctls = end::set_sysctls();
    move_into(spaces.server.as_fd()).map_err(told("a move between namespaces"))?;
    let netlink = Netlink::open().map_err(told("a netlink socket"))?;
    end::set_up(&netlink, SERVER, shape.as_ref()).map_err(told("the server's end (veth, tbf)"))?;
    end::set_sysctls();
    let facts = LinkFacts {
        server_address: SERVER.to_string(),
        generator_address: GENERATOR.to_string(),
        mtu_bytes: device.mtu_bytes,
        gso_max_bytes: device.gso_max_bytes,
        shape,
        sysctls,
        user_namespace: spaces.in_user_namespace,
    };
    let [Side { network: server, user }, Side { network: generator, .. }] = spaces.sides();
    Ok((Ready { facts, networks: [server, generator], user }, spaces))
}

impl Wish {
    const ALL: [Self; 4] = [Self::ServerTcp, Self::GeneratorTcp, Self::ServerNetlink, Self::GeneratorNetlink];

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|wish| *wish as u8 == byte)
    }

    fn space(self, spaces: &Spaces) -> BorrowedFd<'_> {
        match self {
            Self::ServerTcp | Self::ServerNetlink => spaces.server.as_fd(),
            Self::GeneratorTcp | Self::GeneratorNetlink => spaces.generator.as_fd(),
        }
    }
}

fn grant(wish: Wish, spaces: &Spaces) -> io::Result<OwnedFd> {
    move_into(wish.space(spaces))?;
    match wish {
        Wish::ServerNetlink | Wish::GeneratorNetlink => netlink::socket(),
        Wish::ServerTcp | Wish::GeneratorTcp => Ok(rustix::net::socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            Some(ipproto::TCP),
        )?),
    }
}
