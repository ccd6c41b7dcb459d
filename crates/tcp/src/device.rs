//! A wire as smoltcp wants its devices: one frame in, or frames out while there is room; and a watch on what leaves.

use std::collections::VecDeque;

use assay_wire::{Facts, Sender};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

use crate::segment::{ETHERNET_BYTES, Segment};

/// Answers to frames that wait for room on the wire; further ones are given up, as their frames may have been.
const MAX_WAITING_REPLIES: usize = 256;

/// What smoltcp is to know of the wire.
pub(crate) fn capabilities(facts: Facts) -> DeviceCapabilities {
    let mut capabilities = DeviceCapabilities::default();
    capabilities.medium = Medium::Ethernet;
    capabilities.max_transmission_unit = facts.mtu + ETHERNET_BYTES;
    if facts.trusted {
        capabilities.checksum = ChecksumCapabilities::ignored();
    }
    capabilities
}

/// The device before there is anything to send.
pub(crate) struct Nowhere(pub(crate) DeviceCapabilities);

impl Device for Nowhere {
    type RxToken<'t> = Frame<'t>;
    type TxToken<'t> = Never;

    fn receive(&mut self, _: Instant) -> Option<(Frame<'_>, Never)> {
        None
    }

    fn transmit(&mut self, _: Instant) -> Option<Never> {
        None
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.0.clone()
    }
}

/// Nothing can be sent by it.
pub(crate) enum Never {}

impl TxToken for Never {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, _: usize, _: F) -> R {
        match self {}
    }
}

/// One frame that arrived, and where an answer goes that smoltcp makes at once.
pub(crate) struct Arrival<'a, S> {
    pub(crate) frame: Option<&'a [u8]>,
    pub(crate) sender: &'a mut S,
    pub(crate) replies: &'a mut Replies,
    pub(crate) capabilities: &'a DeviceCapabilities,
}

impl<S: Sender> Device for Arrival<'_, S> {
    type RxToken<'t>
        = Frame<'t>
    where
        Self: 't;
    type TxToken<'t>
        = Reply<'t, S>
    where
        Self: 't;

    fn receive(&mut self, _: Instant) -> Option<(Frame<'_>, Reply<'_, S>)> {
        let frame = self.frame.take()?;
        Some((Frame(frame), Reply { sender: self.sender, replies: self.replies }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Reply<'_, S>> {
        None
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.capabilities.clone()
    }
}

/// The frame that arrived.
pub(crate) struct Frame<'t>(&'t [u8]);

impl RxToken for Frame<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

/// Leave to answer a frame, whether there is room or not.
pub(crate) struct Reply<'t, S> {
    sender: &'t mut S,
    replies: &'t mut Replies,
}

impl<S: Sender> TxToken for Reply<'_, S> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        if self.replies.waiting.is_empty() && self.sender.room() {
            return self.sender.send(length, fill);
        }
        let mut frame = vec![0; length];
        let result = fill(&mut frame);
        self.replies.keep(frame);
        result
    }
}

/// Answers for which the wire had no room.
#[derive(Default)]
pub(crate) struct Replies {
    waiting: VecDeque<Vec<u8>>,
    /// Answers given up.
    pub(crate) dropped: u64,
}

impl Replies {
    fn keep(&mut self, frame: Vec<u8>) {
        if self.waiting.len() < MAX_WAITING_REPLIES {
            self.waiting.push_back(frame);
        } else {
            self.dropped += 1;
        }
    }

    /// Sends what there is room for.
    pub(crate) fn send(&mut self, sender: &mut impl Sender) {
        while !self.waiting.is_empty() && sender.room() {
            if let Some(frame) = self.waiting.pop_front() {
                sender.send(frame.len(), |room| room.copy_from_slice(&frame));
            }
        }
    }
}

/// Frames of one connection on their way out.
pub(crate) struct Departure<'a, S> {
    pub(crate) sender: &'a mut S,
    pub(crate) watch: &'a mut Watch,
    pub(crate) capabilities: &'a DeviceCapabilities,
    /// The wire had no room: the socket keeps its segment.
    pub(crate) blocked: bool,
    /// A frame left that is no segment: a question for the neighbour's hardware address.
    pub(crate) asked: bool,
}

impl<S: Sender> Device for Departure<'_, S> {
    type RxToken<'t>
        = Frame<'t>
    where
        Self: 't;
    type TxToken<'t>
        = Leave<'t, S>
    where
        Self: 't;

    fn receive(&mut self, _: Instant) -> Option<(Frame<'_>, Leave<'_, S>)> {
        None
    }

    fn transmit(&mut self, _: Instant) -> Option<Leave<'_, S>> {
        if !self.sender.room() {
            self.blocked = true;
            return None;
        }
        Some(Leave { sender: self.sender, watch: self.watch, asked: &mut self.asked })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.capabilities.clone()
    }
}

/// Leave to send a frame for which there is room.
pub(crate) struct Leave<'t, S> {
    sender: &'t mut S,
    watch: &'t mut Watch,
    asked: &'t mut bool,
}

impl<S: Sender> TxToken for Leave<'_, S> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let (watch, asked) = (self.watch, self.asked);
        self.sender.send(length, |frame| {
            let result = fill(frame);
            match Segment::parse(frame) {
                Some(segment) => watch.note(&segment),
                None => *asked = true,
            }
            result
        })
    }
}

/// Tells segments that are sent again, which smoltcp does not count, by the sequence numbers of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    /// The sequence number behind all that was sent; `None` before the SYN.
    highest: Option<u32>,
    /// The peer's window is closed: single octets beyond it are probes (RFC 9293 §3.8.6.1) and will be sent again in order.
    pub(crate) window_closed: bool,
    /// Segments sent again.
    pub(crate) retransmitted: u64,
}

impl Watch {
    /// Whether any segment has left.
    pub(crate) fn has_sent(&self) -> bool {
        self.highest.is_some()
    }

    fn note(&mut self, segment: &Segment) {
        if segment.length() == 0 || (self.window_closed && segment.data_bytes == 1) {
            return;
        }
        let end = segment.sequence.wrapping_add(segment.length());
        let is_behind = |highest: u32| (segment.sequence.wrapping_sub(highest) as i32) < 0;
        if self.highest.is_some_and(is_behind) {
            self.retransmitted += 1;
        }
        if self.highest.is_none_or(|highest| (end.wrapping_sub(highest) as i32) > 0) {
            self.highest = Some(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Flow;

    fn data(sequence: u32, data_bytes: u32) -> Segment {
        let end = "10.77.0.1:80".parse().unwrap();
        let flow = Flow::new(end, end);
        Segment { flow, sequence, data_bytes, syn: false, fin: false, ack: true, window_closed: false }
    }

    #[test]
    fn tells_what_is_sent_again_also_where_numbers_wrap() {
        let mut watch = Watch::default();
        watch.note(&Segment { syn: true, ..data(u32::MAX - 100, 0) });
        for sequence in [u32::MAX - 99, 0, 100] {
            watch.note(&data(sequence, 100));
        }
        watch.note(&data(200, 0));
        assert_eq!(watch.retransmitted, 0, "in order, and an acknowledgement");
        watch.note(&data(100, 100));
        watch.note(&data(200, 50));
        assert_eq!(watch.retransmitted, 1);
    }

    #[test]
    fn a_window_probe_is_no_retransmission() {
        let mut watch = Watch::default();
        watch.note(&data(0, 100));
        watch.window_closed = true;
        watch.note(&data(100, 1));
        watch.note(&data(100, 1));
        watch.window_closed = false;
        watch.note(&data(100, 100));
        assert_eq!(watch.retransmitted, 0);
    }
}
