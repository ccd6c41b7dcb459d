//! A measurement from plan to report: starts the threads, watches over them, puts together what they saw.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, Scope, ScopedJoinHandle, Thread, current, park_timeout, scope};
use std::time::Duration;

use assay_engine::{Config, Engine, clock};
use assay_model::load::{Arrival, ErrorClass, GeneratorMemory, LoadReport};
use assay_model::units::Nanos;
use assay_tcp::{Make, Work};

use crate::LoadError;
use crate::arrivals::{Closed, Constant, Poisson};
use crate::gauge::{News, Signals};
use crate::plan::{Plan, Span};
use crate::report;
use crate::room;
use crate::seconds::Seconds;
use crate::thread::{Outcome, Place};
use crate::usage::ThreadUsage;

/// How often the caller is told of the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// How often it is looked whether all threads have connected.
const RAMP_INTERVAL: Duration = Duration::from_millis(1);

/// From the decision to begin until the first request is due: the threads look every millisecond.
const START_DELAY: Nanos = Nanos::from_millis(2);

/// Carries out the plan. When `stop` becomes true the load ends, what is in flight is waited for, and the report holds what
/// was measured. `tell` is called with the progress about every 100 ms and once at the end, and with each second if the
/// plan asks for them.
///
/// # Errors
/// See [`LoadError`]. Failures of the server under load are not among them but in the report.
pub fn run(plan: &Plan, stop: &AtomicBool, tell: impl FnMut(News)) -> Result<LoadReport, LoadError> {
    plan.check()?;
    room::provide_descriptors(plan)?;
    let plan = &Plan { sources: room::sources(plan)?, ..plan.clone() };
    plan.stack.carry_out(Load { plan, stop, tell })
}

struct Load<'a, T> {
    plan: &'a Plan,
    stop: &'a AtomicBool,
    tell: T,
}

impl<T: FnMut(News)> Work for Load<'_, T> {
    type Outcome = Result<LoadReport, LoadError>;

    fn on<E: Engine>(self, make: impl Make<E>) -> Self::Outcome {
        run_on(self.plan, self.stop, self.tell, make)
    }
}

fn run_on<E: Engine>(
    plan: &Plan,
    stop: &AtomicBool,
    tell: impl FnMut(News),
    make: impl Make<E>,
) -> Result<LoadReport, LoadError> {
    let mut memory =
        GeneratorMemory { start_bytes: ThreadUsage::read().rss_bytes(), ..GeneratorMemory::default() };
    let signals = Signals::new(plan.threads());
    let mut teller = Teller { plan, signals: &signals, seconds: Seconds::new(plan.threads()), tell };
    let outcomes = scope(|scope| {
        let start = |thread| start_thread(scope, Place { plan, signals: &signals, thread }, make);
        let threads = (0..plan.threads()).map(start).collect::<Result<Vec<_>, _>>();
        match threads {
            Ok(threads) => {
                let reachable = begin(&mut teller, stop, &threads);
                memory.ready_bytes = ThreadUsage::read().rss_bytes();
                watch(&mut teller, stop, &threads);
                join(threads, reachable, plan)
            }
            Err(error) => {
                signals.begin(Nanos::ZERO, Nanos::ZERO);
                Err(error)
            }
        }
    })?;
    teller.tell(true);
    report::assemble(plan, signals.start().unwrap_or_default(), memory, &outcomes)
}

/// Tells the caller of the progress and of the seconds.
struct Teller<'a, T> {
    plan: &'a Plan,
    signals: &'a Signals,
    seconds: Seconds,
    tell: T,
}

impl<T: FnMut(News)> Teller<'_, T> {
    fn tell(&mut self, is_end: bool) {
        self.signals.take_parts().into_iter().for_each(|part| self.seconds.add(part));
        while let Some(second) = self.seconds.next(is_end) {
            (self.tell)(News::Second(Box::new(second)));
        }
        (self.tell)(News::Progress(self.signals.progress(clock::now(), self.plan.warmup)));
    }
}

type Handle<'s> = ScopedJoinHandle<'s, Result<Outcome, LoadError>>;

fn start_thread<'s, 'e, E: Engine>(
    scope: &'s Scope<'s, 'e>,
    place: Place<'e>,
    make: impl Make<E> + 'e,
) -> Result<Handle<'s>, LoadError> {
    let parent = current();
    let body = move || {
        let _waker = Waker(parent);
        let config = Config { max_connections: place.connections() };
        let engine = make(config, place.thread, place.plan.threads())?;
        match place.plan.arrival {
            Arrival::Closed => place.run(engine, Closed),
            Arrival::Constant { per_second } => place.run(engine, Constant::new(place.share(per_second))),
            Arrival::Poisson { per_second } => {
                place.run(engine, Poisson::new(place.share(per_second), place.random(1)))
            }
        }
    };
    let thread = Builder::new().name(format!("load-{}", place.thread));
    thread.spawn_scoped(scope, body).map_err(|e| LoadError::Thread(e.to_string()))
}

/// Wakes the caller when a thread ends, however it does.
struct Waker(Thread);

impl Drop for Waker {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

/// Waits until the connections are made, then lets the load begin. Returns whether there is any connection.
fn begin(teller: &mut Teller<'_, impl FnMut(News)>, stop: &AtomicBool, threads: &[Handle<'_>]) -> bool {
    let (plan, signals) = (teller.plan, teller.signals);
    let broken = || threads.iter().any(ScopedJoinHandle::is_finished);
    let mut told = clock::now();
    while !signals.all_ready() && !stop.load(Relaxed) && !broken() {
        park_timeout(RAMP_INTERVAL);
        let now = clock::now();
        if now > told + PROGRESS_INTERVAL.into() {
            told = now;
            teller.tell(false);
        }
    }
    let reachable = !signals.all_ready() || signals.progress(Nanos::ZERO, Nanos::ZERO).connections > 0;
    let start = clock::now() + START_DELAY;
    let end = match plan.span {
        _ if !reachable || broken() => start,
        Span::Time(window) => start + plan.warmup + window,
        Span::Requests(_) => Nanos::MAX,
    };
    signals.begin(start, end);
    reachable
}

/// Tells of the progress until all threads have ended, and ends the load early when asked to or when a thread fails.
fn watch(teller: &mut Teller<'_, impl FnMut(News)>, stop: &AtomicBool, threads: &[Handle<'_>]) {
    while !threads.iter().all(ScopedJoinHandle::is_finished) {
        park_timeout(PROGRESS_INTERVAL);
        if stop.load(Relaxed) {
            // Soon instead of now: no thread may have seen a later time already.
            teller.signals.end_at(clock::now() + START_DELAY);
        }
        teller.tell(false);
    }
}

fn join(threads: Vec<Handle<'_>>, reachable: bool, plan: &Plan) -> Result<Vec<Outcome>, LoadError> {
    let panicked = |_| Err(LoadError::Thread("it panicked; please report this".to_owned()));
    let ended = threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked));
    let outcomes = ended.collect::<Result<Vec<_>, _>>()?;
    if reachable {
        return Ok(outcomes);
    }
    let first = outcomes.iter().find_map(|outcome| outcome.first_failure.clone());
    let (class, why) = first.unwrap_or((ErrorClass::ConnectOther, "for no known reason".to_owned()));
    Err(LoadError::Unreachable { target: plan.target, class, why })
}
