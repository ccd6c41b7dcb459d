//! Frames that arrive: the receive ring, and the fill ring by which their memory goes back to the kernel.

use std::os::fd::OwnedFd;
use std::slice;
use std::sync::Arc;

use rustix::net::{RecvFlags, sockopt};

use super::queue::Queue;
use super::socket::{FRAMES, Memory, Parts};
use crate::parts::Incoming;
use crate::{Receiver, Statistics};

/// Frames given back at once.
const GIVE_BACK: u32 = 64;

/// Reads frames from a queue.
#[derive(Debug)]
pub struct XdpReceiver {
    socket: Arc<OwnedFd>,
    memory: Arc<Memory>,
    receive: Queue,
    fill: Queue,
    /// The oldest frame that was not released.
    head: u32,
    /// What the kernel knows of `head`.
    published: u32,
    /// What we know of the kernel's end.
    tail: u32,
    /// Frames given to the kernel so far.
    filled: u32,
    counted: Statistics,
}

impl XdpReceiver {
    /// Gives all memory for frames that arrive to the kernel. Returns the rest of the parts.
    pub(super) fn new(parts: Parts) -> (Self, Queue, Queue) {
        for (index, address) in parts.memory.addresses(false).enumerate() {
            parts.fill.set_address(index as u32, address);
        }
        parts.fill.publish_producer(FRAMES);
        let receiver = Self {
            socket: parts.socket,
            memory: parts.memory,
            receive: parts.receive,
            fill: parts.fill,
            head: 0,
            published: 0,
            tail: 0,
            filled: FRAMES,
            counted: Statistics::default(),
        };
        (receiver, parts.transmit, parts.completion)
    }

    fn look(&mut self) -> bool {
        if self.head == self.tail {
            self.tail = self.receive.producer();
        }
        self.head != self.tail
    }

    fn give_back(&mut self) {
        if self.published != self.head {
            self.published = self.head;
            self.fill.publish_producer(self.filled);
            self.receive.publish_consumer(self.head);
        }
    }

    fn step(&mut self, address: u64) {
        if let Some(frame) = self.memory.arrived(address) {
            self.fill.set_address(self.filled, frame);
            self.filled = self.filled.wrapping_add(1);
        }
        self.head = self.head.wrapping_add(1);
        if self.head.wrapping_sub(self.published) >= GIVE_BACK {
            self.give_back();
        }
    }
}

impl Receiver for XdpReceiver {
    fn peek(&mut self) -> Option<&[u8]> {
        let (place, length) = loop {
            if !self.look() {
                self.settle();
                return None;
            }
            let (address, length) = self.receive.frame(self.head);
            match self.memory.range(address, length) {
                Some(place) => break (place, length),
                None => {
                    self.counted.dropped_frames += 1;
                    self.step(address);
                }
            }
        };
        // SAFETY: within the memory, which the receiver holds. The kernel gave us this frame and does not write to it before it
        // finds it in the fill ring again.
        Some(unsafe { slice::from_raw_parts(place.as_ptr(), length) })
    }

    fn release(&mut self) {
        if self.head != self.tail {
            self.counted.received_frames += 1;
            let (address, _) = self.receive.frame(self.head);
            self.step(address);
        }
    }
}

impl Incoming for XdpReceiver {
    fn is_ready(&mut self) -> bool {
        self.look()
    }

    fn settle(&mut self) {
        self.give_back();
        if self.fill.needs_wakeup() {
            self.counted.system_calls += 1;
            // Whether the queue is still there is asked elsewhere.
            let _ = rustix::net::recv(&self.socket, &mut [0_u8; 0][..], RecvFlags::DONTWAIT);
        }
    }

    fn statistics(&self) -> Statistics {
        let lost = sockopt::xdp_statistics(&self.socket).map_or(0, |kernel| {
            kernel.rx_dropped
                + kernel.rx_ring_full.unwrap_or(0)
                + kernel.rx_fill_ring_empty_descs.unwrap_or(0)
        });
        Statistics { dropped_frames: self.counted.dropped_frames + lost, ..self.counted }
    }
}
