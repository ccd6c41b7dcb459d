//! Servers whose rates are known, compared in turns and one at a time: both designs must tell the truth.

use assay_model::record::{Measurement, Record};

use crate::support::Lab;

/// Rates of the programmed servers, in answers per second: each serves one request after the other.
const RATES: [(&str, &str, f64); 2] = [("quick", "4ms", 250.0), ("slow", "6ms", 500.0 / 3.0)];
/// How far a rate may be off on a machine that is busy with other tests. The queue of 24 requests hides stalls of 90 ms.
const TOLERANCE: f64 = 0.15;

fn lab() -> Lab {
    let lab = Lab::new();
    let programmed = "name = \"hello\"\nabout = \"\"\n[[request]]\npath = \"/\"\n\
                      expect = { status = 200, body = \"as programmed\" }\n";
    lab.write("workloads/hello.toml", programmed);
    for (name, service, _) in RATES {
        let run = format!(
            "[run]\ncommand = [\"${{ASSAY}}\", \"stub\", \"--address\", \"${{ADDRESS}}\", \"--port\", \"${{PORT}}\", \
             \"--cpus\", \"${{CPUS}}\", \"--discipline\", \"fifo\", \"--service\", \"{service}\"]"
        );
        lab.contender(name, "server", &run);
    }
    lab
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
    for (design, record) in [("in turns", &turns), ("one at a time", &alone)] {
        for (name, _, truth) in RATES {
            let told = rate(record, name);
            assert!((told / truth - 1.0).abs() < TOLERANCE, "{name} {design}: {told} instead of {truth}");
        }
    }
}

/// A life that goes on has more and more load behind it, and what needs no warming up gets none in its second life.
#[test]
fn turns_tell_how_much_load_their_server_had_behind_it() {
    let record = measured(&["--warmup", "2s"]);
    let runs: Vec<_> = record.rounds.iter().flat_map(|round| &round.runs).collect();
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
