//! How engines wait: one moves the time, the others let themselves be waited for; and how it is done in real time.

use assay_model::units::Nanos;

use crate::Shared;
use crate::network::Net;

/// A way to wait.
pub trait Wait {
    /// Waits until `until`, or until there is something to do; returns the time.
    #[doc(hidden)]
    fn wait(&mut self, at: WaitPlace<'_>, until: Nanos) -> Nanos;

    /// Lets the time pass that a send takes.
    #[doc(hidden)]
    fn send(&mut self, _at: WaitPlace<'_>) {}

    /// CPU time that the user has used.
    fn cpu_time(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Whether a wait ends at the very time for which it was asked.
    fn is_exact(&self) -> bool {
        true
    }
}

/// The engine that waits.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct WaitPlace<'s> {
    pub(crate) shared: &'s Shared,
    /// Number of the engine.
    pub(crate) end: usize,
    /// Whether the engine has something to tell already.
    pub(crate) has_work: bool,
    /// Whether the engine can take another connection.
    pub(crate) has_room: bool,
}

impl WaitPlace<'_> {
    fn has_work(&self, net: &Net) -> bool {
        self.has_work || net.has_news(self.end, self.has_room)
    }
}

/// What calls cost, in time and CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long a poll takes that finds something to do, or does not wait.
    pub poll: Nanos,
    /// How much later than it should a thread wakes that slept.
    pub waking: Nanos,
    /// How long a send takes. What is sent leaves with its beginning, and others act meanwhile.
    pub send: Nanos,
}

impl Pace {
    /// Nothing takes any time.
    pub const EXACT: Self = Self { poll: Nanos::ZERO, waking: Nanos::ZERO, send: Nanos::ZERO };
}

/// Moves the time, and lets the others act meanwhile.
pub struct Driving<'a> {
    pace: Pace,
    /// Of no type of its own: whoever acts would otherwise compile all that drives an engine once more.
    act: Box<dyn FnMut() + 'a>,
    cpu: Nanos,
}

impl<'a> Driving<'a> {
    pub(crate) fn new(pace: Pace, act: impl FnMut() + 'a) -> Self {
        Self { pace, act: Box::new(act), cpu: Nanos::ZERO }
    }

    /// Lets all arrive that is under way.
    pub(crate) fn settle(mut self, shared: &Shared) {
        loop {
            self.let_others_act(shared, None);
            let mut net = shared.net();
            match net.next_arrival() {
                Nanos::MAX => return,
                next => net.advance(next),
            }
        }
    }

    /// Goes on to `until` while the thread is away.
    fn pass(&mut self, shared: &Shared, me: usize, until: Nanos) {
        loop {
            let wake = self.let_others_act(shared, Some(me));
            let mut net = shared.net();
            if net.now() >= until {
                return;
            }
            let next = until.min(wake).min(net.next_arrival());
            net.advance(next);
        }
    }

    /// Gives the others turns until nobody has anything to do at this time; returns when the first of them wakes.
    fn let_others_act(&mut self, shared: &Shared, me: Option<usize>) -> Nanos {
        loop {
            let wake = {
                let mut net = shared.net();
                net.arrive();
                net.others_wake(me)
            };
            match wake {
                Some(wake) => return wake,
                None => (self.act)(),
            }
        }
    }
}

impl Wait for Driving<'_> {
    fn wait(&mut self, at: WaitPlace<'_>, until: Nanos) -> Nanos {
        let WaitPlace { shared, end, .. } = at;
        let charged = shared.net().now() + self.pace.poll;
        self.cpu += self.pace.poll;
        self.pass(shared, end, charged);
        let mut has_slept = false;
        loop {
            let wake = self.let_others_act(shared, Some(end));
            let mut net = shared.net();
            if at.has_work(&net) || net.now() >= until {
                break;
            }
            let next = until.min(wake).min(net.next_arrival());
            net.advance(next);
            has_slept = true;
        }
        if has_slept && self.pace.waking > Nanos::ZERO {
            let awake = shared.net().now() + self.pace.waking;
            self.pass(shared, end, awake);
        }
        let thaw = shared.net().thaw(end);
        if let Some(thaw) = thaw {
            self.pass(shared, end, thaw);
        }
        shared.net().now()
    }

    fn send(&mut self, at: WaitPlace<'_>) {
        if self.pace.send > Nanos::ZERO {
            self.cpu += self.pace.send;
            let done = at.shared.net().now() + self.pace.send;
            self.pass(at.shared, at.end, done);
        }
    }

    fn cpu_time(&self) -> Nanos {
        self.cpu
    }

    fn is_exact(&self) -> bool {
        self.pace == Pace::EXACT
    }
}

/// Never waits: an end of a wait without anything to do is one that its user must expect, and time goes on when it has said until
/// when it has nothing to do.
pub struct Driven;

impl Wait for Driven {
    fn wait(&mut self, at: WaitPlace<'_>, until: Nanos) -> Nanos {
        let mut net = at.shared.net();
        net.arrive();
        let now = net.now();
        let naps = until > now && !at.has_work(&net);
        net.ends[at.end].nap = naps.then_some(until);
        net.ends[at.end].has_room = at.has_room;
        now
    }
}

/// Waits in real time, for others in other threads.
pub struct RealTime;

impl Wait for RealTime {
    fn wait(&mut self, at: WaitPlace<'_>, until: Nanos) -> Nanos {
        let mut net = at.shared.net();
        loop {
            net.arrive();
            let now = net.now();
            if at.has_work(&net) || now >= until {
                return now;
            }
            let patience = until.min(net.next_arrival()) - now;
            let waited = at.shared.news.wait_timeout(net, patience.into());
            net = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    fn cpu_time(&self) -> Nanos {
        assay_engine::clock::thread_cpu()
    }

    fn is_exact(&self) -> bool {
        false
    }
}
