//! What is not TCP, as smoltcp wants it: one frame in, its answer out. It answers ARP, neighbour discovery and echo.

use std::collections::VecDeque;

use assay_wire::{Facts, Sender};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

use crate::frame::ETHERNET_BYTES;

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

/// One frame that arrived, if any, and where an answer goes that smoltcp makes at once.
pub(crate) struct Arrival<'a> {
    pub(crate) frame: Option<&'a [u8]>,
    pub(crate) replies: &'a mut Replies,
    pub(crate) capabilities: &'a DeviceCapabilities,
}

impl Device for Arrival<'_> {
    type RxToken<'t>
        = Frame<'t>
    where
        Self: 't;
    type TxToken<'t>
        = Reply<'t>
    where
        Self: 't;

    fn receive(&mut self, _: Instant) -> Option<(Frame<'_>, Reply<'_>)> {
        let frame = self.frame.take()?;
        Some((Frame(frame), Reply(self.replies)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Reply<'_>> {
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

/// Leave to answer it.
pub(crate) struct Reply<'t>(&'t mut Replies);

impl TxToken for Reply<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let mut frame = vec![0; length];
        let result = fill(&mut frame);
        self.0.keep(frame);
        result
    }
}

/// Frames of no connection, on their way out.
#[derive(Default)]
pub(crate) struct Replies {
    waiting: VecDeque<Vec<u8>>,
    /// Frames given up.
    pub(crate) dropped: u64,
}

impl Replies {
    /// Keeps a frame until there is room for it.
    pub(crate) fn keep(&mut self, frame: Vec<u8>) {
        if self.waiting.len() < MAX_WAITING_REPLIES {
            self.waiting.push_back(frame);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether there are any.
    pub(crate) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
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
