//! A ring's lane and its doorbells in every order in which the steps of both ends can come (loom), with a model of futex(2) in the
//! kernel's place: no frame is torn, lost or overwritten, and nobody sleeps for ever.

#[path = "../../src/ring/order.rs"]
mod order;

/// What the words need of the machine, as a model.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, fence};
}

use std::sync::atomic::Ordering;

use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use order::{AWAKE, Octets, get_up, learn, lie_down, publish, read, rouse, write};
use sync::{AtomicU32, AtomicU64};

/// What an end sleeps for; who waits for room is woken by frames too.
const FOR_FRAMES: u32 = 1;
const FOR_ROOM: u32 = 2;

const SENDER: usize = 0;
const RECEIVER: usize = 1;

/// A lane of so many slots, each of two words, between two ends.
struct Lane {
    tail: AtomicU32,
    head: AtomicU32,
    slots: Vec<[AtomicU64; 2]>,
    doorbells: [Doorbell; 2],
}

/// A word, and the kernel's queue of those who sleep at it.
struct Doorbell {
    word: AtomicU32,
    queue: (Mutex<()>, Condvar),
}

impl Doorbell {
    fn new() -> Self {
        Self { word: AtomicU32::new(AWAKE), queue: (Mutex::new(()), Condvar::new()) }
    }

    fn sleep(&self, what: u32, ready: impl FnOnce() -> bool) {
        if lie_down(&self.word, what, ready) {
            let held = self.queue.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if self.word.load(Ordering::Relaxed) == what {
                drop(self.queue.1.wait(held));
            }
            get_up(&self.word);
        }
    }

    fn ring(&self, what: u32) {
        if rouse(&self.word, |asleep| asleep == FOR_ROOM || asleep == what).is_some() {
            drop(self.queue.0.lock());
            self.queue.1.notify_one();
        }
    }
}

/// A frame of this number, which shows when one of its words is another's.
fn frame(number: u64) -> [Octets; 2] {
    [number.to_ne_bytes(), (!number).to_ne_bytes()]
}

impl Lane {
    fn new(slots: usize) -> Self {
        Self {
            tail: AtomicU32::new(0),
            head: AtomicU32::new(0),
            slots: (0..slots).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect(),
            doorbells: [Doorbell::new(), Doorbell::new()],
        }
    }

    fn slot(&self, index: u32) -> &[AtomicU64; 2] {
        &self.slots[index as usize % self.slots.len()]
    }

    /// Sends so many frames, and sleeps where there is no room.
    fn send(&self, frames: u32) {
        let mut head = 0;
        for tail in 0..frames {
            while tail - head == self.slots.len() as u32 {
                self.doorbells[SENDER].sleep(FOR_ROOM, || learn(&self.head) != head);
                head = learn(&self.head);
            }
            write(self.slot(tail), &frame(u64::from(tail) + 1));
            publish(&self.tail, tail + 1);
            self.doorbells[RECEIVER].ring(FOR_FRAMES);
        }
    }

    /// Receives as many, and sleeps where there are none.
    fn receive(&self, frames: u32) {
        let mut tail = 0;
        for head in 0..frames {
            while head == tail {
                self.doorbells[RECEIVER].sleep(FOR_FRAMES, || learn(&self.tail) != tail);
                tail = learn(&self.tail);
            }
            let mut got = [Octets::default(); 2];
            read(self.slot(head), &mut got);
            assert_eq!(got, frame(u64::from(head) + 1));
            publish(&self.head, head + 1);
            self.doorbells[SENDER].ring(FOR_ROOM);
        }
    }
}

/// Sends `frames` frames through `slots` slots, the ends interrupting each other at most `preemptions` times.
fn ends_meet(slots: usize, frames: u32, preemptions: usize) {
    // Errors show with few changes of thread at the wrong moment (Musuvathi and Qadeer, "Iterative Context Bounding", 2007).
    let mut explored = loom::model::Builder::new();
    explored.preemption_bound = Some(preemptions);
    explored.check(move || {
        let lane = Arc::new(Lane::new(slots));
        let sender = {
            let lane = Arc::clone(&lane);
            thread::spawn(move || lane.send(frames))
        };
        lane.receive(frames);
        assert!(sender.join().is_ok());
        for doorbell in &lane.doorbells {
            assert_eq!(doorbell.word.load(Ordering::Relaxed), AWAKE);
        }
    });
}

#[test]
fn one_slot_is_used_again_and_again() {
    ends_meet(1, 3, 3);
}

#[test]
fn two_slots_go_round() {
    ends_meet(2, 3, 3);
}
