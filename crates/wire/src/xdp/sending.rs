//! Frames that leave: the transmit ring, and the completion ring by which their memory comes back.

use std::os::fd::{AsFd as _, OwnedFd};
use std::slice;
use std::sync::Arc;

use assay_descriptors as descriptors;
use rustix::io::Errno;
use rustix::net::SendFlags;

use super::queue::Queue;
use super::socket::{LEAVING, Memory};
use crate::parts::Outgoing;
use crate::{Sender, Statistics};

/// Frames for one call; as many as the kernel takes from the ring in one (`TX_BATCH_SIZE` in net/xdp/xsk.c).
const BATCH: u32 = 32;

/// Writes frames to a queue.
#[derive(Debug)]
pub struct XdpSender {
    socket: Arc<OwnedFd>,
    memory: Arc<Memory>,
    transmit: Queue,
    completion: Queue,
    /// Memory for frames that nobody uses. The last to come back is the first to be taken: it is still in the cache.
    free: Vec<u64>,
    /// The next frame.
    tail: u32,
    /// What the kernel knows of `tail`.
    published: u32,
    /// Completions seen.
    completed: u32,
    wants_room: bool,
    counted: Statistics,
    gone: bool,
}

impl XdpSender {
    pub(super) fn new(
        socket: &Arc<OwnedFd>,
        memory: &Arc<Memory>,
        transmit: Queue,
        completion: Queue,
    ) -> Self {
        Self {
            socket: Arc::clone(socket),
            memory: Arc::clone(memory),
            transmit,
            completion,
            free: memory.addresses(true).collect(),
            tail: 0,
            published: 0,
            completed: 0,
            wants_room: false,
            counted: Statistics::default(),
            gone: false,
        }
    }

    /// Takes back the memory of frames that have left.
    fn reap(&mut self) {
        let end = self.completion.producer();
        // More than there are would be a lie, and the loop long.
        for _ in 0..end.wrapping_sub(self.completed).min(LEAVING) {
            self.free.push(self.completion.address(self.completed));
            self.completed = self.completed.wrapping_add(1);
        }
        self.completion.publish_consumer(self.completed);
    }

    /// Asks the kernel to send, as often as it sends something and leaves something.
    fn kick(&mut self) {
        let mut left = self.tail.wrapping_sub(self.transmit.consumer());
        while left > 0 && self.transmit.needs_wakeup() {
            self.counted.system_calls += 1;
            if !descriptors::holds(self.socket.as_fd()) {
                self.gone = true;
                return;
            }
            match rustix::net::send(&self.socket, &[], SendFlags::DONTWAIT) {
                Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS | Errno::INTR | Errno::NETDOWN) => {}
                Err(_) => self.gone = true,
            }
            let before = left;
            left = self.tail.wrapping_sub(self.transmit.consumer());
            if left >= before {
                return;
            }
        }
    }
}

impl Sender for XdpSender {
    fn room(&mut self) -> bool {
        if self.free.is_empty() {
            self.flush();
            self.reap();
            if self.free.is_empty() {
                self.kick();
                self.reap();
            }
            self.wants_room = self.free.is_empty();
            self.counted.full += u64::from(self.wants_room);
        }
        !self.free.is_empty()
    }

    fn send<R>(&mut self, length: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        let frame =
            self.free.last().and_then(|address| Some((*address, self.memory.range(*address, length)?)));
        let Some((address, place)) = frame else {
            self.counted.dropped_frames += 1;
            return fill(&mut vec![0; length]);
        };
        self.free.pop();
        // SAFETY: within the memory, which the sender holds. The frame was free, so that the kernel does not read it before it
        // finds it in the transmit ring, and there is no other reference to it.
        let result = fill(unsafe { slice::from_raw_parts_mut(place.as_ptr(), length) });
        self.transmit.set_frame(self.tail, address, length);
        self.tail = self.tail.wrapping_add(1);
        self.counted.sent_frames += 1;
        if self.tail.wrapping_sub(self.published) >= BATCH {
            self.flush();
        }
        result
    }

    fn flush(&mut self) {
        if self.published != self.tail {
            self.published = self.tail;
            self.transmit.publish_producer(self.tail);
            self.kick();
            self.reap();
        }
    }
}

impl Outgoing for XdpSender {
    fn wants_room(&self) -> bool {
        self.wants_room
    }

    fn room_came(&mut self) -> bool {
        if !self.wants_room {
            return false;
        }
        self.reap();
        self.wants_room = self.free.is_empty();
        !self.wants_room
    }

    fn is_intact(&self) -> bool {
        !self.gone
    }

    fn statistics(&self) -> Statistics {
        self.counted
    }
}

impl Drop for XdpSender {
    fn drop(&mut self) {
        self.flush();
    }
}
