//! The coordinator of several generators under one load: when each is asked what, and what follows from its answers. No pipe, no clock: who drives it
//! hands over what was said with the time, and sends what it returns.

use std::collections::VecDeque;

use assay_model::fleet::ClockOffset;
use assay_model::load::{GeneratorShare, LoadTurn};
use assay_model::units::Nanos;

use crate::clock::{self, ROUND_TRIPS, RoundTrip};
use crate::line::{Begin, Order, Part, Said, Second, Turn};

/// From the decision to begin until the first request is due, beside the way to the farthest generator: orders are written one after
/// another, and threads look every millisecond.
const LEAD: Nanos = Nanos::from_millis(20);

/// How far all have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Clocks are compared, connections made.
    Preparing,
    /// All that are left wait for a window.
    Ready,
    /// A window goes on; nothing is said to anybody.
    Measuring,
    /// Reports are awaited.
    Reporting,
    /// All have reported or are lost.
    Over,
}

/// Something to be said to one of them.
pub type Send = (usize, Order);

/// A window for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Load before it.
    pub settle: Nanos,
    /// Length of the window; nothing where a number of requests was asked for.
    pub length: Nanos,
    /// How long it may take from its start to the last word on it.
    pub patience: Nanos,
}

/// The leader.
pub struct Coordinator {
    members: Vec<Member>,
    stage: Stage,
    /// When a generator that owes a word and is still silent counts as lost.
    deadline: Nanos,
    /// For getting ready.
    patience: Nanos,
    /// The start on which all agreed, by our clock.
    start: Nanos,
    seconds: VecDeque<(usize, Box<Second>)>,
}

/// One generator.
struct Member {
    share: GeneratorShare,
    part: Option<Box<Part>>,
    round_trips: Vec<RoundTrip>,
    /// When it was last asked for the time.
    asked: Nanos,
    /// The exit code with which it gave up.
    exit: Option<u8>,
    turn: Option<LoadTurn>,
    owes: bool,
}

impl Member {
    fn is_lost(&self) -> bool {
        self.share.lost.is_some()
    }
}

impl Coordinator {
    /// Leads generators with these names and parts, which may take `patience` to get ready.
    pub fn new(parts: Vec<(String, Part)>, patience: Nanos) -> Self {
        let member = |(name, part): (String, Part)| Member {
            share: GeneratorShare { name, ..GeneratorShare::default() },
            part: Some(Box::new(part)),
            round_trips: Vec::new(),
            asked: Nanos::ZERO,
            exit: None,
            turn: None,
            owes: true,
        };
        Self {
            members: parts.into_iter().map(member).collect(),
            stage: Stage::Preparing,
            deadline: Nanos::MAX,
            patience,
            start: Nanos::ZERO,
            seconds: VecDeque::new(),
        }
    }

    /// The first words to each.
    pub fn open(&mut self, now: Nanos) -> Vec<Send> {
        self.deadline = now + self.patience;
        (0..self.members.len()).map(|number| (number, self.ping(number, now))).collect()
    }

    /// How far all have come.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// When somebody's silence is to be looked at.
    pub fn deadline(&self) -> Nanos {
        self.deadline
    }

    /// Takes what one of them said; returns what is to be said in answer.
    pub fn hear(&mut self, number: usize, said: Said, now: Nanos) -> Option<Send> {
        let member = self.members.get_mut(number).filter(|member| !member.is_lost())?;
        match said {
            Said::Pong { number: question, at_ns } => return self.hear_time(number, question, at_ns, now),
            Said::Second(second) => self.seconds.push_back((number, second)),
            Said::Ready if self.stage == Stage::Preparing && member.part.is_none() => member.owes = false,
            Said::Turn(turn) if matches!(self.stage, Stage::Measuring | Stage::Reporting) => {
                self.hear_turn(number, *turn);
            }
            Said::Report(report) if self.stage == Stage::Reporting => {
                (member.share.report, member.owes) = (Some(report), false);
            }
            Said::Failed { exit, reason } => {
                member.exit = Some(exit);
                self.lose(number, reason);
            }
            _ => self.lose(number, "it spoke out of turn".to_owned()),
        }
        self.go_on();
        None
    }

    /// A generator is gone, or not to be understood. What it reported before stands.
    pub fn lose(&mut self, number: usize, why: String) {
        let Some(member) = self.members.get_mut(number) else { return };
        if !member.is_lost() && member.share.report.is_none() {
            (member.share.lost, member.owes) = (Some(why), false);
        }
        self.go_on();
    }

    /// Gives up whoever owes a word after the deadline; returns their numbers.
    pub fn give_up_silent(&mut self, now: Nanos) -> Vec<usize> {
        if now < self.deadline {
            return Vec::new();
        }
        let silent = self.members.iter().enumerate().filter(|(_, member)| member.owes);
        let silent: Vec<usize> = silent.map(|(number, _)| number).collect();
        silent.iter().for_each(|&number| self.lose(number, "no word from it in time".to_owned()));
        silent
    }

    /// Lets all begin together, by the clock of each. Nothing is said to anybody until the window is over.
    pub fn begin(&mut self, window: Window, now: Nanos) -> Vec<Send> {
        let farthest =
            self.members.iter().map(|member| member.share.clock.error_ns).max().unwrap_or_default();
        self.start = now + LEAD + farthest + farthest;
        self.deadline = self.start + window.patience;
        self.stage = Stage::Measuring;
        let (start, Window { settle, length, .. }) = (self.start, window);
        let of = |clock: &ClockOffset| {
            Order::Begin(Begin { at_ns: clock::theirs(clock, start), settle_ns: settle, length_ns: length })
        };
        self.tell_all(|member| {
            (member.turn, member.owes) = (None, true);
            of(&member.share.clock)
        })
    }

    /// Has all report what they saw, at once or as soon as what is in flight is answered, which may take them `patience`.
    pub fn end(&mut self, now: Nanos, patience: Nanos) -> Vec<Send> {
        self.deadline = now + patience;
        self.stage = Stage::Reporting;
        let sends = self.tell_all(|member| {
            member.owes = true;
            Order::End
        });
        self.go_on();
        sends
    }

    /// The next second that one of them has told of.
    pub fn next_second(&mut self) -> Option<(usize, Box<Second>)> {
        self.seconds.pop_front()
    }

    /// What was told of the last window by those that are left.
    pub fn turns(&self) -> Vec<LoadTurn> {
        self.members.iter().filter_map(|member| member.turn.clone()).collect()
    }

    /// The first that was lost, with the reason and the exit code that it gave, if it did.
    pub fn first_lost(&self) -> Option<(&str, &str, Option<u8>)> {
        self.members
            .iter()
            .find_map(|member| Some((member.share.name.as_str(), member.share.lost.as_deref()?, member.exit)))
    }

    /// The part that each had.
    pub fn into_shares(self) -> Vec<GeneratorShare> {
        self.members.into_iter().map(|member| member.share).collect()
    }

    fn tell_all(&mut self, mut order: impl FnMut(&mut Member) -> Order) -> Vec<Send> {
        let present = self.members.iter_mut().enumerate().filter(|(_, member)| !member.is_lost());
        present.map(|(number, member)| (number, order(member))).collect()
    }

    fn ping(&mut self, number: usize, now: Nanos) -> Order {
        let member = &mut self.members[number];
        member.asked = now;
        Order::Ping { number: u32::try_from(member.round_trips.len()).unwrap_or(u32::MAX) }
    }

    fn hear_time(&mut self, number: usize, question: u32, theirs: Nanos, now: Nanos) -> Option<Send> {
        let member = &mut self.members[number];
        if member.part.is_none() || member.round_trips.len() as u64 != u64::from(question) {
            self.lose(number, "it told the time unasked".to_owned());
            return None;
        }
        member.round_trips.push(RoundTrip { sent: member.asked, theirs, received: now });
        if question + 1 < ROUND_TRIPS {
            return Some((number, self.ping(number, now)));
        }
        member.share.clock = clock::offset(&member.round_trips).unwrap_or_default();
        member.round_trips = Vec::new();
        member.part.take().map(|part| (number, Order::Part(part)))
    }

    fn hear_turn(&mut self, number: usize, said: Turn) {
        let (start, member) = (self.start, &mut self.members[number]);
        let began = clock::difference(clock::ours(&member.share.clock, said.began_ns), start);
        let is_farther = member.share.began_ns.is_none_or(|before| began.abs() > before.abs());
        if is_farther {
            member.share.began_ns = Some(began);
        }
        member.turn = Some(said.turn);
        // Who was told to end in its window tells of that first, and still owes a report.
        member.owes = self.stage == Stage::Reporting;
    }

    /// The next stage, when nobody owes a word any more.
    fn go_on(&mut self) {
        if self.members.iter().any(|member| member.owes) {
            return;
        }
        self.stage = match self.stage {
            Stage::Preparing | Stage::Measuring | Stage::Ready => Stage::Ready,
            Stage::Reporting | Stage::Over => Stage::Over,
        };
        self.deadline = Nanos::MAX;
    }
}
