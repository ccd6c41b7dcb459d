use assay_model::cause::{Cause, HeldUp};
use assay_model::experiment::Protocol;
use assay_model::offered::Offered;
use assay_model::profile::Waiter;
use assay_model::why::{CountDifference, Event, PartSpending};
use proptest::prelude::*;

use super::*;
use crate::why::lines;

fn around(estimate: f64, half: f64) -> Interval {
    Interval { estimate, low: estimate - half, high: estimate + half, confidence: 0.95 }
}

fn of(
    part: Part,
    base_ns: f64,
    contender_ns: f64,
    half: f64,
    because: Vec<CountDifference>,
) -> PartDifference {
    PartDifference {
        part,
        base_ns,
        contender_ns,
        difference_ns: around(contender_ns - base_ns, half),
        because,
    }
}

fn difference(parts: Vec<PartDifference>, alike_ns: f64, half: f64) -> Difference {
    let sum = |of: fn(&PartDifference) -> f64| parts.iter().map(of).sum::<f64>();
    let (base_ns, contender_ns) =
        (sum(|part| part.base_ns) + 8_000.0, sum(|part| part.contender_ns) + 8_000.0 + alike_ns);
    Difference {
        base: "nginx".to_owned(),
        contender: "node".to_owned(),
        base_network: None,
        contender_network: None,
        restarts: 5,
        base_ns,
        contender_ns,
        total_ns: around(contender_ns - base_ns, half),
        parts,
        alike: 3,
        alike_ns,
    }
}

#[test]
fn the_load_is_told_in_words() {
    let told = |offered| place(&Cell { offered, ..Cell::closed("hello", 64) });
    assert_eq!(
        [Offered::Capacity, Offered::Common, Offered::Rate(400)].map(told),
        ["", " at the common rate", " at 400/s"].map(|load| format!("hello at 64 connections{load}"))
    );
}

#[test]
fn stack_and_protocol_are_named_and_each_stack_once() {
    let network = Some("user/ring".parse().expect("a network"));
    let cell = Cell { network, protocol: Protocol::H1Tls, ..Cell::closed("hello", 64) };
    let over =
        "hello at 64 connections with the user-space stack over a shared-memory ring over TLS (h1+tls)";
    assert_eq!(place(&cell), over);
    assert_eq!(place_of_both_stacks(&cell), "hello at 64 connections over TLS (h1+tls)");
}

#[test]
fn a_difference_is_said_as_somebody_who_knows_would_say_it() {
    let wakeups = CountDifference {
        event: Event::SystemCall { name: "epoll_wait".to_owned() },
        base: 0.1,
        contender: 4.2,
    };
    let told = difference(
        vec![
            of(Part::Jit, 0.0, 6_100.0, 200.0, Vec::new()),
            of(Part::Sockets, 600.0, 2_900.0, 100.0, vec![wakeups]),
            of(Part::Copying, 900.0, 400.0, 100.0, Vec::new()),
        ],
        0.0,
        300.0,
    );
    assert_eq!(
        differs(&told, "hello at 64 connections"),
        "On hello at 64 connections, node spends 7.90 µs more CPU time on an answer than nginx [+7.60 … +8.20 µs]: \
         6.10 µs more in code that it compiled at run time, 2.30 µs more in sockets and epoll (4.20 epoll_wait instead of \
         0.10) and 0.50 µs less in copying."
    );
}

#[test]
fn what_the_stack_saves_is_said_of_each_contender_against_itself() {
    let [kernel, user] =
        ["kernel/loopback", "user/ring"].map(|network| Some(network.parse().expect(network)));
    let saved = Difference {
        contender: "nginx".to_owned(),
        base_network: kernel,
        contender_network: user,
        ..difference(vec![of(Part::Send, 4_000.0, 700.0, 100.0, Vec::new())], 0.0, 150.0)
    };
    assert_eq!(
        differs(&saved, "hello at 64 connections"),
        "On hello at 64 connections, nginx on the user-space stack spends 3.30 µs less CPU time on an answer than nginx on the kernel's \
         stack [−3.45 … −3.15 µs]: 3.30 µs less in TCP send."
    );
}

#[test]
fn equals_are_said_to_be_equal_as_far_as_is_shown() {
    let told = differs(&difference(Vec::new(), 20.0, 300.0), "hello at 64 connections");
    assert!(
        told.contains("node is not shown to spend more or less CPU time on an answer than nginx ["),
        "{told}"
    );
    assert!(told.ends_with("and no single part of it is shown to differ."), "{told}");
}

#[test]
fn one_server_alone_is_told_by_its_greatest_parts() {
    let spent = |part, ns| PartSpending { part, ns: around(ns, 10.0) };
    let spending = Spending {
        contender: "nginx".to_owned(),
        restarts: 5,
        samples: 4_000,
        cpu_ns: around(10_000.0, 50.0),
        unwatched_cpu_ns: Some(9_900.0),
        watching: None,
        price_per_million: None,
        energy: None,
        unseen_ns: 0.0,
        others_share: 0.0,
        sampled_share: 0.99,
        unnamed_share: 0.02,
        unnamed: Vec::new(),
        parts: vec![spent(Part::Send, 6_000.0), spent(Part::Receive, 3_800.0), spent(Part::Libc, 200.0)],
        counts: Vec::new(),
        run_delay_ns: None,
        waits: Vec::new(),
        held_up: Vec::new(),
        refused: Vec::new(),
    };
    assert_eq!(
        spends(&spending, "hello at 1 connection"),
        "On hello at 1 connection, nginx spends 10.0 µs of CPU time on an answer: 6.00 µs in TCP send and 3.80 µs in TCP receive."
    );
}

/// Elsewhere it may have been compared.
#[test]
fn whoever_is_not_compared_is_named_with_the_place() {
    let told = |names: &[&str]| {
        let named = |name: &&str| Spending {
            contender: (*name).to_owned(),
            ..crate::why::tests::spending(&[(Part::Send, 6_000.0)])
        };
        let why = Why {
            cell: Cell::closed("hello", 64),
            spendings: names.iter().map(named).collect(),
            differences: Vec::new(),
            stacks: Vec::new(),
            rules_version: 1,
        };
        of_cell(&why).pop().unwrap_or_default()
    };
    assert_eq!(
        told(&["nginx", "node"]),
        "On hello at 64 connections, node was profiled in too few restarts to be compared; `assay why` profiles five of each."
    );
    let several = told(&["nginx", "node", "deno"]);
    assert!(several.starts_with("On hello at 64 connections, node and deno were profiled"), "{several}");
}

#[test]
fn what_holds_a_server_up_is_said_with_its_figures_and_a_remedy() {
    let lock = Cause::Lock {
        address: Some(0x5000),
        class: None,
        function: Some("reserve".to_owned()),
        waits: Some(1.2),
        wait_ns: 900e3,
        waiter: Waiter::Thread,
        threads: 4,
    };
    let queue = Cause::RunQueue { delay_ns: 1.5e6, cpu_ns: 500e3, threads: 9, cpus: 1 };
    let collector = Cause::Collector { ns: 1.0 };
    let held = |by| HeldUp { by, share: 0.5, restarts: 5 };
    let spending = Spending {
        contender: "shop".to_owned(),
        held_up: [lock, queue, collector].map(held).into(),
        ..crate::why::tests::spending(&[])
    };
    assert_eq!(
        causes::sentences(&[spending], "hello at 8 connections"),
        [
            "On hello at 8 connections, shop is held up by a lock that `reserve` takes: 4 threads wait for it, 1.20 times and \
             0.90 ms for each answer. Hold the lock for less time, or divide what it guards.",
            "Behind that, shop is held up by the queue for its CPUs: for each answer its threads run for 0.50 ms and wait to run \
             for 1.50 ms, 9 threads on 1 CPU. Run no more threads than there are CPUs, or give it more CPUs."
        ]
    );
}

proptest! {
    /// Each part that a sentence names stands in the table with the same figure and in the same direction, and the sentence names
    /// the greatest of them.
    #[test]
    fn a_sentence_never_contradicts_the_table(
        sizes in prop::collection::vec((0.0..50_000.0_f64, 0.0..50_000.0_f64), 1..8),
        half in 1.0..100.0_f64,
        alike in -500.0..500.0_f64,
    ) {
        const PARTS: [Part; 8] = [
            Part::Receive, Part::Send, Part::Scheduling, Part::Sockets, Part::Copying, Part::Tls, Part::Collector, Part::Files,
        ];
        let mut parts: Vec<PartDifference> = sizes
            .iter()
            .zip(PARTS)
            .filter(|((base, contender), _)| (base - contender).abs() > half)
            .map(|((base, contender), part)| of(part, *base, *contender, half, Vec::new()))
            .collect();
        parts.sort_by(|a, b| b.difference_ns.estimate.abs().total_cmp(&a.difference_ns.estimate.abs()));
        let told = difference(parts, alike, half);
        let sentence = differs(&told, "hello at 64 connections");
        for (line, part) in lines(&told).iter().zip(&told.parts).take(MOST_PARTS) {
            let size = line.difference.trim_start_matches(['+', '−']);
            let way = if line.difference.starts_with('−') { "less" } else { "more" };
            let said = format!("{size} {way} in {}", part_name(part.part));
            prop_assert!(sentence.contains(&said) || sentence.contains(&format!("{size} {way} in scheduling")), "{said}: {sentence}");
        }
        let together = lines(&told).pop().expect("the total");
        let is_more = together.difference.starts_with('+');
        if sentence.contains("spends") && !sentence.contains("not shown to spend") {
            let way = if is_more { "more CPU time" } else { "less CPU time" };
            prop_assert!(sentence.contains(way), "{}: {sentence}", together.difference);
        }
    }
}

#[test]
fn locks_inside_runtimes_are_told_with_all_that_is_known_of_them() {
    let told = |class: Option<&str>, function: Option<&str>, waiter| {
        let by = Cause::Lock {
            address: Some(0xc000),
            class: class.map(str::to_owned),
            function: function.map(str::to_owned),
            waits: None,
            wait_ns: 900e3,
            waiter,
            threads: 4,
        };
        let held_up = vec![HeldUp { by, share: 0.5, restarts: 5 }];
        let spending = Spending { contender: "shop".to_owned(), held_up, ..crate::why::tests::spending(&[]) };
        let sentence = causes::sentences(&[spending], "hello").pop().expect("a sentence");
        let (_, told) = sentence.split_once("held up by ").expect("what holds it up");
        told.split(". ").next().unwrap_or_default().to_owned()
    };
    let wait = "wait for it, 0.90 ms for each answer";
    assert_eq!(
        told(None, Some("main.reserve"), Waiter::Goroutine),
        format!("a lock that `main.reserve` takes: 4 goroutines {wait}")
    );
    let class = Some("a.Lock");
    assert_eq!(told(class, None, Waiter::Thread), format!("the lock `a.Lock` at 0xc000: 4 threads {wait}"));
    assert_eq!(
        told(class, Some("Shop.reserve"), Waiter::Thread),
        format!("a lock that `Shop.reserve` takes, `a.Lock` at 0xc000: 4 threads {wait}")
    );
}
