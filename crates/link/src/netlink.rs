//! Messages to the kernel's network configuration and their answers (rtnetlink(7)).

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// Longest wait for an answer, which the kernel gives before the call that asks returns.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);
/// Room for one datagram of a dump (kernel: netlink.rst, "at least 8 KiB").
pub(crate) const BUFFER_BYTES: usize = 64 << 10;
/// Messages and their parts begin at multiples of this.
const ALIGNMENT: usize = 4;

/// A socket to the network configuration of the namespace it was made in, whoever uses it.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    /// A socket to the namespace that this thread is in.
    pub(crate) fn open() -> io::Result<Self> {
        Self::over(socket()?)
    }

    /// Over a socket that [`socket`] made, perhaps in another process.
    pub(crate) fn over(socket: OwnedFd) -> io::Result<Self> {
        set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
        Ok(Self { socket })
    }

    /// Orders a change, or asks for one object; what is answered besides the acknowledgement.
    pub(crate) fn ask(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.exchange(message, NLM_F_REQUEST | NLM_F_ACK | flags)
    }

    /// Asks for all objects of a kind.
    pub(crate) fn dump(&self, message: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.exchange(message, NLM_F_REQUEST | NLM_F_DUMP)
    }

    fn exchange(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut message = NetlinkMessage::from(message);
        message.header.flags = flags;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        rustix::net::send(&self.socket, &bytes, SendFlags::empty())?;
        let mut answers = Vec::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let (len, _) = rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            if read(&buffer[..len], &mut answers)? {
                return Ok(answers);
            }
        }
    }
}

/// A netlink socket for the network configuration, which is the protocol 0 (NETLINK_ROUTE, netlink(7)).
pub(crate) fn socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?)
}

/// Reads the messages of a datagram; whether the last of the answer was among them.
pub(crate) fn read(mut datagram: &[u8], answers: &mut Vec<RouteNetlinkMessage>) -> io::Result<bool> {
    let broken = |error| io::Error::new(io::ErrorKind::InvalidData, format!("{error}"));
    while !datagram.is_empty() {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(datagram).map_err(broken)?;
        match message.payload {
            NetlinkPayload::InnerMessage(answer) => answers.push(answer),
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) if error.code.is_none() => return Ok(true),
            // The library's own way fails on the one number that has no opposite.
            NetlinkPayload::Error(error) => {
                return Err(io::Error::from_raw_os_error(error.raw_code().wrapping_neg()));
            }
            _ => {}
        }
        let length = (message.header.length as usize).next_multiple_of(ALIGNMENT);
        datagram = datagram.get(length..).unwrap_or_default();
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::link::{LinkAttribute, LinkMessage};

    #[test]
    fn the_kernel_answers_and_refuses() {
        let netlink = Netlink::open().expect("socket");
        let links = netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default())).expect("links");
        let loopback = LinkAttribute::IfName("lo".to_owned());
        let has_loopback = |message: &RouteNetlinkMessage| match message {
            RouteNetlinkMessage::NewLink(link) => link.attributes.contains(&loopback),
            _ => false,
        };
        assert!(links.iter().any(has_loopback), "{links:?}");
        let mut nobody = LinkMessage::default();
        nobody.attributes.push(LinkAttribute::IfName("no-such-device".to_owned()));
        let error = netlink.ask(RouteNetlinkMessage::GetLink(nobody), 0).expect_err("none");
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::NODEV.raw_os_error()), "{error}");
    }

    #[test]
    fn the_least_error_number_is_an_error_too() {
        let datagram = [20_u32, 2, 16, 1, 1 << 31].map(u32::to_ne_bytes).concat();
        let error = read(&datagram, &mut Vec::new()).expect_err("an error");
        assert_eq!(error.raw_os_error(), Some(i32::MIN));
    }

    #[test]
    fn a_cut_datagram_is_an_error() {
        assert!(read(&[1, 2, 3], &mut Vec::new()).is_err());
        assert!(matches!(read(&[], &mut Vec::new()), Ok(false)));
    }
}
