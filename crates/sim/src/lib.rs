//! A network in virtual time as an event engine: what runs on engines is tried here in exact time, in any weather, and each run
//! can be had again from its seed.
//!
//! Invariants
//! - A seed and a weather decide everything: no clock is read and no thread runs, but in [`Network::in_real_time`].
//! - Time passes only while everybody waits. The code of users takes none, apart from what a [`Pace`] charges for a poll or a send.
//! - The bytes of one direction of a connection arrive once and in order, until it is reset. Nothing orders two connections.
//! - An engine is used like any other: generator, server and stub run on it as they are.
//!
//! Must not know: HTTP, what is measured, who uses it. It is a dependency of tests alone.
//!
//! One engine moves the time: while its [`poll`](assay_engine::Engine::poll) waits, it lets the others act and goes from one
//! event to the next ([`Driving`]). The others' polls never wait ([`Driven`]). All of it happens in one thread.
#![forbid(unsafe_code)]

mod connection;
mod engine;
mod freeze;
mod network;
pub mod seeds;
mod side;
mod wait;
mod weather;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use assay_engine::{Config, clock};
use assay_model::units::Nanos;

pub use engine::SimEngine;
pub use freeze::Freeze;
use network::Net;
pub use wait::{Driven, Driving, Pace, RealTime, Wait};
pub use weather::Weather;

/// When virtual time begins. Not at zero, which stands for "never" and "at once" in places.
pub const BEGINNING: Nanos = Nanos::from_millis(1000);

/// A network that engines are made for.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

/// What all engines of a network share.
struct Shared {
    net: Mutex<Net>,
    /// Something has changed, for those who wait in real time.
    news: Condvar,
}

impl Network {
    /// A network whose every chance is drawn from `seed`.
    pub fn new(seed: u64, weather: Weather) -> Self {
        Self::with(Net::new(seed, weather, None))
    }

    /// A network for users in several threads: its time is the machine's.
    pub fn in_real_time(seed: u64, weather: Weather) -> Self {
        Self::with(Net::new(seed, weather, Some(clock::now)))
    }

    fn with(net: Net) -> Self {
        Self { shared: Arc::new(Shared { net: Mutex::new(net), news: Condvar::new() }) }
    }

    /// The engine that moves the time. `act` gives every driven engine's user one turn.
    pub fn driving<'a>(&self, config: Config, pace: Pace, act: impl FnMut() + 'a) -> SimEngine<Driving<'a>> {
        SimEngine::new(&self.shared, config, Driving::new(pace, act))
    }

    /// An engine whose user acts while another engine waits.
    pub fn driven(&self, config: Config) -> SimEngine<Driven> {
        SimEngine::new(&self.shared, config, Driven)
    }

    /// An engine that waits in real time.
    pub fn waiting(&self, config: Config) -> SimEngine<RealTime> {
        SimEngine::new(&self.shared, config, RealTime)
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        self.shared.net().now()
    }

    /// Lets all arrive that is under way, after the driving engine is gone; `act` is as for [`driving`](Self::driving).
    pub fn settle(&self, act: impl FnMut()) {
        Driving::new(Pace::EXACT, act).settle(&self.shared);
    }
}

impl Shared {
    fn net(&self) -> MutexGuard<'_, Net> {
        self.net.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something that others may wait for.
    fn change<T>(&self, act: impl FnOnce(&mut Net) -> T) -> T {
        let mut net = self.net();
        let result = act(&mut net);
        // In virtual time nobody waits, and telling so would be a system call.
        if net.is_in_real_time() {
            self.news.notify_all();
        }
        result
    }
}
