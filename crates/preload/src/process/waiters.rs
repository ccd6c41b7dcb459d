//! Threads that wait for the stack, and how they wake each other.

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use assay_descriptors as descriptors;
use assay_model::units::Nanos;
use rustix::event::epoll::EventFlags;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use crate::core::Core;
use crate::host;
use crate::stack::Stack;

/// At most so long is slept beside an engine that other threads use: their calls may have given it something to do.
const SLEEP_AMONG_OTHERS: Nanos = Nanos::from_millis(10);

/// What ends a wait for anything else.
const FAILED: EventFlags = EventFlags::ERR.union(EventFlags::HUP);

/// What a thread waits for of the stack.
#[derive(Clone)]
pub(crate) enum Wants {
    /// Anything that an epoll instance could report.
    Set(RawFd),
    /// One of several events of a descriptor.
    One(RawFd, EventFlags),
    /// Any of several events of several descriptors.
    Any(Vec<(RawFd, EventFlags)>),
}

/// The threads that wait.
pub(crate) struct Waiters {
    list: Vec<Waiter>,
    numbered: u64,
    driver: Driver,
    /// Whether the driver is asleep, or about to be.
    driver_sleeps: bool,
    /// Whether the driver's sleep is longer than it may be among others.
    sleeps_long: bool,
    /// Another thread has used the core since the driver last fell asleep.
    disturbed: bool,
}

/// The waiter that also waits for the engine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Driver {
    Nobody,
    /// A wait that was woken to drive, which it does unless another is before it.
    Called(u64),
    /// A wait that drives.
    Drives(u64),
}

struct Waiter {
    number: u64,
    wants: Wants,
    wake: Arc<Wake>,
}

impl Waiters {
    pub(crate) const fn new() -> Self {
        Self {
            list: Vec::new(),
            numbered: 0,
            driver: Driver::Nobody,
            driver_sleeps: false,
            sleeps_long: false,
            disturbed: false,
        }
    }

    /// In a child of fork(2), where none of these threads is. The numbers go on: one that waited in the parent is nobody's here.
    pub(crate) fn begin_as_child(&mut self) {
        *self = Self { numbered: self.numbered, ..Self::new() };
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Wakes the threads that have got what they wait for.
    pub(crate) fn wake(&mut self, core: &mut Core<Stack>) {
        for waiter in &self.list {
            if waiter.wants.are_met(core) {
                waiter.wake.ring();
            }
        }
    }

    /// Whether nobody will give the engine a turn soon.
    pub(crate) fn driver_sleeps(&self) -> bool {
        self.driver_sleeps
    }

    /// Takes note that another thread has used the core while the driver sleeps, and given the engine a turn: its timers may be other ones now.
    pub(crate) fn disturb(&mut self) {
        self.disturbed = true;
        if std::mem::take(&mut self.sleeps_long)
            && let Some(driver) = self.list.iter().find(|w| Driver::Drives(w.number) == self.driver)
        {
            driver.wake.ring();
        }
    }

    /// How long the driver may sleep when the engine has something to do in that time.
    pub(crate) fn fall_asleep(&mut self, engine: Nanos) -> Nanos {
        let among_others = std::mem::take(&mut self.disturbed);
        let sleep = if among_others { engine.min(SLEEP_AMONG_OTHERS) } else { engine };
        self.sleeps_long = sleep > SLEEP_AMONG_OTHERS;
        self.driver_sleeps = true;
        sleep
    }

    pub(crate) fn enlist(&mut self, wants: &Wants, wake: Arc<Wake>) -> u64 {
        self.numbered += 1;
        self.list.push(Waiter { number: self.numbered, wants: wants.clone(), wake });
        self.numbered
    }

    /// A wait is over. One that was called and leaves for a reason of its own, before it could drive, calls another as a driver does.
    pub(crate) fn dismiss(&mut self, number: u64) {
        self.list.retain(|w| w.number != number);
        if matches!(self.driver, Driver::Drives(n) | Driver::Called(n) if n == number) {
            let next = self.list.iter().find(|waiter| waiter.wake.ring());
            self.driver = next.map_or(Driver::Nobody, |next| Driver::Called(next.number));
            self.driver_sleeps = false;
        }
    }

    /// Whether this thread, which is awake, drives, from now on if nobody else does.
    pub(crate) fn drives(&mut self, number: u64) -> bool {
        if !matches!(self.driver, Driver::Drives(_)) {
            self.driver = Driver::Drives(number);
        }
        let drives = self.driver == Driver::Drives(number);
        self.driver_sleeps &= !drives;
        drives
    }
}

impl Wants {
    fn are_met(&self, core: &mut Core<Stack>) -> bool {
        let mut has = |fd, flags| core.object(fd).is_none_or(|o| core.readiness(o).intersects(flags));
        match self {
            Self::Set(fd) => has(*fd, EventFlags::IN),
            Self::One(fd, flags) => has(*fd, *flags | FAILED),
            Self::Any(list) => list.iter().any(|&(fd, flags)| has(fd, flags | FAILED)),
        }
    }
}

/// Closed by its process alone: in a child of fork(2) the number may be another file's by now.
pub(crate) struct Wake {
    descriptor: ManuallyDrop<OwnedFd>,
    owner: i32,
}

impl Wake {
    pub(crate) fn new() -> Result<Self, Errno> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(descriptors::keep)?;
        Ok(Self { descriptor: ManuallyDrop::new(descriptor), owner: super::owner() })
    }

    /// Whether it is this process's, and there.
    pub(crate) fn is_whole(&self) -> bool {
        self.owner == super::owner() && descriptors::holds(self.descriptor.as_fd())
    }

    pub(crate) fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Whether it could be rung: the program may have closed it unseen.
    fn ring(&self) -> bool {
        let holds = descriptors::holds(self.descriptor.as_fd());
        if holds {
            // It is full when it has been rung, which is enough.
            let _ = rustix::io::write(&*self.descriptor, &1u64.to_ne_bytes());
        }
        holds
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        if self.is_whole() {
            descriptors::release(self.number());
            host::close(self.number());
        }
    }
}
