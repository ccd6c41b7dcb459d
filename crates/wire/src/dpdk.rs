//! A wire of queues of whatever device DPDK drives: a card, or another process by shared memory (memif). Feature `dpdk`.
//!
//! The environment and its first device are begun once in a process, by its first wire, and the device ends with the last.
//! A driver in poll mode wakes nobody: waiting is looking again.

mod foreign;

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use assay_model::units::Nanos;

use crate::parts::{Assembled, Base, Incoming, Outgoing};
use crate::{Facts, Receiver, Sender, Statistics};
use foreign::{Frame, Port};

/// Frames fetched or sent at once.
const BURST: usize = 32;
/// More frames than wait for us: our ring (`RING_FRAMES` of the shim), and what the driver may have behind it.
const MAX_WAITING: usize = 4096;
/// Longest wait without a return: between looks the processor is given to others, not put to sleep.
const LONGEST_WAIT: Nanos = Nanos::from_millis(1);

/// Why DPDK cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DpdkError {
    /// The environment, or its device.
    #[error(
        "dpdk: {0}; see what DPDK says above. Without huge pages give --no-huge, with them --in-memory (or --huge-unlink), because \
         those of a process that is killed stay taken otherwise; without root --no-shconf; and a device such as --vdev=net_memif0,role=server,socket=/run/a.sock"
    )]
    Begin(io::Error),
    /// Begun otherwise before, and there is only one in a process.
    #[error(
        "dpdk: this process has begun it with other arguments or another number of queues, or has ended it"
    )]
    Again,
    /// No such queue, or one that is in use.
    #[error("dpdk: queue {queue} of {queues} is not to be had: there is none, or another thread has it")]
    Queue {
        /// The queue asked for.
        queue: u16,
        /// How many there are.
        queues: u16,
    },
}

/// One queue of a device that DPDK drives.
pub type Dpdk = Assembled<DpdkBase, DpdkReceiver, DpdkSender>;

/// What this process has begun.
struct Begun {
    arguments: String,
    queues: u16,
    /// Queues that a wire has, or had.
    taken: Vec<u16>,
    port: Weak<Port>,
}

static BEGUN: Mutex<Option<Begun>> = Mutex::new(None);

/// Takes a queue of the first device that DPDK finds with these arguments of its environment (EAL). Returns the device's
/// hardware address too.
///
/// # Errors
/// DPDK does not begin, finds no device, or was begun otherwise in this process.
pub fn open(arguments: &str, queue: u16, queues: u16) -> Result<(Dpdk, [u8; 6]), DpdkError> {
    let port = port(arguments, queue, queues)?;
    foreign::join();
    let hardware = port.hardware();
    let base = DpdkBase { port: Arc::clone(&port), was_up: false };
    let receiver = DpdkReceiver {
        port: Arc::clone(&port),
        queue,
        frames: Vec::with_capacity(BURST),
        counted: Statistics::default(),
    };
    let sender = DpdkSender {
        port,
        queue,
        frames: Vec::with_capacity(BURST),
        spare: None,
        wants_room: false,
        counted: Statistics::default(),
    };
    Ok((Dpdk { receiver, sender, base }, hardware))
}

/// The device, for one more of its queues, which no other wire has.
fn port(arguments: &str, queue: u16, queues: u16) -> Result<Arc<Port>, DpdkError> {
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    let (port, taken) = match begun.as_mut() {
        Some(Begun { arguments: theirs, queues: number, taken, port }) => {
            let same = theirs == arguments && *number == queues;
            (port.upgrade().filter(|_| same).ok_or(DpdkError::Again)?, taken)
        }
        None => {
            let port = Arc::new(Port::start(arguments, queues).map_err(DpdkError::Begin)?);
            let new = Begun {
                arguments: arguments.to_owned(),
                queues,
                taken: Vec::new(),
                port: Arc::downgrade(&port),
            };
            (port, &mut begun.insert(new).taken)
        }
    };
    if queue >= queues || taken.contains(&queue) {
        return Err(DpdkError::Queue { queue, queues });
    }
    taken.push(queue);
    Ok(port)
}

/// Reads frames of a queue.
#[derive(Debug)]
pub struct DpdkReceiver {
    port: Arc<Port>,
    queue: u16,
    /// Frames that were fetched, the oldest last.
    frames: Vec<Frame>,
    counted: Statistics,
}

impl DpdkReceiver {
    fn fetch(&mut self) -> bool {
        if self.frames.is_empty() {
            self.port.receive(self.queue, &mut self.frames, BURST);
            self.frames.reverse();
        }
        !self.frames.is_empty()
    }
}

impl Receiver for DpdkReceiver {
    fn peek(&mut self) -> Option<&[u8]> {
        while self.fetch() {
            if self.frames.last().is_some_and(|frame| frame.bytes().is_some()) {
                break;
            }
            self.frames.pop();
            self.counted.dropped_frames += 1;
        }
        self.frames.last().and_then(Frame::bytes)
    }

    fn release(&mut self) {
        self.counted.received_frames += u64::from(self.frames.pop().is_some());
    }
}

impl Incoming for DpdkReceiver {
    fn is_ready(&mut self) -> bool {
        self.fetch()
    }

    fn statistics(&self) -> Statistics {
        self.counted
    }
}

/// Writes frames to a queue.
#[derive(Debug)]
pub struct DpdkSender {
    port: Arc<Port>,
    queue: u16,
    /// Frames that wait for the device, the oldest first.
    frames: Vec<Frame>,
    /// What the next one is written into.
    spare: Option<Frame>,
    wants_room: bool,
    counted: Statistics,
}

impl DpdkSender {
    fn has_room(&mut self) -> bool {
        if self.frames.len() >= BURST {
            self.flush();
        }
        if self.spare.is_none() {
            self.spare = self.port.allocate();
        }
        self.frames.len() < BURST && self.spare.is_some()
    }
}

impl Sender for DpdkSender {
    fn room(&mut self) -> bool {
        let room = self.has_room();
        self.wants_room = !room;
        self.counted.full += u64::from(!room);
        room
    }

    fn send<R>(&mut self, length: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        let spare = self.spare.take().filter(|_| self.frames.len() < BURST);
        if let Some(mut frame) = spare
            && let Some(place) = frame.extend(length)
        {
            let result = fill(place);
            self.frames.push(frame);
            self.counted.sent_frames += 1;
            return result;
        }
        self.counted.dropped_frames += 1;
        fill(&mut vec![0; length])
    }

    fn flush(&mut self) {
        if !self.frames.is_empty() {
            self.port.send(self.queue, &mut self.frames);
        }
    }
}

impl Outgoing for DpdkSender {
    fn wants_room(&self) -> bool {
        self.wants_room
    }

    fn room_came(&mut self) -> bool {
        let came = self.wants_room && self.has_room();
        self.wants_room &= !came;
        came
    }

    fn statistics(&self) -> Statistics {
        self.counted
    }
}

impl Drop for DpdkSender {
    fn drop(&mut self) {
        self.flush();
    }
}

/// The device.
#[derive(Debug)]
pub struct DpdkBase {
    port: Arc<Port>,
    /// The device's link has been up: its other end was there.
    was_up: bool,
}

impl DpdkBase {
    /// Fails when the link was up and is down.
    fn check_link(&mut self) -> io::Result<()> {
        let is_up = self.port.is_up();
        if self.was_up && !is_up {
            let text = "the link of the DPDK device has gone down: its other end has gone";
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, text));
        }
        self.was_up = is_up;
        Ok(())
    }
}

impl Base for DpdkBase {
    fn facts(&self) -> Facts {
        Facts { mtu: self.port.mtu(), lossless: false, trusted: false, waiting: MAX_WAITING }
    }

    fn wait(
        &mut self,
        receiver: &mut impl Incoming,
        sender: &mut impl Outgoing,
        timeout: Nanos,
    ) -> io::Result<()> {
        let deadline = Instant::now() + Duration::from(timeout.min(LONGEST_WAIT));
        while !receiver.is_ready() && !sender.room_came() {
            if Instant::now() >= deadline {
                return self.check_link();
            }
            sender.flush();
            yield_now();
        }
        Ok(())
    }

    /// Does not wait: the devices are polled.
    fn doze(
        &mut self,
        _receiver: &mut impl Incoming,
        _sender: &mut impl Outgoing,
    ) -> Option<(BorrowedFd<'_>, Nanos)> {
        None
    }

    fn statistics(&self) -> Statistics {
        Statistics { dropped_frames: self.port.lost(), ..Statistics::default() }
    }
}
