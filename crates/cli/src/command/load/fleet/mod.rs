//! A load by several generators: this process leads them, and each of them is a process, here or on another host (docs/method/fleet.md).

mod apart;
mod crew;
mod heard;
pub(super) mod participant;
mod parts;
mod process;
mod told;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use assay_engine::clock;
use assay_fleet::coordinator::{Coordinator, Send, Stage, Window};
use assay_fleet::{Whole, host_effect, merged, merged_turn};
use assay_lab::Exit;
use assay_load::{LoadPlan, News, Span, WindowOrder};
use assay_model::load::LoadReport;
use assay_model::not_run::NotRun;
use assay_model::units::Nanos;

use crate::failure::Failure;
pub(super) use crew::Crew;
use crew::Generator;
use heard::{Heard, Report};
use told::Told;

/// Time between two checks whether a person wants an end.
const TICK: Duration = Duration::from_millis(50);
/// How much longer than its orders a generator may take for a word.
const MARGIN: Nanos = Nanos::from_millis(10_000);
/// How many timeouts of one connection making all of them may take, as the generator itself allows.
const CONNECT_TIMEOUTS: u64 = 12;

/// Leads the generators through the windows, the longest of which, with its load before, is to be `longest`. What was measured until
/// somebody stopped it or a generator was lost is reported; a generator that is lost before the first window is an error.
pub(super) fn lead(
    plan: &LoadPlan,
    crew: &Crew,
    longest: Nanos,
    orders: impl Iterator<Item = WindowOrder>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(News),
) -> Result<LoadReport, Failure> {
    let mut leader = Leader::start(plan, crew, longest, stop, tell)?;
    leader.prepare()?;
    for order in orders {
        leader.measure(order);
        if leader.is_over() {
            break;
        }
    }
    let mut report = leader.finish()?;
    if matches!(crew, Crew::There(..)) {
        report.checks.extend(host_effect(&report.generators));
    }
    Ok(report)
}

struct Leader<'a> {
    plan: &'a LoadPlan,
    coordinator: Coordinator,
    generators: Vec<Generator>,
    heard: Receiver<Report>,
    stop: &'a AtomicBool,
    tell: &'a mut dyn FnMut(News),
    told: Told,
}

impl<'a> Leader<'a> {
    fn start(
        plan: &'a LoadPlan,
        crew: &Crew,
        longest: Nanos,
        stop: &'a AtomicBool,
        tell: &'a mut dyn FnMut(News),
    ) -> Result<Self, Failure> {
        let (said, heard) = channel();
        let (parts, generators) = crew.hire(plan, longest, stop, &said)?;
        let patience = Nanos(plan.timeout.0.saturating_mul(CONNECT_TIMEOUTS)) + MARGIN;
        let coordinator = Coordinator::new(parts, patience);
        Ok(Self { plan, coordinator, generators, heard, stop, tell, told: Told::new(crew.count()) })
    }

    /// Compares the clocks and has all connect.
    fn prepare(&mut self) -> Result<(), Failure> {
        let opening = self.coordinator.open(clock::now());
        self.send(opening);
        (self.tell)(News::Progress(self.told.progress()));
        self.follow();
        if let Some(failure) = self.failure(Exit::MachineUnfit) {
            return Err(failure);
        }
        (self.tell)(News::Connected);
        Ok(())
    }

    /// One window, to its end or as far as it comes.
    fn measure(&mut self, order: WindowOrder) {
        let busy = match self.plan.span {
            Span::Requests(_) => Nanos::MAX,
            Span::Time(_) => order.settle + order.length + self.plan.drain + MARGIN,
        };
        let window = Window { settle: order.settle, length: order.length, patience: busy };
        let sends = self.coordinator.begin(window, clock::now());
        self.send(sends);
        self.follow();
        // What was measured without one of them is no window.
        if self.coordinator.first_lost().is_none() {
            (self.tell)(News::Turn(Box::new(merged_turn(&self.coordinator.turns()))));
        }
    }

    /// The reports of all, as one.
    fn finish(mut self) -> Result<LoadReport, Failure> {
        if self.coordinator.stage() == Stage::Ready {
            let sends = self.coordinator.end(clock::now(), self.plan.drain + MARGIN);
            self.send(sends);
            self.follow();
        }
        self.tell_seconds(true);
        let whole = Whole {
            arrival: self.plan.arrival.clone(),
            connections: self.plan.connections,
            idle: self.plan.idle,
        };
        let unmeasured = self.failure(Exit::Void);
        self.generators.into_iter().for_each(Generator::leave);
        let shares = self.coordinator.into_shares();
        match unmeasured {
            Some(failure) if shares.iter().all(|share| share.report.is_none()) => Err(failure),
            _ => merged(&whole, shares).map_err(|error| Failure::Bug(error.to_string())),
        }
    }

    /// Whether no further window is to be measured.
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.coordinator.first_lost().is_some()
    }

    /// Hears what all say, until nobody owes a word. Each that is to stop is told so once; one that was lost ends the window of all, which
    /// is void without it.
    fn follow(&mut self) {
        let preparing = self.coordinator.stage() == Stage::Preparing;
        while !matches!(self.coordinator.stage(), Stage::Ready | Stage::Over) {
            self.hear();
            let can_end = matches!(self.coordinator.stage(), Stage::Preparing | Stage::Measuring);
            if can_end && self.is_over() {
                if preparing && self.coordinator.first_lost().is_some() {
                    return;
                }
                let sends = self.coordinator.end(clock::now(), self.plan.drain + MARGIN);
                self.send(sends);
            }
        }
    }

    /// What comes until the next look at the stop.
    fn hear(&mut self) {
        match self.heard.recv_timeout(TICK) {
            Ok(Report { number, at, heard: Heard::Said(said) }) => {
                let answer = self.coordinator.hear(number, *said, at);
                self.send(answer);
            }
            Ok(Report { number, heard: Heard::Unreadable(why), .. }) => self.coordinator.lose(number, why),
            Ok(Report { number, heard: Heard::Gone, .. }) => {
                let why = self.generators[number].ended();
                self.coordinator.lose(number, why);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.coordinator.give_up_silent(clock::now());
        self.tell_seconds(false);
    }

    fn send(&mut self, sends: impl IntoIterator<Item = Send>) {
        for (number, order) in sends {
            if let Err(why) = self.generators[number].send(&order) {
                self.coordinator.lose(number, why);
            }
        }
    }

    fn tell_seconds(&mut self, is_end: bool) {
        while let Some((number, second)) = self.coordinator.next_second() {
            if let Err(why) = self.told.hear(number, *second) {
                self.coordinator.lose(number, why);
            }
        }
        while let Some(second) = self.told.next(is_end) {
            (self.tell)(News::Second(Box::new(second)));
            (self.tell)(News::Progress(self.told.progress()));
        }
    }

    /// Why there is nothing to be told, if a generator is lost; what that comes to where it gave no exit code itself is `otherwise`.
    fn failure(&self, otherwise: Exit) -> Option<Failure> {
        let (name, why, exit) = self.coordinator.first_lost()?;
        let reason = match (exit, self.generators.first()) {
            (None, Some(Generator::There(_))) => NotRun::lost_host_reason(name, why),
            _ => format!("generator {name} of {}: {why}", self.generators.len()),
        };
        let exit = match self.stop.load(Ordering::Relaxed) {
            true => Exit::Interrupted,
            false => exit.and_then(Exit::of_code).unwrap_or(otherwise),
        };
        Some(Failure::Unmeasured { exit, reason })
    }
}
