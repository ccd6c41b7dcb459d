//! Servers whose rates are known, compared in turns and one at a time: both designs must tell the truth.

mod quiet;

use std::collections::BTreeSet;
use std::net::TcpListener;

use assay_model::record::{Measurement, Record, Round, Run, State, Turn};
use assay_model::units::Nanos;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Lab, free_of_disturbance, server_runs, windows};

/// Rates of the programmed servers, in answers per second: each serves one request after the other.
const RATES: [(&str, &str, f64); 2] = [("quick", "4ms", 250.0), ("slow", "6ms", 500.0 / 3.0)];
/// How far a rate may be off on a machine that is busy with other tests. The queue of 24 requests hides stalls of 90 ms.
const TOLERANCE: f64 = 0.15;

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

/// Right answers in all windows of a contender, over their length.
fn rate(record: &Record, contender: &str) -> f64 {
    let runs = record.rounds.iter().flat_map(|round| &round.runs).filter(|run| run.contender == contender);
    let windows: Vec<&Measurement> = runs.flat_map(|run| &run.cells).collect();
    let ok: u64 = windows.iter().map(|window| window.load.window.ok).sum();
    ok as f64 / windows.iter().map(|window| window.load.window_ns.as_secs_f64()).sum::<f64>()
}

#[test]
fn both_designs_tell_the_rates_that_were_programmed() {
    let (turns, alone) = (measured(&[]), measured(&["--one-at-a-time"]));
    let is_turned = |record: &Record| !record.rounds[0].runs[0].cells[0].turns.is_empty();
    assert!(is_turned(&turns) && !is_turned(&alone));
    let mut all_turns = server_runs(&turns).into_iter().flat_map(|run| &run.cells[0].turns);
    let is_gauged = |turn: &Turn| turn.gauged.as_ref().is_some_and(|gauged| gauged.used_ns > Nanos::ZERO);
    assert!(all_turns.all(|turn| turn.taken.is_some() && is_gauged(turn)), "each tells what others took");
    for (design, record) in [("in turns", &turns), ("one at a time", &alone)] {
        for (name, _, truth) in RATES {
            let told = rate(record, name);
            assert!((told / truth - 1.0).abs() < TOLERANCE, "{name} {design}: {told} instead of {truth}");
        }
    }
}

/// With 24 requests waiting one by one an answer takes 96 ms or more.
#[test]
fn slow_answers_make_turns_longer_and_fewer() {
    let record = measured(&["--warmup", "1s"]);
    for run in server_runs(&record) {
        let told = |turn: &Turn| (turn.rotation, (turn.load.window_ns.as_secs_f64() * 1e3).round());
        // A turn that other tests disturbed was repeated.
        let mut turns: Vec<(u32, f64)> = run.cells[0].turns.iter().map(told).collect();
        turns.dedup();
        assert_eq!(turns, [(0, 200.0), (1, 200.0), (2, 200.0)], "{}", run.contender);
    }
}

/// A life that goes on has more and more load behind it, and what needs no warming up gets none in its second life.
#[test]
fn turns_tell_how_much_load_their_server_had_behind_it() {
    let record = measured(&["--warmup", "2s"]);
    let runs = server_runs(&record);
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
        assert!(
            gain > 1.0 || !run.warmups[0].settled || slices == 0,
            "{slices} slices after {:?}",
            run.warmups
        );
        assert_eq!(answers > 0, slices > 0, "{answers} answers in {slices} slices");
    }
    assert!(gain_in_warmup(first) > 1.15, "it began at a quarter of its speed: {:?}", first.warmups);
}

/// By how much a life's load ended faster than it began, as a busy machine makes it for any server.
fn gain_in_warmup(run: &Run) -> f64 {
    let rates = &run.warmups[0].per_second;
    let began: f64 = rates[..2].iter().sum();
    let ended: f64 = rates[rates.len() - 2..].iter().sum();
    ended / began
}

/// Programmed servers that cannot live at once; `limit` is a third, in every group of them.
fn in_groups(more: &[&str]) -> (Lab, Record) {
    let lab = lab();
    lab.stub("common", "limit", &one_by_one("3ms"));
    let asked = ["quick", "slow", "common", "-c", "24", "-d", "600ms", "--rounds", "3"];
    let told = lab.run(&[&asked, more].concat()).assert().code(0);
    told.stderr(contains("rounds are split into groups that share common").count(1));
    let record = lab.record();
    (lab, record)
}

/// Who lived in each group of each round.
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

/// A megabyte holds no two of them, which shows when the first has begun.
#[test]
fn servers_for_which_there_is_no_memory_at_once_live_in_groups_and_are_compared_by_the_common_one() {
    let (_lab, mut record) = in_groups(&["--memory", "1MiB"]);
    for round in groups(&record) {
        assert_eq!(round.len(), 2, "{round:?}");
        assert!(round.iter().all(|group| group.len() == 2 && group.contains(&"common")), "{round:?}");
    }
    assert_eq!(record.experiment.memory_bytes, Some(1 << 20));
    for (name, _, truth) in RATES {
        let told = rate(&record, name);
        assert!((told / truth - 1.0).abs() < TOLERANCE, "{name}: {told} instead of {truth}");
    }
    free_of_disturbance(&mut record);
    let verdict = assay_verdict::judge(&record).expect("readable");
    let pairs = &verdict.cells[0].pairs;
    let [pair] = pairs.as_slice() else { panic!("{pairs:?}") };
    assert_eq!((pair.faster.as_str(), pair.slower.as_str()), ("quick", "slow"));
    assert!((pair.ratio.estimate / 1.5 - 1.0).abs() < 0.2, "{pair:?}");
    let shares = verdict.cells[0].standings.iter().filter(|standing| standing.share_of_limit.is_some());
    assert_eq!(shares.count(), 2, "each beside the limit of its own group");
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

/// Two that are equal on average, of which one serves at random so that nothing is shown of them, and one that is twenty times as slow.
#[test]
fn who_is_told_apart_from_everybody_has_every_second_turn() {
    let lab = lab();
    lab.stub("equal", "server", &one_by_one("exp:4ms"));
    lab.stub("far", "server", &one_by_one("80ms"));
    let asked = ["quick", "equal", "far", "-c", "8", "--rounds", "3", "--budget", "24s", "--warmup", "250ms"];
    let told = lab.run(&asked).env("ASSAY_LOG", "turns").assert().code(0);
    let why = contains("turns: the budget of ").and(contains(" further rounds of "));
    told.stderr(contains("round 3 of 3 saved").and(why));
    let record = lab.record();
    assert_eq!((record.state, record.experiment.least_rounds), (State::Complete, Some(3)));
    let turns = |record: &Record, round: usize, name: &str| -> usize {
        // One that other tests disturbed was repeated; and of one that serves at random it may look as if its restarts varied.
        let own = record.rounds[round].runs.iter().filter(|run| run.contender == name);
        let turns = own.flat_map(|run| &run.cells).flat_map(|window| &window.turns);
        turns.map(|turn| turn.rotation).collect::<BTreeSet<u32>>().len()
    };
    assert!(turns(&record, 0, "far") == turns(&record, 0, "quick"), "nothing is known of anybody");
    let last = turns(&record, 2, "quick");
    assert_eq!(turns(&record, 2, "equal"), last, "these two are open");
    let was_disturbed = |window: &Measurement| !window.void_rules().is_empty();
    let before = record.rounds[..2].iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    if turns(&record, 2, "far") == last && before.into_iter().any(was_disturbed) {
        return assay_skip::skip("quiet", "other programs took the CPUs: nobody could be told apart");
    }
    assert_eq!(turns(&record, 2, "far"), last.div_ceil(2), "one in every second rotation");
}
