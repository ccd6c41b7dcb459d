//! Servers whose rates are known, compared in turns and one at a time: both designs must tell the truth.

mod quiet;

use std::collections::BTreeSet;
use std::net::TcpListener;

use assay_model::load::LoadTurn;
use assay_model::record::{Record, Round, Run, Turn};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Lab, server_runs, windows};

/// Rates of the programmed servers, in answers per second: each serves one request after the other.
const RATES: [(&str, &str, f64); 2] = [("quick", "4ms", 250.0), ("slow", "6ms", 500.0 / 3.0)];

fn lab() -> Lab {
    let lab = Lab::new();
    for (name, service, _) in RATES {
        lab.stub(name, "server", &one_by_one(service));
    }
    lab
}

/// Serves one request after the other.
fn one_by_one(service: &str) -> [&str; 4] {
    ["--discipline", "fifo", "--service", service]
}

fn measured(more: &[&str]) -> Record {
    let lab = lab();
    let asked = ["quick", "slow", "-c", "24", "-d", "600ms", "--rounds", "3"];
    // Whether a disturbed window counts is another matter: every rate is looked at.
    lab.run(&[&asked, more].concat()).assert().code(0);
    lab.record()
}

/// With 24 requests waiting one by one an answer takes 96 ms or more. When a slice of a warm-up ends, 24 are under way, and their answers
/// are none of it: they would be two fifths more.
#[test]
fn slow_answers_make_turns_longer_and_fewer_and_count_in_no_slice_that_is_over() {
    let record = measured(&["--warmup", "1s"]);
    for run in server_runs(&record) {
        let told = |turn: &Turn| (turn.rotation, (turn.load.window_ns.as_secs_f64() * 1e3).round());
        // A turn that other tests disturbed was repeated.
        let mut turns: Vec<(u32, f64)> = run.cells[0].turns.iter().map(told).collect();
        turns.dedup();
        assert_eq!(turns, [(0, 200.0), (1, 200.0), (2, 200.0)], "{}", run.contender);
        let (_, _, rate) = RATES.iter().find(|(name, ..)| run.contender == *name).expect("one of them");
        let mut slices = run.warmups.iter().flat_map(|warmup| &warmup.per_second);
        assert!(slices.all(|told| *told < 1.2 * rate), "{}: {:?}", run.contender, run.warmups);
    }
    assert!(server_runs(&record).iter().any(|run| run.warmups.iter().any(|of| !of.per_second.is_empty())));
}

/// A life that goes on has more and more load behind it, and what needs no warming up gets none in its second life.
#[test]
fn turns_tell_how_much_load_their_server_had_behind_it() {
    let record = measured(&["--warmup", "2s"]);
    let runs = server_runs(&record);
    assert!(
        runs.iter().any(|run| !run.lead_ins.is_empty()),
        "there was load on the connections of the turns before them"
    );
    for cell in runs.iter().flat_map(|run| &run.cells) {
        // What percentiles are told of.
        let measured = |of: fn(&LoadTurn) -> u64| cell.turns.iter().map(|turn| of(&turn.load)).sum::<u64>();
        let told = (cell.load.window_ns.0, cell.load.window.ok);
        let of_turns = (measured(|turn| turn.window_ns.0), measured(|turn| turn.ok));
        assert_eq!(told, of_turns, "of its turns alone");
    }
    for run in &runs {
        let ages: Vec<u64> = run.cells[0].turns.iter().map(|turn| turn.loaded_ns.0).collect();
        assert!(ages.len() > 2 && ages.windows(2).all(|pair| pair[0] < pair[1]), "{ages:?}");
        assert_eq!(run.cells[0].loaded_ns.0, ages[0]);
    }
    let slices = |round: usize| -> usize {
        record.rounds[round]
            .runs
            .iter()
            .flat_map(|run| &run.warmups)
            .map(|warmup| warmup.per_second.len())
            .sum()
    };
    assert!(slices(0) >= 12 && slices(1) < slices(0), "{} and {}", slices(0), slices(1));
}

/// A lead-in ends where the first turn begins: between two servers' first turns lies the lead-in of the second.
#[test]
fn nobody_rests_between_its_lead_in_and_its_first_turn() {
    let lab = lab();
    for name in ["one", "other"] {
        lab.stub(name, "server", &[&one_by_one("4ms")[..], &["--warming", "4x/1s"]].concat());
    }
    let asked = ["one", "other", "-c", "2", "-d", "600ms", "--rounds", "1", "--warmup", "2s"];
    lab.run(&asked).assert().code(0);
    let record = lab.record();
    let mut runs = server_runs(&record);
    runs.sort_by_key(|run| run.cells[0].turns[0].offset_ns);
    let [earlier, later] = runs[..] else { panic!("two servers") };
    let slices: usize = later.lead_ins.iter().map(|lead_in| lead_in.per_second.len()).sum();
    assert!(slices >= 4, "it was looked at after a rest: {:?}", later.lead_ins);
    let [before, after] = [earlier, later].map(|run| &run.cells[0].turns[0]);
    let between_s = (after.offset_ns.0 - before.offset_ns.0) as f64 / 1e9;
    let led_in_s = slices as f64 * 0.25;
    assert!(between_s > before.load.window_ns.as_secs_f64() + led_in_s, "{between_s} s, {led_in_s} s led in");
}

/// What a later life needs to get warm it is given over the connections of its turns, just before them: whoever waits for
/// others in between may be cold again.
#[test]
fn later_lives_are_warmed_up_just_before_their_turns() {
    let lab = lab();
    lab.stub("warming", "server", &[&one_by_one("4ms")[..], &["--warming", "4x/1s"]].concat());
    let asked = ["quick", "warming", "-c", "2", "-d", "600ms", "--rounds", "2", "--warmup", "2s"];
    lab.run(&asked).assert().code(0);
    let record = lab.record();
    let before_turns = |round: usize, contender: &str| {
        let run = record.rounds[round].runs.iter().find(|run| run.contender == contender).expect("lived");
        let window = &run.cells[0];
        let in_turns: u64 = window.turns.iter().map(|turn| turn.load.answered).sum();
        let warmups: usize = run.warmups.iter().map(|warmup| warmup.per_second.len()).sum();
        (window.load.books.ok - in_turns, warmups)
    };
    assert!(before_turns(0, "warming").0 > 0, "it rested while the other was warmed up");
    let first = record.rounds[0].runs.iter().find(|run| run.contender == "warming").expect("lived");
    let looks: Vec<usize> = first.lead_ins.iter().map(|lead_in| lead_in.per_second.len()).collect();
    assert!(
        matches!(looks[..], [4..=8]),
        "half a second beyond its first warm-up shows how long it takes after a rest: {looks:?}"
    );
    for run in &record.rounds[0].runs {
        let (answers, slices) = before_turns(1, &run.contender);
        let gain = gain_in_warmup(run);
        assert!(gain < 1.15 || slices > 0, "no slices after {:?}", run.warmups);
        // Whoever was warm at once has its connections made, and no more.
        assert!(
            gain > 1.0 || !run.warmups[0].settled || slices == 1,
            "{slices} slices after {:?}",
            run.warmups
        );
        assert_eq!(answers > 0, slices > 0, "{answers} answers in {slices} slices");
    }
    assert!(gain_in_warmup(first) > 1.15, "it began at a quarter of its speed: {:?}", first.warmups);
}

/// An A/A control starts after its original, and is warmed up as a later life of it: just before its turns, and without anything counted.
#[test]
fn a_control_goes_by_what_its_original_has_just_needed() {
    let lab = lab();
    let asked = ["-c", "2", "-d", "300ms", "--rounds", "1", "--warmup", "2s", "--no-check"];
    lab.assay(&[&["run", "quick", "slow"][..], &asked].concat()).assert().code(0);
    let record = lab.record();
    let control = record.contenders.iter().find(|entry| entry.control_of.is_some()).expect("a control");
    let life = |name: &str| record.rounds[0].runs.iter().find(|run| run.contender == name).expect("lived");
    let (original, control) = (life(control.original()), life(&control.identity.name));
    assert!(original.offset_ns < control.offset_ns, "{:?} {:?}", original.offset_ns, control.offset_ns);
    assert!(original.warmups[0].counted.is_some(), "{:?}", original.warmups);
    assert!(control.warmups.iter().all(|warmup| warmup.counted.is_none()), "{:?}", control.warmups);
    // A turn that other tests disturbed was repeated.
    let rotations =
        |run: &Run| -> BTreeSet<u32> { run.cells[0].turns.iter().map(|turn| turn.rotation).collect() };
    assert_eq!((rotations(original), rotations(control)), ([0, 1].into(), [0, 1].into()));
}

/// By how much a life's load ended faster than it began, as a busy machine makes it for any server.
fn gain_in_warmup(run: &Run) -> f64 {
    let rates = &run.warmups[0].per_second;
    let began: f64 = rates[..2].iter().sum();
    let ended: f64 = rates[rates.len() - 2..].iter().sum();
    ended / began
}

/// The contenders that lived in each group of each round.
fn groups(record: &Record) -> Vec<Vec<Vec<&str>>> {
    record.rounds.iter().map(groups_of).collect()
}

fn groups_of(round: &Round) -> Vec<Vec<&str>> {
    let last = round.runs.iter().map(|run| run.group).max().unwrap_or(0);
    let of_group = |group: u32| {
        let runs = round.runs.iter().filter(|run| run.group == group);
        let mut names: Vec<&str> = runs.map(|run| run.contender.as_str()).collect();
        names.sort_unstable();
        names
    };
    (0..=last).map(of_group).collect()
}

#[test]
fn commands_that_insist_on_the_same_port_live_in_groups() {
    let lab = lab();
    lab.stub("common", "limit", &one_by_one("3ms"));
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let port = free.port().to_string();
    let command =
        |service: &str| format!("\"$ASSAY\" stub --port $PORT --discipline fifo --service {service}");
    let (first, second) = (command("4ms"), command("6ms"));
    let commands = ["--cmd", &first, "--cmd", &second, "--port", &port, "--port", &port];
    let asked = ["common", "-w", "hello", "-c", "24", "-d", "600ms", "--rounds", "2"];
    let all = [&asked[..], &commands[..]].concat();
    lab.run(&[&all[..], &["--dry-run"]].concat())
        .assert()
        .code(0)
        .stdout(contains("2 groups, common in each of them"));
    let told = lab.run(&all).env("ASSAY_LOG", "groups").assert().code(0);
    let first = contains("groups: not all live at once: group 1 of round 1 is ");
    told.stderr(first.and(contains("group 2 of round 2 is ")));
    let record = lab.record();
    assert!(groups(&record).iter().all(|round| round.len() == 2), "{:?}", groups(&record));
    assert!(windows(&record).iter().all(|window| window.turns.len() > 1), "in turns");
}
