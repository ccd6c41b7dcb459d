//! Servers that change with age, told through the whole binary: one that speeds up for ten seconds, one that stands still now
//! and then.

use assay_model::evidence::Evidence;
use assay_model::rule::Rule;
use assay_model::verdict::Verdict;

use crate::support::Lab;

/// Each serves one request after the other, 500 per second. Most are steady, as in any run: a change is told where it is one
/// beside the middle of the others, and pauses alone would make that of one pausing server a matter of luck.
const SERVERS: [(&str, &[&str]); 4] = [
    ("warming", &["--warming", "4x/10s"]),
    // A quarter of a second in each second and a quarter: one turn in four meets it.
    ("collecting", &["--stall", "250ms/1250ms"]),
    ("steady", &[]),
    ("steady-too", &[]),
];

fn lab() -> Lab {
    let lab = Lab::new();
    for (name, more) in SERVERS {
        lab.stub(name, "server", &[&["--discipline", "fifo", "--service", "2ms"], more].concat());
    }
    lab
}

/// What a rule found of each contender that it objects to.
fn objections(verdict: &Verdict, rule: Rule) -> Vec<(&str, &Evidence)> {
    let mut found = Vec::new();
    for standing in verdict.cells.iter().flat_map(|cell| &cell.standings) {
        let check = standing.checks.iter().find(|check| check.rule == rule);
        found.extend(check.map(|check| (standing.contender.as_str(), &check.evidence)));
    }
    found
}

/// What can be told only while no other test has the CPUs: rates that change slowly, and pauses.
mod quiet {
    use assay_model::record::Turn;

    use super::*;
    use crate::support::free_of_disturbance;

    #[test]
    fn a_server_that_speeds_up_and_one_that_stands_still_are_told() {
        let lab = lab();
        let names = SERVERS.map(|(name, _)| name);
        let asked = ["-c", "2", "-d", "2s", "--rounds", "4", "--warmup", "500ms"];
        lab.run(&[&names[..], &asked[..]].concat()).assert().code(0);
        let mut record = lab.record();
        free_of_disturbance(&mut record);
        let text = serde_json::to_string(&record).expect("record");
        std::fs::write(lab.run_folder().join("record.json"), text).expect("record");
        let runs: Vec<_> = record.rounds.iter().flat_map(|round| &round.runs).collect();
        let turns = |name: &str| -> Vec<&Turn> {
            runs.iter().filter(|run| run.contender == name).flat_map(|run| &run.cells[0].turns).collect()
        };
        assert!(turns("warming").len() > 40);

        let verdict = assay_verdict::judge(&record).expect("readable");
        let slow = objections(&verdict, Rule::SlowModes);
        assert!(!slow.iter().any(|(name, _)| name.starts_with("steady")), "{slow:?}");
        let warming = slow.iter().find(|(name, _)| *name == "warming");
        let Some((_, Evidence::SlowMode { change_share, from_ns, to_ns, .. })) = warming else {
            panic!("{slow:?}")
        };
        // From a quarter of its rate on by 1 − 0.75 e^(−t / 10 s).
        let rate = |age_s: f64| 1.0 - 0.75 * (-age_s / 10.0).exp();
        let truth = rate(to_ns.as_secs_f64()) / rate(from_ns.as_secs_f64()) - 1.0;
        assert!((change_share / truth - 1.0).abs() < 0.5, "{change_share} instead of {truth}");

        let pauses = objections(&verdict, Rule::Pauses);
        let [(name, Evidence::Pauses { pauses, .. })] = pauses.as_slice() else { panic!("{pauses:?}") };
        assert!(*name == "collecting" && *pauses >= 3, "{name}: {pauses}");

        let shown = lab.assay(&["show", "last", "-v"]).assert().code(0);
        let told = String::from_utf8_lossy(&shown.get_output().stdout).replace("\n          ", " ");
        for words in
            ["it gets faster with age", "give it longer with --warmup", "it stood still", "under load"]
        {
            assert!(told.contains(words), "{words}: {told}");
        }
    }
}
