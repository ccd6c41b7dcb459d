//! The life of one thread: for each window it is called to, connect what is not connected, warm up, measure, drain and hand
//! over what it saw.

use assay_engine::{Engine, Statistics};
use assay_fleet::slice::Slice;
use assay_host::cpuset::{CpuSet, pin_current_thread};
use assay_model::load::{Arrival, ErrorClass};
use assay_model::units::Nanos;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::LoadError;
use crate::arrivals::{Arrivals, Closed, Constant, Open, Poisson, Share};
use crate::dialler::Ramp;
use crate::h1::Http1;
use crate::h2::Http2;
use crate::order::Order;
use crate::plan::{Http, LoadPlan, Span};
use crate::protocol::Protocol;
use crate::recorder::Recorder;
use crate::schedule::{Hours, Schedule};
use crate::session::Session;
use crate::signals::Signals;
use crate::traffic::{Numbering, Traffic};
use crate::usage::ThreadUsage;
use crate::worker::{Address, Worker};
use crate::ws::WebSocket;

/// How often a thread that has connected looks whether the others have.
const RAMP_INTERVAL: Nanos = Nanos::from_millis(1);

/// What one thread hands over after each window.
pub(crate) struct ThreadOutcome {
    /// The thread's number.
    pub(crate) thread: usize,
    pub(crate) recorder: Recorder,
    pub(crate) issued: u64,
    pub(crate) intended_in_window: u64,
    pub(crate) given_up: u64,
    /// When it noticed that the load may begin.
    pub(crate) began: Nanos,
    /// At the window's start and end.
    pub(crate) readings: [Reading; 2],
    /// Of its engine since the first window's connections were made.
    pub(crate) statistics: Statistics,
    /// When its window ended: at the end of the load or, when that was set by a count, with the last answer.
    pub(crate) window_end: Nanos,
    /// Requests that its connections took in flight at most, when its window ended.
    pub(crate) limit: usize,
    /// How its first attempt to connect that failed did so.
    pub(crate) first_failure: Option<(ErrorClass, String)>,
}

/// What a thread had used when it was asked.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reading {
    pub(crate) usage: ThreadUsage,
    /// CPU time in which it only waited, awake, for the next request to be due.
    pub(crate) spun: Nanos,
    pub(crate) statistics: Statistics,
}

impl Reading {
    fn of<E: Engine, A: Arrivals, P: Protocol>(
        worker: &Worker<'_, E, A, P>,
        usage: fn(Nanos) -> ThreadUsage,
    ) -> Self {
        let engine = worker.engine();
        Self { usage: usage(engine.cpu_time()), spun: worker.spun, statistics: *engine.statistics() }
    }
}

/// One thread's place among the others.
#[derive(Clone, Copy)]
pub(crate) struct ThreadPlace<'a> {
    pub(crate) plan: &'a LoadPlan,
    pub(crate) signals: &'a Signals,
    pub(crate) thread: usize,
    /// What a thread has used whose CPU time is known.
    pub(crate) usage: fn(Nanos) -> ThreadUsage,
    /// What is measured if there is nobody else to decide that, as soon as the connections are made.
    pub(crate) alone: Option<Order>,
}

impl<'a> ThreadPlace<'a> {
    /// Moves the calling thread to its CPU, and has it woken without delay.
    pub(crate) fn occupy(&self) -> Result<(), LoadError> {
        pin_current_thread(&CpuSet::from_iter([self.plan.cpus[self.thread]]))?;
        // Timers are otherwise rounded by 50 µs (prctl(2), PR_SET_TIMERSLACK). Where that is forbidden, lag tells.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        Ok(())
    }

    /// Measures window after window, for as long as it is called to one and `hand_over` takes what was seen in the last.
    pub(crate) fn measure<E: Engine>(
        self,
        engine: E,
        hand_over: &mut dyn FnMut(ThreadOutcome) -> bool,
    ) -> Result<(), LoadError> {
        match (self.plan.websocket, self.plan.http) {
            (Some(_), _) => self.speak::<E, WebSocket>(engine, hand_over),
            (None, Http::One) => self.speak::<E, Http1>(engine, hand_over),
            (None, Http::Two) => self.speak::<E, Http2>(engine, hand_over),
        }
    }

    /// Measures, with what is spoken chosen.
    fn speak<E: Engine, P: Protocol>(
        self,
        engine: E,
        hand_over: &mut dyn FnMut(ThreadOutcome) -> bool,
    ) -> Result<(), LoadError> {
        let arrivals = match self.plan.arrival {
            Arrival::Closed => return self.run::<E, _, P>(engine, Closed, hand_over),
            Arrival::Constant { per_second } => Open::Constant(Constant::new(self.share(per_second))),
            Arrival::Poisson { per_second } => {
                Open::Poisson(Poisson::new(self.share(per_second), self.random(1)))
            }
        };
        self.run::<E, _, P>(engine, arrivals, hand_over)
    }

    fn share(&self, per_second: f64) -> Share {
        let (thread, threads) = self.among_all();
        Share { per_second, thread: thread as usize, threads: threads as usize }
    }

    /// Number of the thread among those of all generators, and how many these are.
    fn among_all(&self) -> (u64, u64) {
        let all = self.plan.slice.unwrap_or_else(|| Slice::whole(self.plan.threads() as u32));
        (u64::from(all.first_thread) + self.thread as u64, u64::from(all.all_threads))
    }

    /// A random stream of this thread's own; streams 0 and 1 are its mix and its arrivals.
    fn random(&self, stream: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.plan.seed);
        rng.set_stream(self.among_all().0 * 2 + stream);
        rng
    }

    /// Connections of this thread, those that stay idle included.
    pub(crate) fn connections(&self) -> usize {
        self.plan.share(u64::from(self.plan.connections), self.thread) as usize + self.idle()
    }

    fn idle(&self) -> usize {
        self.plan.share(u64::from(self.plan.idle), self.thread) as usize
    }

    fn run<E: Engine, A: Arrivals, P: Protocol>(
        self,
        engine: E,
        arrivals: A,
        hand_over: &mut dyn FnMut(ThreadOutcome) -> bool,
    ) -> Result<(), LoadError> {
        let mut worker = self.worker::<E, A, P>(engine, arrivals)?;
        let mut number = 1;
        while self.signals.is_called_to(number) && hand_over(self.window(&mut worker)?) {
            number += 1;
        }
        worker.close_all();
        Ok(())
    }

    /// One window, from its connections to its books.
    fn window<E: Engine, A: Arrivals, P: Protocol>(
        &self,
        worker: &mut Worker<'a, E, A, P>,
    ) -> Result<ThreadOutcome, LoadError> {
        let hours = self.connect(worker)?;
        let series_start = if self.plan.series_from_start { hours.start } else { hours.window };
        worker.begin(hours, self.quota(), series_start, self.plan.seconds);
        drive(worker, hours.start)?;
        let began = worker.now();
        drive(worker, hours.window)?;
        let before = Reading::of(worker, self.usage);
        drive(worker, Nanos::MAX)?;
        let after = Reading::of(worker, self.usage);
        let end = self.signals.end();
        drain(worker, end + self.plan.drain)?;
        let limit = worker.session.limit();
        let mut recorder = worker.end_window(Recorder::new(A::OPEN, self.plan.series_interval));
        let window_end = if end == Nanos::MAX { recorder.last_end } else { end };
        recorder.flow.close(window_end);
        let schedule = &worker.session.schedule;
        let outcome = ThreadOutcome {
            thread: self.thread,
            issued: schedule.issued(),
            intended_in_window: schedule.intended_in_window(),
            given_up: schedule.given_up(),
            began,
            readings: [before, after],
            statistics: *worker.engine().statistics(),
            window_end,
            limit,
            first_failure: worker.first_failure.clone(),
            recorder,
        };
        worker.let_go()?;
        Ok(outcome)
    }

    fn worker<E: Engine, A: Arrivals, P: Protocol>(
        &self,
        engine: E,
        arrivals: A,
    ) -> Result<Worker<'a, E, A, P>, LoadError> {
        let plan = self.plan;
        let (thread, threads) = self.among_all();
        let numbering = Numbering { seed: plan.seed, thread, threads };
        let protocol = P::new(plan)?;
        let numbers = |kind| protocol.numbers(kind);
        let traffic = Traffic::new(&plan.requests, &numbers, plan.checking, numbering, self.random(0))?;
        let traffic = if plan.grpc { traffic.of_messages() } else { traffic };
        let mut session = Session::new(
            self.connections(),
            protocol,
            plan.reuse,
            plan.timeout,
            Schedule::new(arrivals),
            Recorder::new(A::OPEN, plan.series_interval),
            traffic,
        );
        session.leave_idle(self.idle());
        let address = Address { remote: plan.target, sources: &plan.sources };
        Ok(Worker::new(engine, session, address, plan.timeout, self.signals, self.thread))
    }

    /// Requests of the window that fall to this thread.
    fn quota(&self) -> u64 {
        match self.plan.span {
            Span::Time(_) => u64::MAX,
            Span::Requests(n) => self.plan.share(n, self.thread),
        }
    }

    /// Makes the connections and waits for the other threads to have theirs.
    fn connect<E: Engine, A: Arrivals, P: Protocol>(
        &self,
        worker: &mut Worker<'_, E, A, P>,
    ) -> Result<Hours, LoadError> {
        let mut reported = false;
        let mut now = worker.call_in()?;
        let mut ramp = Ramp::new(self.plan.timeout, now);
        loop {
            if !reported && (worker.has_tried_all() || ramp.is_stuck(worker.connections_made(), now)) {
                worker.publish_now(now);
                self.signals.report_ready();
                reported = true;
                if let Some(order) = self.alone {
                    self.signals.begin_with(order, now, false);
                }
            }
            if let Some(hours) = self.signals.hours() {
                return Ok(hours);
            }
            now = worker.turn(now + RAMP_INTERVAL)?;
        }
    }
}

/// Carries on until `until` or the end of the load. Only where no time ends it, it is over when there is nothing left to do: what is
/// told of a window is told of the whole of it.
fn drive<E: Engine, A: Arrivals, P: Protocol>(
    worker: &mut Worker<'_, E, A, P>,
    until: Nanos,
) -> Result<(), LoadError> {
    let mut now = worker.now();
    let is_endless = |worker: &Worker<'_, E, A, P>| until.min(worker.end()) == Nanos::MAX;
    while now < until.min(worker.end()) && !(is_endless(worker) && worker.session.is_finished(now)) {
        now = worker.turn(until.min(worker.end()))?;
    }
    Ok(())
}

/// Waits for what is in flight or still due, until `until` at the latest, or for as long as there is patience.
fn drain<E: Engine, A: Arrivals, P: Protocol>(
    worker: &mut Worker<'_, E, A, P>,
    until: Nanos,
) -> Result<(), LoadError> {
    let mut now = worker.now();
    while now < until.min(worker.patience()) && !worker.session.is_finished(now) {
        now = worker.turn(until.min(worker.patience()))?;
    }
    Ok(())
}
