//! What may be done wrongly, and the threads that do it beside those that answer.

use std::hint::black_box;
use std::io;
use std::str::FromStr;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, Scope, sleep};
use std::time::{Duration, Instant};

use super::{Order, READ, Shop};

/// Threads that always want a CPU.
const IDLERS: usize = 8;
/// How long the lock is held, and how long it is free.
const HELD: Duration = Duration::from_millis(2);
const FREE: Duration = Duration::from_micros(50);
/// How long the world stands still while memory is collected, and how long it goes on.
const COLLECTING: Duration = Duration::from_millis(10);
const COLLECTED: Duration = Duration::from_millis(10);
/// What an answer takes at the only counter.
const AT_THE_COUNTER: Duration = Duration::from_micros(200);

/// One thing that a server does wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Other threads of it always want its CPUs.
    RunQueue,
    /// Every answer needs a lock that is held most of the time.
    Lock,
    /// The server accepts connections slowly, few may wait, and each answer needs one.
    AcceptQueue,
    /// Every answer goes through the same thread.
    OneThread,
    /// The server stands still half of the time while its memory is collected.
    Collector,
    /// An answer is sent in two pieces, with Nagle's algorithm.
    DelayedAcknowledgement,
    /// An answer is sent in pieces of 64 bytes.
    SmallBuffers,
    /// Every answer waits for the disk.
    Disk,
}

impl Fault {
    /// The faults, with their names.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::RunQueue, "run-queue"),
        (Self::Lock, "lock"),
        (Self::AcceptQueue, "accept-queue"),
        (Self::OneThread, "one-thread"),
        (Self::Collector, "collector"),
        (Self::DelayedAcknowledgement, "delayed-acknowledgement"),
        (Self::SmallBuffers, "small-buffers"),
        (Self::Disk, "disk"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(fault, _)| *fault == self).map_or("", |(_, name)| name)
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|(_, name)| *name == text);
        let names = || Self::ALL.map(|(_, name)| name).join(", ");
        known.map(|(fault, _)| *fault).ok_or_else(|| format!("`{text}` is none of {}", names()))
    }
}

/// Starts the threads that a fault needs beside those that answer.
pub(super) fn start<'s>(scope: &'s Scope<'s, '_>, shop: &'s Shop<'_>) -> io::Result<()> {
    match shop.fault {
        Fault::RunQueue => (0..IDLERS).try_for_each(|_| beside(scope, "idler", || idle(shop))),
        Fault::Lock => beside(scope, "keeper", || keep(shop)),
        // By this name the rules know it for a collector, as of OpenJDK.
        Fault::Collector => beside(scope, "GC Thread#0", || collect(shop)),
        Fault::OneThread => {
            let (orders, taken) = channel();
            *shop.counter.lock().unwrap_or_else(PoisonError::into_inner) = Some(orders);
            beside(scope, "counter", move || serve_at_the_counter(&taken, shop))
        }
        Fault::AcceptQueue | Fault::DelayedAcknowledgement | Fault::SmallBuffers | Fault::Disk => Ok(()),
    }
}

fn beside<'s>(scope: &'s Scope<'s, '_>, name: &str, work: impl FnOnce() + Send + 's) -> io::Result<()> {
    Builder::new().name(name.to_owned()).spawn_scoped(scope, work).map(|_| ())
}

fn idle(shop: &Shop<'_>) {
    while shop.is_open() {
        spin(HELD);
    }
}

fn keep(shop: &Shop<'_>) {
    while shop.is_open() {
        let till = shop.till.lock().unwrap_or_else(PoisonError::into_inner);
        sleep(HELD);
        drop(till);
        sleep(FREE);
    }
}

fn collect(shop: &Shop<'_>) {
    while shop.is_open() {
        let stopped = shop.world.write().unwrap_or_else(PoisonError::into_inner);
        spin(COLLECTING);
        drop(stopped);
        sleep(COLLECTED);
    }
}

fn serve_at_the_counter(orders: &Receiver<Order>, shop: &Shop<'_>) {
    while shop.is_open() {
        match orders.recv_timeout(READ) {
            Ok(done) => {
                spin(AT_THE_COUNTER);
                // Its client may have gone.
                let _ = done.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Takes so much time of a CPU at least.
fn spin(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        let sum: u64 = (0..200_u64).map(black_box).sum();
        black_box(sum);
    }
}
