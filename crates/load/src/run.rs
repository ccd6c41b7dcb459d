//! A measurement from plan to report: starts the threads, watches over them, puts together what they saw.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle, park_timeout, scope};
use std::time::Duration;

use assay_engine::{Config, Engine, clock};
use assay_model::load::{ErrorClass, GeneratorMemory, LoadReport};
use assay_model::units::Nanos;
use assay_tcp::{Make, Work};
use assay_tls::Terms;

use crate::LoadError;
use crate::order::{Order, START_DELAY};
use crate::plan::{LoadPlan, Span};
use crate::report::{self, Window};
use crate::room;
use crate::schedule::Hours;
use crate::seconds::Seconds;
use crate::signals::{News, Signals};
use crate::thread::{ThreadOutcome, ThreadPlace};
use crate::usage::ThreadUsage;

/// How often the caller is told of the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Time between two checks whether all threads have connected.
const RAMP_INTERVAL: Duration = Duration::from_millis(1);

/// How long the last answers are waited for in a load that was cut short.
const LAST_ANSWERS: Nanos = Nanos::from_millis(1000);

/// Whether the plan makes sense and this machine has room for it, without a word to the server; provides that room.
///
/// # Errors
/// Those of [`run`] that come before the first connection.
pub fn check(plan: &LoadPlan) -> Result<(), LoadError> {
    plan.check()?;
    room::provide_descriptors(plan)?;
    room::sources(plan).map(drop)
}

/// Carries out the plan. When `stop` becomes true the load ends, what is in flight is waited for a second at most, and the report
/// holds what was measured; when it becomes true while the last answers are waited for, that ends. `tell` is called with the progress
/// about every 100 ms and once at the end, and with each second if the plan asks for them.
///
/// # Errors
/// See [`LoadError`]. Failures of the server under load are not among them but in the report.
pub fn run(plan: &LoadPlan, stop: &AtomicBool, mut tell: impl FnMut(News)) -> Result<LoadReport, LoadError> {
    let order = Order { settle: plan.warmup, span: plan.span, start: None };
    carry_out(plan, &mut std::iter::once(order), stop, &mut tell)
}

/// Measures a window for each of `orders`, all on the same connections, which stay open in between without any load; the
/// plan's own warm-up does not count, nor does its span, unless that is a number of requests, which is then that of the only
/// window. `tell` is called with each ([`News::Turn`]), and the report is of all together.
/// Waiting for the next order takes no CPU time. Without any order there is nothing to report of.
///
/// # Errors
/// As for [`run`].
pub fn run_windows(
    plan: &LoadPlan,
    orders: impl Iterator<Item = WindowOrder>,
    stop: &AtomicBool,
    mut tell: impl FnMut(News),
) -> Result<LoadReport, LoadError> {
    let requests = matches!(plan.span, Span::Requests(_)).then_some(plan.span);
    let plan = &LoadPlan { span: requests.unwrap_or(Span::Time(Nanos::MAX)), ..plan.clone() };
    let mut orders = orders.map(|WindowOrder { settle, length, start }| {
        let span = requests.unwrap_or(Span::Time(length));
        Order { settle, span, start }
    });
    carry_out(plan, &mut orders, stop, &mut tell)
}

/// A window to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowOrder {
    /// Load before it.
    pub settle: Nanos,
    /// How long it is.
    pub length: Nanos,
    /// When its first request is due, by [`clock::now`]; absent for as soon as all threads can know it. A start that is too near
    /// for that, or past, is put off, and [`News::Began`] tells by how much.
    pub start: Option<Nanos>,
}

/// What is called with the news of a load. Like the orders it is of no type of its own here: whoever asks for a load would otherwise
/// compile all of it once more, for every engine, protocol and arrival process, and with the optimisation of its own crate.
type Tell<'a> = &'a mut dyn FnMut(News);

fn carry_out(
    plan: &LoadPlan,
    orders: &mut dyn Iterator<Item = Order>,
    stop: &AtomicBool,
    tell: Tell<'_>,
) -> Result<LoadReport, LoadError> {
    plan.check()?;
    room::provide_descriptors(plan)?;
    let plan = &LoadPlan { sources: room::sources(plan)?, ..plan.clone() };
    let terms = plan.tls.clone().map(Terms::from);
    assay_tls::carry_out(&plan.stack, terms.as_ref(), Load { plan, orders, stop, tell })
}

struct Load<'a> {
    plan: &'a LoadPlan,
    orders: &'a mut dyn Iterator<Item = Order>,
    stop: &'a AtomicBool,
    tell: Tell<'a>,
}

impl Work for Load<'_> {
    type Outcome = Result<LoadReport, LoadError>;

    fn on<E: Engine>(self, make: impl Make<E>) -> Self::Outcome {
        let memory = GeneratorMemory { start_bytes: resident_bytes(), ready_bytes: 0 };
        let signals = Signals::new(self.plan.threads());
        let seconds = Seconds::new(self.plan.threads());
        let teller = Teller { plan: self.plan, signals: &signals, seconds, tell: self.tell };
        let mut course = Course { stop: self.stop, teller, memory, windows: Vec::new() };
        course.run(self.orders, make)?;
        course.teller.tell(true);
        report::assemble(self.plan, course.memory, &course.windows)
    }
}

/// A measurement as it goes on.
struct Course<'a> {
    stop: &'a AtomicBool,
    teller: Teller<'a>,
    memory: GeneratorMemory,
    /// What was seen in the windows that are over.
    windows: Vec<Window>,
}

impl Course<'_> {
    /// Starts the threads, has them measure window after window, and ends them.
    fn run<E: Engine>(
        &mut self,
        orders: &mut dyn Iterator<Item = Order>,
        make: impl Make<E>,
    ) -> Result<(), LoadError> {
        let (plan, signals) = (self.teller.plan, self.teller.signals);
        scope(|scope| {
            let (told, outcomes) = channel();
            let start = |thread| {
                let place = ThreadPlace { plan, signals, thread, usage: ThreadUsage::read, alone: None };
                start_thread(scope, place, told.clone(), make)
            };
            let mut threads = Vec::new();
            let mut result = (0..plan.threads()).try_for_each(|thread| {
                threads.push(start(thread)?);
                Ok(())
            });
            drop(told);
            if result.is_ok() {
                result = self.measure(orders, &threads, &outcomes);
            }
            signals.dismiss();
            // Whoever never got that far must not wait for a window.
            signals.begin(Hours::default());
            threads.iter().for_each(|thread| thread.thread().unpark());
            // Why a thread broke says more than that it did.
            join(threads).and(result)
        })
    }

    fn measure(
        &mut self,
        orders: &mut dyn Iterator<Item = Order>,
        threads: &[Handle<'_>],
        outcomes: &Receiver<ThreadOutcome>,
    ) -> Result<(), LoadError> {
        self.await_connections(threads);
        (self.teller.tell)(News::Connected);
        self.memory.ready_bytes = resident_bytes();
        for (number, order) in orders.enumerate() {
            if number > 0 {
                self.teller.signals.call();
                threads.iter().for_each(|thread| thread.thread().unpark());
                self.await_connections(threads);
            }
            let is_broken = is_any_broken(threads);
            let reachable = self.teller.signals.begin_with(order, clock::now(), is_broken);
            let Some(window) = self.watch(order, threads, outcomes) else { break };
            if !reachable {
                return Err(unreachable(self.teller.plan, &window));
            }
            (self.teller.tell)(News::Began(window.began()));
            (self.teller.tell)(News::Turn(Box::new(report::turn(self.teller.plan, &window))));
            self.windows.push(window);
            if self.stop.load(Relaxed) {
                break;
            }
        }
        Ok(())
    }

    /// Waits until the connections are made, or known not to be had.
    fn await_connections(&mut self, threads: &[Handle<'_>]) {
        let mut told = clock::now();
        while !self.teller.signals.all_ready() && !self.stop.load(Relaxed) && !is_any_broken(threads) {
            park_timeout(RAMP_INTERVAL);
            let now = clock::now();
            if now > told + PROGRESS_INTERVAL.into() {
                told = now;
                self.teller.tell(false);
            }
        }
    }

    /// Tells of the progress until each thread has handed over what it saw, and ends the load early when asked to. `None`
    /// when a thread broke.
    fn watch(
        &mut self,
        order: Order,
        threads: &[Handle<'_>],
        outcomes: &Receiver<ThreadOutcome>,
    ) -> Option<Window> {
        let start = self.teller.signals.start().unwrap_or_default();
        let mut window = Window { start, settle: order.settle, outcomes: Vec::new() };
        let mut is_cut_short = false;
        while window.outcomes.len() < threads.len() {
            match outcomes.recv_timeout(PROGRESS_INTERVAL) {
                Ok(outcome) => window.outcomes.push(outcome),
                Err(_) if is_any_broken(threads) => return None,
                Err(_) => {}
            }
            if self.stop.load(Relaxed) && !is_cut_short {
                is_cut_short = true;
                self.end_early();
            }
            self.teller.tell(false);
        }
        window.outcomes.sort_by_key(|outcome| outcome.thread);
        Some(window)
    }

    /// Ends the load, or the wait for its last answers.
    fn end_early(&self) {
        let (signals, now) = (self.teller.signals, clock::now());
        let is_waiting = signals.end() <= now;
        signals.wait_until(if is_waiting { now } else { now + LAST_ANSWERS });
        // Soon instead of now: no thread may have seen a later time already.
        signals.end_at(now + START_DELAY);
    }
}

/// Tells the caller of the progress and of the seconds.
struct Teller<'a> {
    plan: &'a LoadPlan,
    signals: &'a Signals,
    seconds: Seconds,
    tell: Tell<'a>,
}

impl Teller<'_> {
    fn tell(&mut self, is_end: bool) {
        self.signals.take_parts().into_iter().for_each(|part| self.seconds.add(part.number, part.second));
        while let Some(second) = self.seconds.next(is_end) {
            (self.tell)(News::Second(Box::new(second)));
        }
        (self.tell)(News::Progress(self.signals.progress(clock::now())));
    }
}

type Handle<'s> = ScopedJoinHandle<'s, Result<(), LoadError>>;

fn start_thread<'s, 'e, E: Engine>(
    scope: &'s Scope<'s, 'e>,
    place: ThreadPlace<'e>,
    outcomes: Sender<ThreadOutcome>,
    make: impl Make<E> + 'e,
) -> Result<Handle<'s>, LoadError> {
    let body = move || {
        let config = Config { max_connections: place.connections() };
        let engine = make(config, place.thread, place.plan.threads())?;
        place.occupy()?;
        place.measure(engine, &mut |outcome| outcomes.send(outcome).is_ok())
    };
    let thread = Builder::new().name(format!("load-{}", place.thread));
    thread.spawn_scoped(scope, body).map_err(|e| LoadError::Thread(e.to_string()))
}

/// Whether a thread has ended, which none does by itself.
fn is_any_broken(threads: &[Handle<'_>]) -> bool {
    threads.iter().any(ScopedJoinHandle::is_finished)
}

fn join(threads: Vec<Handle<'_>>) -> Result<(), LoadError> {
    let panicked = |_| Err(LoadError::Thread("it panicked; please report this".to_owned()));
    threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(panicked))
}

/// Resident memory of the process.
fn resident_bytes() -> u64 {
    ThreadUsage::read(clock::thread_cpu()).rss_bytes()
}

/// No connection could be made at all.
pub(crate) fn unreachable(plan: &LoadPlan, window: &Window) -> LoadError {
    let first = window.outcomes.iter().find_map(|outcome| outcome.first_failure.clone());
    let (class, why) = first.unwrap_or((ErrorClass::ConnectOther, "for no known reason".to_owned()));
    LoadError::Unreachable { target: plan.target, class, why }
}
