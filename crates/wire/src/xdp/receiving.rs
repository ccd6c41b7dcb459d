//! Frames that arrive: the receive ring, and the fill ring by which their memory goes back to the kernel.

use std::os::fd::{AsFd as _, OwnedFd};
use std::slice;
use std::sync::Arc;

use assay_descriptors as descriptors;
use rustix::net::{RecvFlags, sockopt};

use super::depth::Depth;
use super::queue::Queue;
use super::socket::{ARRIVING, Memory, Parts};
use crate::memory;
use crate::parts::Incoming;
use crate::{Receiver, Statistics};

/// Frames given back at once.
const GIVE_BACK: u32 = 64;
/// Frames between two questions to the kernel what it has dropped.
const ASK_EVERY: u64 = 4096;

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
    depth: Depth,
    /// Memory for frames that the kernel need not have. The last to come is the first to go: it is still in the cache.
    spare: Vec<u64>,
    counted: Statistics,
    /// Frames received when the kernel is asked again what it has dropped.
    ask_at: u64,
    /// What it has dropped.
    lost: u64,
}

impl XdpReceiver {
    /// Gives all memory for frames that arrive to the kernel. Returns the rest of the parts.
    pub(super) fn new(parts: Parts) -> (Self, Queue, Queue) {
        for (index, address) in parts.memory.addresses(false).enumerate() {
            parts.fill.set_address(index as u32, address);
        }
        parts.fill.publish_producer(ARRIVING);
        let receiver = Self {
            socket: parts.socket,
            memory: parts.memory,
            receive: parts.receive,
            fill: parts.fill,
            head: 0,
            published: 0,
            tail: 0,
            filled: ARRIVING,
            depth: Depth::default(),
            spare: Vec::with_capacity(ARRIVING as usize),
            counted: Statistics::default(),
            ask_at: ASK_EVERY,
            lost: 0,
        };
        (receiver, parts.transmit, parts.completion)
    }

    fn look(&mut self) -> bool {
        if self.head == self.tail {
            self.tail = self.receive.producer();
            self.depth.notice(self.tail.wrapping_sub(self.head));
            self.expect_next();
        }
        self.head != self.tail
    }

    /// Has the frame behind the next one on its way: the sender's CPU has written it.
    #[inline]
    fn expect_next(&self) {
        if self.tail.wrapping_sub(self.head) > 1 {
            let (address, _) = self.receive.frame(self.head.wrapping_add(1));
            self.memory.range(address, 0).into_iter().for_each(memory::expect_to_read);
        }
    }

    fn give_back(&mut self) {
        if self.published != self.head {
            self.published = self.head;
            self.fill.publish_producer(self.filled);
            self.receive.publish_consumer(self.head);
        }
    }

    fn step(&mut self, address: u64) {
        self.spare.extend(self.memory.arrived(address));
        self.head = self.head.wrapping_add(1);
        self.expect_next();
        while self.filled.wrapping_sub(self.head) < self.depth.frames()
            && let Some(frame) = self.spare.pop()
        {
            self.fill.set_address(self.filled, frame);
            self.filled = self.filled.wrapping_add(1);
        }
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
        if self.fill.needs_wakeup() && descriptors::holds(self.socket.as_fd()) {
            self.counted.system_calls += 1;
            // Whether the queue is still there is asked elsewhere.
            let _ = rustix::net::recv(&self.socket, &mut [0_u8; 0][..], RecvFlags::DONTWAIT);
        }
        if self.counted.received_frames >= self.ask_at {
            self.rest();
        }
    }

    fn rest(&mut self) {
        self.ask_at = self.counted.received_frames + ASK_EVERY;
        self.counted.system_calls += 1;
        // A frame for which the fill ring had no memory is among those dropped already (`__xsk_rcv` in net/xdp/xsk.c).
        self.lost = sockopt::xdp_statistics(&self.socket)
            .map_or(self.lost, |kernel| kernel.rx_dropped + kernel.rx_ring_full.unwrap_or(0));
    }

    fn statistics(&self) -> Statistics {
        Statistics { dropped_frames: self.counted.dropped_frames + self.lost, ..self.counted }
    }
}
