//! What can be told only while no other test has the CPUs: rates, restarts that vary more than others do, and who is told apart.

use std::collections::BTreeSet;

use assay_model::record::{Measurement, Record, Run, State, Turn};
use assay_model::units::Nanos;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use super::{RATES, groups, lab, measured, one_by_one};
use crate::support::{Lab, free_of_disturbance, server_runs};

/// How far a rate may be off. The queue of 24 requests hides stalls of 90 ms.
const TOLERANCE: f64 = 0.15;

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

/// Right answers in all windows of a contender, over their length.
fn rate(record: &Record, contender: &str) -> f64 {
    let runs = record.rounds.iter().flat_map(|round| &round.runs).filter(|run| run.contender == contender);
    let windows: Vec<&Measurement> = runs.flat_map(|run| &run.cells).collect();
    let ok: u64 = windows.iter().map(|window| window.load.window.ok).sum();
    ok as f64 / windows.iter().map(|window| window.load.window_ns.as_secs_f64()).sum::<f64>()
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
        // One that was disturbed was repeated; and of one that serves at random it may look as if its restarts varied.
        let own = record.rounds[round].runs.iter().filter(|run| run.contender == name);
        let turns = own.flat_map(|run| &run.cells).flat_map(|window| &window.turns);
        turns.map(|turn| turn.rotation).collect::<BTreeSet<u32>>().len()
    };
    assert!(turns(&record, 0, "far") == turns(&record, 0, "quick"), "nothing is known of anybody");
    let last = turns(&record, 2, "quick");
    assert_eq!(turns(&record, 2, "equal"), last, "these two are open");
    assert_eq!(turns(&record, 2, "far"), last.div_ceil(2), "one in every second rotation");
}

/// Every second life of one takes half as long again for an answer.
#[test]
fn whose_restarts_vary_much_has_several_processes_that_take_turns() {
    let lab = lab();
    lab.stub("calm", "server", &one_by_one("5ms"));
    let count = lab.path("lives");
    let script = format!(
        "echo >> '{0}'; if [ $(($(wc -l < '{0}') % 2)) = 0 ]; then service=6ms; else service=4ms; fi
        exec \"$ASSAY\" stub --address \"$ADDRESS\" --port \"$PORT\" --discipline fifo --service $service",
        count.display()
    );
    lab.script("restless", &script);
    let all = ["quick", "calm", "restless"];
    let asked = ["-c", "8", "--rounds", "3", "--budget", "24s", "--warmup", "250ms"];
    lab.run(&[&all[..], &asked].concat()).assert().code(0).stdout(contains("restarts varied much"));
    let record = lab.record();
    let lived = |round: usize, name: &str| -> Vec<&Run> {
        record.rounds[round].runs.iter().filter(|run| run.contender == name).collect()
    };
    assert_eq!(record.rounds.len(), 3);
    let once = |round: usize| all.iter().all(|name| lived(round, name).len() == 1);
    assert!((0..2).all(once), "nothing is known of restarts");
    let processes = lived(2, "restless");
    // As many as take a tenth of the round to begin.
    let number = u32::try_from(processes.len()).expect("a few");
    assert!((2..=3).contains(&number) && processes.iter().map(|run| run.replica).eq(0..number), "{number}");
    for run in processes {
        let mut turns = run.cells.iter().flat_map(|window| &window.turns);
        assert!(turns.all(|turn| turn.rotation % number == run.replica), "{}: {:?}", run.replica, run.cells);
    }
    assert_eq!(std::fs::read_to_string(&count).expect("lives").lines().count(), 2 + number as usize);
}
