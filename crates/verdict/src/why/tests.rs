use std::collections::BTreeMap;

use assay_model::cause::Cause;
use assay_model::experiment::{Cell, Experiment, Measure};
use assay_model::link::{Flow, LinkFacts, LinkShape, LinkUse};
use assay_model::load::Arrival;
use assay_model::network::Network;
use assay_model::part::Part;
use assay_model::profile::{
    CallStack, Clock, Facet, Frame, FrameKind, Owner, Profile, Refused, Sampled, SystemCall, Traced,
};
use assay_model::record::{Measurement, Run};
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use assay_model::why::Event;
use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

use super::difference::{Spender, difference};
use super::spending::{Spent, spending};
use crate::testing;

/// Restarts in a made-up run.
const RESTARTS: usize = 5;

fn call(name: &str) -> Event {
    Event::SystemCall { name: name.to_owned() }
}

/// A restart with these parts, which are all that it spends.
fn spent(parts: &[(Part, f64)], counts: &[(Event, f64)]) -> Spent {
    let parts: BTreeMap<Part, f64> = parts.iter().copied().collect();
    Spent {
        cpu_ns: parts.values().sum(),
        parts,
        counts: counts.iter().cloned().collect(),
        samples: 1_000,
        sampled_share: 1.0,
        ..Spent::default()
    }
}

/// Restarts around the same truth, each part off by up to a hundredth of itself.
fn restarts(truth: &[(Part, f64)], counts: &[(Event, f64)], seed: u64) -> Vec<Option<Spent>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut one = || -> Vec<(Part, f64)> {
        truth.iter().map(|(part, ns)| (*part, ns * rng.random_range(0.99..1.01))).collect()
    };
    (0..RESTARTS).map(|_| Some(spent(&one(), counts))).collect()
}

fn side<'s>(name: &'s str, restarts: &'s [Option<Spent>]) -> Spender<'s> {
    Spender { name, restarts }
}

const NGINX: [(Part, f64); 4] =
    [(Part::Receive, 2_000.0), (Part::Send, 4_000.0), (Part::Sockets, 600.0), (Part::Application, 1_500.0)];
const NODE: [(Part, f64); 5] = [
    (Part::Receive, 2_000.0),
    (Part::Send, 4_000.0),
    (Part::Sockets, 2_900.0),
    (Part::Jit, 6_100.0),
    (Part::Application, 500.0),
];

#[test]
fn the_parts_that_differ_are_told_by_size_and_the_others_are_folded() {
    let nginx = restarts(&NGINX, &[(call("epoll_wait"), 0.1), (call("read"), 1.0)], 1);
    let node = restarts(&NODE, &[(call("epoll_wait"), 4.2), (call("read"), 1.0)], 2);
    let told = difference(side("nginx", &nginx), side("node", &node)).expect("five restarts");
    let parts: Vec<Part> = told.parts.iter().map(|part| part.part).collect();
    assert_eq!(parts, [Part::Jit, Part::Sockets, Part::Application]);
    assert_eq!((told.alike, told.restarts), (2, 5));
    for (part, truth) in told.parts.iter().zip([6_100.0, 2_300.0, -1_000.0]) {
        let of = part.difference_ns;
        assert!(of.low <= truth && truth <= of.high && of.low * of.high > 0.0, "{part:?}");
    }
    let because = &told.parts[1].because;
    assert_eq!(because.len(), 1, "who spends more in calls makes more of these: {because:?}");
    assert_eq!((&because[0].event, because[0].contender), (&call("epoll_wait"), 4.2));
    assert!(told.parts[0].because.is_empty(), "no call speaks of compiled code");
}

/// Parts are told or folded, whatever is spent, and all of them are the difference of the totals.
#[test]
fn parts_add_up_to_the_difference_of_the_totals() {
    for seed in 0..50 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut truth = || -> Vec<(Part, f64)> {
            let all = [Part::Receive, Part::Send, Part::Copying, Part::Jit, Part::Unassigned];
            all.into_iter().filter(|_| rng.random_bool(0.8)).map(|part| (part, 9e3)).collect()
        };
        let (a, b) = (restarts(&truth(), &[], seed), restarts(&truth(), &[], seed + 1_000));
        let told = difference(side("a", &a), side("b", &b)).expect("five restarts");
        let sum = told.parts.iter().map(|part| part.difference_ns.estimate).sum::<f64>() + told.alike_ns;
        assert!((sum - told.total_ns.estimate).abs() < 1e-6, "seed {seed}: {sum} of {told:?}");
        assert!((told.contender_ns - told.base_ns - told.total_ns.estimate).abs() < 1e-6, "seed {seed}");
    }
}

#[test]
fn one_restart_has_a_budget_and_shows_no_difference() {
    let one = [Some(spent(&NGINX, &[]))];
    assert!(difference(side("a", &one), side("b", &one)).is_none());
    let told = spending("nginx", &[one[0].as_ref().expect("spent")], None).expect("a budget");
    assert_eq!((told.parts[0].part, told.parts[0].ns.confidence), (Part::Send, 0.0));
    assert!(spending("nginx", &[], None).is_none());
}

#[test]
fn restarts_in_which_one_side_was_not_profiled_do_not_count() {
    let (mut a, b) = (restarts(&NGINX, &[], 3), restarts(&NODE, &[], 4));
    a[1] = None;
    let told = difference(side("a", &a), side("b", &b)).expect("four restarts");
    assert_eq!(told.restarts, 4);
    a[2..].iter_mut().for_each(|restart| *restart = None);
    assert!(difference(side("a", &a), side("b", &b)).is_none(), "one pair is left");
}

#[test]
fn equals_are_folded_whole() {
    let (a, b) = (restarts(&NODE, &[], 5), restarts(&NODE, &[], 6));
    let told = difference(side("a", &a), side("b", &b)).expect("five restarts");
    assert!(told.parts.is_empty() && told.alike == 5, "{told:?}");
}

#[test]
fn a_budget_is_all_of_the_cpu_time() {
    let all = restarts(&NODE, &[(call("epoll_wait"), 4.2)], 7);
    let known: Vec<&Spent> = all.iter().flatten().collect();
    let told = spending("node", &known, Some(16_000.0)).expect("five restarts");
    let sum: f64 = told.parts.iter().map(|part| part.ns.estimate).sum();
    assert!((sum - told.cpu_ns.estimate).abs() < 1e-6);
    assert_eq!(told.parts.first().map(|part| part.part), Some(Part::Jit));
    assert!(told.parts.iter().all(|part| part.ns.low <= part.ns.estimate && part.ns.confidence >= 0.95));
}

/// A profile of 10 answers that took 4 µs in the program and 6 µs in the kernel each.
fn half_seen(refused: Vec<Refused>) -> Profile {
    let usage = Usage { user_ns: Nanos(40_000), system_ns: Nanos(60_000), threads: 9, ..Usage::default() };
    let frames =
        vec![Frame { symbol: Some("handle".into()), module: Some("a".into()), kind: FrameKind::Native }];
    let stacks = vec![CallStack { owner: Owner::Server, thread: 0, frames: vec![0], samples: 4 }];
    let interval_ns = Nanos(10_000);
    let sampled = Sampled { answers: 10, usage, frames, stacks, interval_ns, ..Sampled::default() };
    Profile {
        cell: Cell::closed("hello", 1),
        arrival: Arrival::Closed,
        offset_ns: Nanos::ZERO,
        sampled,
        traced: None,
        refused,
    }
}

#[test]
fn time_in_a_kernel_that_may_not_be_seen_is_given_to_nobody() {
    let refused = Refused { what: Facet::Kernel, why: "no right".to_owned() };
    let told = super::spent(&half_seen(vec![refused])).expect("samples");
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert!(close(told.of(Part::Application), 4_000.0), "{told:?}");
    assert!(close(told.of(Part::Unassigned), 6_000.0) && close(told.unseen_ns, 6_000.0), "{told:?}");
    assert!(close(told.cpu_ns, 10_000.0) && close(told.sampled_share, 1.0), "{told:?}");
    let seen = super::spent(&half_seen(Vec::new())).expect("samples");
    assert!(close(seen.of(Part::Application), 10_000.0) && seen.unseen_ns == 0.0, "{seen:?}");
}

#[test]
fn counts_of_calls_that_were_lost_are_withheld_and_that_is_told() {
    let with = |lost| {
        let calls = vec![SystemCall { name: "read".to_owned(), count: 100, ..SystemCall::default() }];
        let traced = Traced { answers: 10, calls, lost, ..Traced::default() };
        super::spent(&Profile { traced: Some(traced), ..half_seen(Vec::new()) }).expect("samples")
    };
    let (whole, torn) = (with(10), with(20));
    assert_eq!((whole.counts.get(&call("read")), whole.refused.len()), (Some(&10.0), 0));
    assert_eq!(torn.counts.get(&call("read")), None);
    assert!(torn.refused.iter().any(|why| why.contains("were lost")), "{:?}", torn.refused);
    // Neither a restart nor a contender of which calls are not known makes none.
    assert_eq!(super::spending::mean_count(&[&whole, &torn], &call("read")), Some(10.0));
    assert_eq!(super::spending::mean_count(&[&torn], &call("read")), None);
}

#[test]
fn samples_that_were_lost_do_not_stand_for_the_cpu_time_whatever_the_clock() {
    let mut profile = half_seen(Vec::new());
    (profile.sampled.clock, profile.sampled.lost) = (Clock::Hardware, 1);
    let told = super::spent(&profile).expect("samples");
    assert!((told.sampled_share - 0.8).abs() < 1e-9, "one of five: {told:?}");
}

#[test]
fn a_server_whose_cpu_time_is_not_known_has_no_budget() {
    let mut profile = half_seen(Vec::new());
    profile.sampled.usage = Usage::default();
    assert!(super::spent(&profile).is_none(), "it ended in the slice");
}

#[test]
fn what_profiling_changed_is_told_restart_by_restart() {
    let restarts = restarts(&NGINX, &[], 8);
    let twice = |spent: &Option<Spent>| spent.as_ref().map(|spent| spent.cpu_ns / 2.0);
    let unwatched: Vec<Option<f64>> = restarts.iter().map(twice).collect();
    let told = super::watching(&restarts, &unwatched).expect("both");
    assert!((told.low - 1.0).abs() < 1e-6 && (told.high - 1.0).abs() < 1e-6, "{told:?}");
    assert_eq!(super::watching(&restarts, &[None, None, None, None, None]), None);
}

#[test]
fn a_full_link_holds_answers_up() {
    let mut record = testing::record(&[("a", &[1000.0, 1000.0])]);
    record.link = Some("veth:100mbit".parse().expect("a link"));
    let shape = LinkShape { bits_per_second: 100_000_000, burst_bytes: 16_384, queue_bytes: 1 << 20 };
    record.link_facts = Some(LinkFacts {
        server_address: "198.18.0.1".to_owned(),
        generator_address: "198.18.0.2".to_owned(),
        mtu_bytes: 1500,
        gso_max_bytes: 65_536,
        shape: Some(shape),
        loss_per_million: None,
        middle: true,
        sysctls: BTreeMap::new(),
        user_namespace: false,
    });
    let usage = Usage { user_ns: Nanos(9), ..Usage::default() };
    let stacks = vec![CallStack { owner: Owner::Server, thread: 0, frames: Vec::new(), samples: 9 }];
    for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
        let window = &mut run.cells[0];
        let to_generator = Flow { peak_bytes_per_second: 12.4e6, ..Flow::default() };
        window.link_use = Some(LinkUse { to_generator, ..LinkUse::default() });
        run.profiles = vec![Profile {
            cell: window.cell.clone(),
            arrival: Arrival::Closed,
            offset_ns: Nanos::ZERO,
            sampled: Sampled {
                answers: 9,
                usage: usage.clone(),
                stacks: stacks.clone(),
                ..Sampled::default()
            },
            traced: None,
            refused: Vec::new(),
        }];
    }
    let verdict = crate::judge(&record).expect("a verdict");
    let [held] = verdict.why[0].spendings[0].held_up.as_slice() else { panic!("{:?}", verdict.why) };
    let Cause::Link { link, used, from_server } = &held.by else { panic!("{held:?}") };
    assert_eq!((link.as_str(), *from_server, held.restarts), ("veth:100mbit", true, 2));
    assert!((used - 0.992).abs() < 1e-3, "{used}");
}

/// A server whose connections are all assay's own: no function of the kernel is seen in its samples.
#[test]
fn an_answer_of_our_own_tcp_has_the_parts_that_the_kernels_has() {
    let mut profile = half_seen(Vec::new());
    profile.sampled.usage = Usage { user_ns: Nanos(100_000), threads: 1, ..Usage::default() };
    let library = |symbol: &str| Frame {
        symbol: Some(symbol.into()),
        module: Some("libassay_preload.so".into()),
        kind: FrameKind::Native,
    };
    let busy = [
        ("assay_tcp::connection::arrive::arrive", 3),
        ("assay_tcp::connection::depart::depart", 4),
        ("assay_wire::ring::sending::Sender::send", 2),
        ("assay_preload::core::calls::recv", 1),
    ];
    profile.sampled.frames.extend(busy.map(|(symbol, _)| library(symbol)));
    // Each below the program's own function, which calls the library instead of the kernel.
    let stack = |(at, (_, samples)): (u32, (&str, u64))| CallStack {
        owner: Owner::Server,
        thread: 0,
        frames: vec![at, 0],
        samples,
    };
    profile.sampled.stacks = (1..).zip(busy).map(stack).collect();
    let told = super::spent(&profile).expect("samples");
    for (part, ns) in [(Part::Receive, 3e3), (Part::Send, 4e3), (Part::Network, 2e3), (Part::Sockets, 1e3)] {
        assert!((told.of(part) - ns).abs() < 1e-6, "{part:?}: {told:?}");
    }
    assert!((told.cpu_ns - 10_000.0).abs() < 1e-6 && told.of(Part::Application) == 0.0, "{told:?}");
}

/// One server on both stacks: on the user-space one the kernel's half of an answer is gone.
#[test]
fn what_the_stack_saves_is_the_parts_that_vanish() {
    let mut record = testing::record(&[("nginx", &[1000.0, 1000.0, 1000.0])]);
    let networks = ["kernel/loopback", "user/ring"].map(|name| name.parse::<Network>().expect(name));
    let measure = Measure { networks: networks.to_vec(), ..Measure::capacity("hello", vec![64]) };
    record.experiment = Experiment::new("t", vec![measure]);
    for round in &mut record.rounds {
        let run = round.runs.remove(0);
        let on = |(place, network): (usize, Network)| {
            let cell = run.cells[0].cell.on(Some(network));
            let mut profile = Profile { cell: cell.clone(), ..half_seen(Vec::new()) };
            let receive = Frame { symbol: Some("tcp_v4_rcv".into()), module: None, kind: FrameKind::Kernel };
            profile.sampled.frames.push(receive);
            let kernels = CallStack { owner: Owner::Server, thread: 0, frames: vec![1], samples: 6 };
            let of_answers = if place == 0 { Some(kernels) } else { None };
            profile.sampled.stacks.extend(of_answers);
            profile.sampled.usage.system_ns = Nanos(60_000 * (1 - place as u64));
            let window = Measurement { cell, ..run.cells[0].clone() };
            Run { network: Some(network), cells: vec![window], profiles: vec![profile], ..run.clone() }
        };
        round.runs = networks.into_iter().enumerate().map(on).collect();
    }
    let verdict = testing::judged(&record);
    let [kernel, user] = verdict.why.as_slice() else { panic!("two cells: {:?}", verdict.why) };
    assert!(kernel.stacks.is_empty() && kernel.differences.is_empty());
    let [saved] = user.stacks.as_slice() else { panic!("one contender: {:?}", user.stacks) };
    assert_eq!((saved.base.as_str(), saved.contender.as_str(), saved.restarts), ("nginx", "nginx", 3));
    assert_eq!([saved.base_network, saved.contender_network], networks.map(Some));
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert!(close(saved.total_ns.estimate, -6_000.0), "{saved:?}");
    let parts: Vec<(Part, f64, f64)> =
        saved.parts.iter().map(|part| (part.part, part.base_ns, part.contender_ns)).collect();
    assert_eq!(parts, [(Part::Receive, 6_000.0, 0.0)]);
}
