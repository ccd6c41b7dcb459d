//! Frames that a bridge loses at random: two rules of nf_tables in its forwarding hook (kernel: include/uapi/linux/netfilter/
//! nf_tables.h), one for each direction, which count what they lose.
//!
//! A rule is `iif PORT, numgen random mod 1000000 < LOSS, counter, drop`. tc-netem(8) would do too, but many kernels are
//! without it, and a rule can be made in a user namespace, where an XDP program cannot.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

use crate::attribute::{Attributes, children, number, text};
use crate::netlink::{BUFFER_BYTES, TIMEOUT};

/// The names of ours.
const TABLE: &str = "assay";
const CHAIN: &str = "loss";

/// Of linux/netlink.h: flags and kinds of messages.
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const HEADER_BYTES: usize = 16;

/// Of linux/netfilter/nfnetlink.h: the subsystem, and what encloses changes that are made together.
const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
/// Bytes of `struct nfgenmsg`: a family, a version, a subsystem.
const FAMILY_BYTES: usize = 4;
const FAMILY_BRIDGE: u8 = 7;

/// Of linux/netfilter/nf_tables.h: messages.
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
const GET_RULE: u16 = SUBSYSTEM << 8 | 7;
/// Attributes of tables, chains, hooks and rules.
const NAME: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_TYPE: u16 = 7;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
const RULE_CHAIN: u16 = 2;
const RULE_EXPRESSIONS: u16 = 4;
const LIST_ELEMENT: u16 = 1;
const EXPRESSION_DATA: u16 = 2;
const COUNTER_PACKETS: u16 = 2;
/// Values: the forwarding hook of a bridge, the register we use and that of the verdict, and what expressions do.
const HOOK_FORWARD: u32 = 2;
const REGISTER: u32 = 1;
const VERDICT_REGISTER: u32 = 0;
const META_IIF: u32 = 4;
const COMPARE_EQUAL: u32 = 0;
const COMPARE_LESS: u32 = 2;
const RANDOM: u32 = 1;
const TO_NETWORK_ORDER: u32 = 1;
const DROP: u32 = 0;
const MILLION: u32 = 1_000_000;

/// The rules, in the namespace that they were made in.
#[derive(Debug)]
pub(crate) struct PacketLoss {
    socket: OwnedFd,
}

impl PacketLoss {
    /// Loses so many of a million frames that come by each of two ports of a bridge in the caller's namespace.
    pub(crate) fn begin(ports: [u32; 2], per_million: u32) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            flags,
            Some(netlink::NETFILTER),
        )?;
        set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
        let loss = Self { socket };
        let table = Attributes::default().text(NAME, TABLE);
        let hook = Attributes::default().number(HOOK_NUMBER, HOOK_FORWARD).number(HOOK_PRIORITY, 0);
        let chain = Attributes::default()
            .text(NAME, TABLE)
            .text(CHAIN_NAME, CHAIN)
            .nest(CHAIN_HOOK, hook)
            .text(CHAIN_TYPE, "filter");
        let rule = |port| {
            Attributes::default()
                .text(NAME, TABLE)
                .text(RULE_CHAIN, CHAIN)
                .nest(RULE_EXPRESSIONS, expressions(port, per_million))
        };
        let changes =
            [(NEW_TABLE, table), (NEW_CHAIN, chain), (NEW_RULE, rule(ports[0])), (NEW_RULE, rule(ports[1]))];
        loss.change(&changes)?;
        Ok(loss)
    }

    /// Frames that were lost so far, by the ports they came by.
    pub(crate) fn lost(&self) -> io::Result<[u64; 2]> {
        self.send(&message(GET_RULE, NLM_F_REQUEST | NLM_F_DUMP, FAMILY_BRIDGE, 0, &[]))?;
        let mut lost = Vec::new();
        self.receive(|kind, payload| {
            if kind == NEW_RULE {
                lost.extend(counted(payload.get(FAMILY_BYTES..).unwrap_or_default()));
            }
            kind == NLMSG_DONE
        })?;
        lost.try_into().map_err(|_| io::Error::other("the link has lost the rules by which it loses frames"))
    }

    /// Makes changes, all or none.
    fn change(&self, changes: &[(u16, Attributes)]) -> io::Result<()> {
        let bracket = |kind| message(kind, NLM_F_REQUEST, 0, SUBSYSTEM, &[]);
        let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_APPEND;
        let mut batch = bracket(BATCH_BEGIN);
        for (kind, attributes) in changes {
            batch.extend(message(*kind, flags, FAMILY_BRIDGE, 0, attributes.bytes()));
        }
        batch.extend(bracket(BATCH_END));
        self.send(&batch)?;
        let mut acknowledged = 0;
        self.receive(|kind, _| {
            acknowledged += usize::from(kind == NLMSG_ERROR);
            acknowledged == changes.len()
        })
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        rustix::net::send(&self.socket, bytes, SendFlags::empty())?;
        Ok(())
    }

    /// Shows messages until one is the last; an error that the kernel tells ends it.
    fn receive(&self, mut is_last: impl FnMut(u16, &[u8]) -> bool) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let (length, _) = rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            for (kind, payload) in messages(&buffer[..length]) {
                if let Some(error) = (kind == NLMSG_ERROR).then(|| refusal(payload)).flatten() {
                    return Err(error);
                }
                if is_last(kind, payload) {
                    return Ok(());
                }
            }
        }
    }
}

/// `iif port, numgen random mod 1000000 < per_million, counter, drop`.
fn expressions(port: u32, per_million: u32) -> Attributes {
    let value = |bytes: [u8; 4]| Attributes::default().bytes_of(1, &bytes);
    let compare = |operation, bytes| {
        Attributes::default().number(1, REGISTER).number(2, operation).nest(3, value(bytes))
    };
    let verdict = Attributes::default().nest(2, Attributes::default().number(1, DROP));
    let all = [
        ("meta", Attributes::default().number(1, REGISTER).number(2, META_IIF)),
        ("cmp", compare(COMPARE_EQUAL, port.to_ne_bytes())),
        ("numgen", Attributes::default().number(1, REGISTER).number(2, MILLION).number(3, RANDOM)),
        // Comparisons go byte by byte from the left.
        (
            "byteorder",
            Attributes::default()
                .number(1, REGISTER)
                .number(2, REGISTER)
                .number(3, TO_NETWORK_ORDER)
                .number(4, 4)
                .number(5, 4),
        ),
        ("cmp", compare(COMPARE_LESS, per_million.to_be_bytes())),
        ("counter", Attributes::default()),
        ("immediate", Attributes::default().number(1, VERDICT_REGISTER).nest(2, verdict)),
    ];
    all.into_iter().fold(Attributes::default(), |list, (name, data)| {
        list.nest(LIST_ELEMENT, Attributes::default().text(NAME, name).nest(EXPRESSION_DATA, data))
    })
}

/// What the counter in a rule says.
fn counted(rule: &[u8]) -> Option<u64> {
    let expressions = children(rule).find(|(kind, _)| *kind == RULE_EXPRESSIONS)?.1;
    let counter = children(expressions).find_map(|(_, expression)| {
        let part = |wanted| children(expression).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
        (text(part(NAME)?) == "counter").then(|| part(EXPRESSION_DATA)).flatten()
    })?;
    children(counter).find(|(kind, _)| *kind == COUNTER_PACKETS).and_then(|(_, value)| number(value))
}

/// A message: its header, `struct nfgenmsg`, attributes.
fn message(kind: u16, flags: u16, family: u8, subsystem: u16, attributes: &[u8]) -> Vec<u8> {
    let length = (HEADER_BYTES + FAMILY_BYTES + attributes.len()) as u32;
    let mut bytes = Vec::with_capacity(length as usize);
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    // The number of the message and the port of its sender, which the kernel fills in.
    bytes.extend([0; 8]);
    bytes.extend([family, 0]);
    bytes.extend(subsystem.to_be_bytes());
    bytes.extend(attributes);
    bytes
}

/// Kinds and payloads of the messages in a datagram.
fn messages(mut datagram: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (header, _) = datagram.split_first_chunk::<HEADER_BYTES>()?;
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let payload = datagram.get(HEADER_BYTES..length)?;
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([header[4], header[5]]), payload))
    })
}

/// Reads a datagram as an answer to each of our questions.
pub(crate) fn try_answer(datagram: &[u8]) {
    for (_, payload) in messages(datagram) {
        drop((refusal(payload), counted(payload), counted(payload.get(FAMILY_BYTES..).unwrap_or_default())));
    }
}

/// The error that a message tells; `None` for an acknowledgement.
fn refusal(payload: &[u8]) -> Option<io::Error> {
    let code = payload.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    (code != 0).then(|| io::Error::from_raw_os_error(code.wrapping_neg()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_are_written_and_a_cut_one_is_not_there() {
        let both =
            [message(NEW_TABLE, 1, FAMILY_BRIDGE, 0, &[7; 5]), vec![0; 3], message(GET_RULE, 1, 0, 1, &[])];
        let bytes = both.concat();
        let found: Vec<(u16, usize)> =
            messages(&bytes).map(|(kind, payload)| (kind, payload.len())).collect();
        assert_eq!(found, [(NEW_TABLE, FAMILY_BYTES + 5), (GET_RULE, FAMILY_BYTES)]);
        assert_eq!(messages(&bytes[..bytes.len() - 1]).count(), 1);
        assert_eq!(messages(&[1; 20]).count(), 0, "a length beyond the end");
    }

    #[test]
    fn an_error_is_told_and_an_acknowledgement_is_none() {
        assert!(refusal(&0_i32.to_ne_bytes()).is_none());
        let error = refusal(&(-rustix::io::Errno::NOENT.raw_os_error()).to_ne_bytes()).expect("error");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_counter_is_found_among_the_expressions_of_a_rule() {
        let packets = Attributes::default().bytes_of(1, &9_u64.to_be_bytes());
        let packets = packets.bytes_of(COUNTER_PACKETS, &42_u64.to_be_bytes());
        let expression = |name, data| Attributes::default().text(NAME, name).nest(EXPRESSION_DATA, data);
        let list = Attributes::default()
            .nest(LIST_ELEMENT, expression("meta", Attributes::default().number(1, 1)))
            .nest(LIST_ELEMENT, expression("counter", packets));
        let rule = Attributes::default().text(NAME, TABLE).nest(RULE_EXPRESSIONS, list);
        assert_eq!(counted(rule.bytes()), Some(42));
        assert_eq!(counted(Attributes::default().nest(RULE_EXPRESSIONS, expressions(3, 10)).bytes()), None);
        assert_eq!(counted(&[]), None);
    }
}
