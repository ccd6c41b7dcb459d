//! A thousand generators in one process, with clocks, delays and deaths of their own, against the real coordinator and the real merge,
//! in virtual time.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests may fail as tests do")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use assay_fleet::coordinator::{Coordinator, Stage, Window};
use assay_fleet::line::{FLEET_SCHEMA, Order, Part, Said, Turn, read, written};
use assay_fleet::slice::{Slice, slices};
use assay_fleet::{Whole, merged};
use assay_model::check::CheckOutcome;
use assay_model::evidence::Evidence;
use assay_model::load::{Arrival, Books, LOAD_SCHEMA, Latency, LoadReport, LoadTurn, WindowCounts};
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::workload::Workload;
use assay_stats::Histogram;
use chacha20::ChaCha8Rng;
use peak_alloc::PeakAlloc;
use rand::{RngExt, SeedableRng};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const HOSTS: usize = 1000;
const WINDOW: Nanos = Nanos::from_millis(2000);
/// Ways are no longer than this.
const LONGEST_WAY: Nanos = Nanos::from_micros(2_020);

/// One simulated generator.
struct Agent {
    /// What its clock shows more than ours.
    offset: i64,
    slice: Slice,
    requests: Vec<u64>,
    is_doomed: bool,
}

/// What arrives somewhere at a time: an order at an agent, or a line from one.
enum Event {
    Order(usize, Order),
    Line(usize, String),
    Gone(usize),
}

struct World {
    rng: ChaCha8Rng,
    now: Nanos,
    number: u64,
    queue: BinaryHeap<(Reverse<(Nanos, u64)>, usize)>,
    events: Vec<Option<Event>>,
    agents: Vec<Agent>,
    /// Messages that passed between start and end of the window.
    in_window: usize,
    window: Option<(Nanos, Nanos)>,
    /// When each really began, by our clock.
    began: Vec<Nanos>,
}

impl World {
    fn new(seed: u64, hosts: usize, doomed: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let slices = slices(&vec![2; hosts], 4 * hosts as u32).expect("slices");
        let agent = |(number, slice): (usize, Slice)| Agent {
            offset: rng.random_range(-10_000_000_000i64..10_000_000_000),
            slice,
            requests: (0..50).map(|_| rng.random_range(50_000..5_000_000u64)).collect(),
            is_doomed: number % 10 == 3 && doomed > 0,
        };
        let agents: Vec<Agent> = slices.into_iter().enumerate().map(agent).collect();
        Self {
            began: vec![Nanos::ZERO; agents.len()],
            rng,
            now: Nanos::from_millis(60_000),
            number: 0,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            agents,
            in_window: 0,
            window: None,
        }
    }

    fn after(&mut self, delay: Nanos, event: Event) {
        self.number += 1;
        self.events.push(Some(event));
        self.queue.push((Reverse((self.now + delay, self.number)), self.events.len() - 1));
    }

    /// A way there or back: mostly 100 µs, at times much more, and never the same.
    fn way(&mut self) -> Nanos {
        let jam = if self.rng.random_bool(0.2) { self.rng.random_range(0..1_900_000) } else { 0 };
        Nanos(100_000 + self.rng.random_range(0..20_000) + jam)
    }

    fn send(&mut self, sends: impl IntoIterator<Item = (usize, Order)>) {
        for (number, order) in sends {
            let way = self.way();
            assert!(way <= LONGEST_WAY);
            self.after(way, Event::Order(number, order));
        }
    }

    fn say(&mut self, agent: usize, after: Nanos, said: &Said) {
        let way = self.way();
        self.after(after + way, Event::Line(agent, written(said).expect("a line")));
    }

    /// What an agent does with an order that arrives now.
    fn obey(&mut self, number: usize, order: Order) {
        let offset = self.agents[number].offset;
        let theirs = Nanos(self.now.0.saturating_add_signed(offset));
        match order {
            Order::Ping { number: question } => {
                self.say(number, Nanos::ZERO, &Said::Pong { number: question, at_ns: theirs });
            }
            Order::Part(_) => self.say(number, Nanos::from_millis(30), &Said::Ready),
            Order::Begin(begin) => {
                assert!(begin.at_ns > theirs, "the order came in time");
                let until_start = begin.at_ns - theirs;
                self.began[number] = self.now + until_start;
                if self.agents[number].is_doomed {
                    self.after(until_start + Nanos::from_millis(700), Event::Gone(number));
                } else {
                    let turn = LoadTurn { ok: 50, window_ns: begin.length_ns, ..LoadTurn::default() };
                    let turn = Turn { began_ns: begin.at_ns, turn };
                    self.say(
                        number,
                        until_start + begin.settle_ns + begin.length_ns,
                        &Said::Turn(Box::new(turn)),
                    );
                }
            }
            Order::End => {
                let report = report(&self.agents[number].requests);
                self.say(number, Nanos::from_millis(1), &Said::Report(Box::new(report)));
            }
        }
    }

    /// Carries on until the coordinator has come to a stage.
    fn run(&mut self, coordinator: &mut Coordinator, until: Stage) {
        while coordinator.stage() != until {
            let (Reverse((at, _)), index) = self.queue.pop().expect("somebody says something");
            self.now = at;
            let event = self.events[index].take().expect("once");
            self.in_window += usize::from(
                matches!(event, Event::Order(..) | Event::Line(..))
                    && self.window.is_some_and(|(start, end)| at > start && at < end),
            );
            match event {
                Event::Order(number, order) => self.obey(number, order),
                Event::Line(number, line) => {
                    let answer = coordinator.hear(number, read(&line).expect("a line"), self.now);
                    self.send(answer);
                }
                Event::Gone(number) => coordinator.lose(number, "gone".to_owned()),
            }
        }
    }
}

fn report(requests: &[u64]) -> LoadReport {
    let mut service = Histogram::new();
    requests.iter().for_each(|&ns| service.record(ns));
    let empty = Histogram::new().to_hdr_base64().expect("encoded");
    let ok = requests.len() as u64;
    LoadReport {
        schema: LOAD_SCHEMA.to_owned(),
        window_ns: WINDOW,
        books: Books { issued: ok, ok, ..Books::default() },
        window: WindowCounts { ok, ..WindowCounts::default() },
        latency: Latency {
            service_hdr: service.to_hdr_base64().expect("encoded"),
            ttfb_hdr: empty.clone(),
            connect_hdr: empty,
            ..Latency::default()
        },
        ..LoadReport::default()
    }
}

fn coordinator(world: &World) -> Coordinator {
    let part = |(number, agent): (usize, &Agent)| {
        let part = Part {
            schema: FLEET_SCHEMA.to_owned(),
            arguments: Vec::new(),
            target: "192.0.2.1:80".parse().expect("an address"),
            cpus: "0-1".to_owned(),
            sources: Vec::new(),
            slice: agent.slice,
            workload: Workload::default(),
            seconds: false,
            authorities: None,
        };
        (format!("host{number}"), part)
    };
    Coordinator::new(world.agents.iter().enumerate().map(part).collect(), Nanos::from_millis(5000))
}

/// The common load of `hosts`, of which a tenth is lost in the window where `doomed` is not 0.
fn load(seed: u64, hosts: usize, doomed: usize) -> (World, LoadReport, Nanos) {
    let mut world = World::new(seed, hosts, doomed);
    let mut leader = coordinator(&world);
    let opened = world.now;
    let opening = leader.open(world.now);
    world.send(opening);
    world.run(&mut leader, Stage::Ready);
    let ready_after = world.now - opened;
    let window = Window { settle: Nanos::ZERO, length: WINDOW, patience: WINDOW + WINDOW };
    let begins = leader.begin(window, world.now);
    // All orders are on their way by then, and arrive before anybody starts.
    let first = world.now + Nanos::from_millis(20);
    world.window = Some((first, first + WINDOW));
    world.send(begins);
    world.run(&mut leader, Stage::Ready);
    let ends = leader.end(world.now, Nanos::from_millis(1000));
    world.send(ends);
    world.run(&mut leader, Stage::Over);
    let whole = Whole { arrival: Arrival::Closed, connections: 4 * hosts as u32, idle: 0 };
    let report = merged(&whole, leader.into_shares()).expect("merged");
    (world, report, ready_after)
}

fn outcome(report: &LoadReport) -> (CheckOutcome, usize) {
    let check = report.checks.iter().find(|check| check.rule == Rule::Generators).expect("judged");
    let Evidence::Generators { lost, .. } = &check.evidence else { panic!("{check:?}") };
    (check.outcome, lost.len())
}

#[test]
fn a_thousand_hosts_with_wrong_clocks_begin_together_and_one_report_tells_of_all() {
    let before = MEMORY.current_usage_as_mb();
    MEMORY.reset_peak_usage();
    let (world, report, ready_after) = load(1, HOSTS, 0);
    assert!(ready_after < Nanos::from_millis(2000), "{ready_after:?}");
    assert_eq!(world.in_window, 0, "nobody says anything in the window");
    let (first, last) = (world.began.iter().min().expect("one"), world.began.iter().max().expect("one"));
    assert!(*last - *first <= Nanos::from_millis(1), "{:?}", *last - *first);
    assert_eq!(report.books.issued, 50 * HOSTS as u64);
    let mut one = Histogram::new();
    world.agents.iter().flat_map(|agent| &agent.requests).for_each(|&ns| one.record(ns));
    let all = Histogram::from_hdr_base64(&report.latency.service_hdr).expect("a histogram");
    let buckets = |histogram: &Histogram| histogram.buckets().collect::<Vec<_>>();
    assert_eq!(buckets(&all), buckets(&one), "as if one generator had seen them all");
    assert_eq!(outcome(&report), (CheckOutcome::Pass, 0));
    assert!(MEMORY.peak_usage_as_mb() - before < 500.0, "{} MB", MEMORY.peak_usage_as_mb());
}

#[test]
fn a_tenth_that_is_lost_voids_the_window_by_name_and_not_the_rest() {
    let (_, report, _) = load(2, 100, 10);
    assert_eq!(outcome(&report), (CheckOutcome::Void, 10));
    assert_eq!((report.books.issued, report.generators.len()), (50 * 90, 100));
    let lost = report.generators.iter().filter(|share| share.lost.is_some());
    assert!(lost.clone().all(|share| share.report.is_none() && share.name.ends_with('3')));
    assert_eq!(lost.count(), 10);
}

#[test]
fn whoever_is_silent_is_given_up_and_the_others_go_on() {
    let mut world = World::new(3, 3, 0);
    let mut leader = coordinator(&world);
    let opening = leader.open(world.now);
    world.send(opening.into_iter().filter(|(number, _)| *number != 1));
    while world.queue.peek().is_some() && leader.stage() == Stage::Preparing {
        let (Reverse((at, _)), index) = world.queue.pop().expect("an event");
        world.now = at;
        match world.events[index].take().expect("once") {
            Event::Order(number, order) => world.obey(number, order),
            Event::Line(number, line) => {
                let answer = leader.hear(number, read(&line).expect("a line"), world.now);
                world.send(answer);
            }
            Event::Gone(_) => {}
        }
    }
    assert_eq!(leader.give_up_silent(world.now), Vec::<usize>::new(), "there is time left");
    assert_eq!(leader.give_up_silent(leader.deadline()), [1]);
    assert_eq!(
        (leader.stage(), leader.first_lost().map(|lost| lost.0.to_owned())),
        (Stage::Ready, Some("host1".to_owned()))
    );
}

#[test]
fn words_out_of_turn_lose_whoever_says_them() {
    let world = World::new(4, 2, 0);
    for said in [Said::Ready, Said::Turn(Box::default()), Said::Report(Box::default())] {
        let mut leader = coordinator(&world);
        leader.open(world.now);
        assert!(leader.hear(0, said, world.now).is_none());
        assert_eq!(
            leader.first_lost().map(|lost| lost.1.to_owned()),
            Some("it spoke out of turn".to_owned())
        );
        assert!(
            leader.hear(0, Said::Ready, world.now).is_none()
                && leader.hear(7, Said::Ready, world.now).is_none()
        );
    }
}
