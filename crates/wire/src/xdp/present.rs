//! The XDP program that an interface has, by the kernel's network configuration (rtnetlink(7), `IFLA_XDP` of linux/if_link.h).

use std::io;

use netlink_packet_core::{NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage, LinkXdp, XdpAttached};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::bpf::Mode;

/// Room for an answer (kernel document userspace-api/netlink/intro.rst: at least 8 KiB).
const ANSWER_BYTES: usize = 64 << 10;

/// The number of the program on an interface, and where it runs; `None` if there is none, or one where none of ours is.
pub(super) fn program_on(interface: u32) -> io::Result<Option<(u32, Mode)>> {
    let mut question = LinkMessage::default();
    question.header.index = interface;
    Ok(told_by(&ask(question)?))
}

fn told_by(link: &LinkMessage) -> Option<(u32, Mode)> {
    let facts = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::Xdp(facts) => Some(facts),
        _ => None,
    })?;
    let mode = facts.iter().find_map(|fact| match fact {
        LinkXdp::Attached(XdpAttached::SocketBuffer) => Some(Mode::Generic),
        LinkXdp::Attached(XdpAttached::Driver) => Some(Mode::Native),
        _ => None,
    })?;
    let number = facts.iter().find_map(|fact| match fact {
        LinkXdp::ProgId(number) => Some(*number),
        _ => None,
    })?;
    Some((number, mode))
}

/// Asks for one interface of the namespace that this thread is in.
fn ask(question: LinkMessage) -> io::Result<LinkMessage> {
    let flags = SocketFlags::CLOEXEC;
    // Protocol 0 is the network configuration (NETLINK_ROUTE, netlink(7)).
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    let mut message = NetlinkMessage::from(RouteNetlinkMessage::GetLink(question));
    message.header.flags = NLM_F_REQUEST;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    rustix::net::send(&socket, &bytes, SendFlags::empty())?;
    let mut answer = vec![0; ANSWER_BYTES];
    // The kernel has answered when the call that asks returns.
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    read(&answer[..length])
}

fn read(answer: &[u8]) -> io::Result<LinkMessage> {
    let broken = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(answer);
    match message.map_err(|error| broken(error.to_string()))?.payload {
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => Ok(link),
        NetlinkPayload::Error(error) => Err(error.to_io()),
        other => Err(broken(format!("the kernel answers with {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_of_an_interface_and_that_there_is_none() {
        // Loopback is the first interface everywhere, and nobody puts a program on that of a test's machine.
        assert_eq!(program_on(1).expect("told"), None);
        assert_eq!(program_on(u32::MAX >> 1).expect_err("none").raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn a_program_is_told_with_its_mode_and_elsewhere_it_is_none_of_ours() {
        let link = |attached, number| {
            let mut link = LinkMessage::default();
            link.attributes.push(LinkAttribute::Xdp(vec![
                LinkXdp::Attached(attached),
                LinkXdp::ProgId(number),
                LinkXdp::SkbProgId(number),
            ]));
            link
        };
        assert_eq!(told_by(&link(XdpAttached::SocketBuffer, 7)), Some((7, Mode::Generic)));
        assert_eq!(told_by(&link(XdpAttached::Driver, 8)), Some((8, Mode::Native)));
        assert_eq!(told_by(&link(XdpAttached::Hardware, 9)), None);
        assert_eq!(told_by(&LinkMessage::default()), None);
    }

    #[test]
    fn a_cut_answer_is_an_error() {
        assert!(read(&[1, 2, 3]).is_err() && read(&[]).is_err());
    }
}
