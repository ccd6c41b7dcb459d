//! An experiment that repeats others' work: numbers of requests instead of times, `--full`, their figures beside ours.

use assay_model::offered::Offered;
use predicates::str::contains;

use crate::support::{Lab, stdout, windows};

const EXPERIMENT: &str = r#"name = "repeat"
contenders = ["first", "second"]
rounds = 3
aa = false
warmup_s = 0.05
window_s = 0.05
settle_s = 0.0
trimmed_mean = true
answered_within_ms = [0.000001, 10000]

[[measure]]
workload = "hello"
connections = [2]
rates = ["max", "30 requests"]

[full]
window_requests = 40

[published]
source = "A talk"
quantity = "requests per second"
cpus = { count = 4, unit = "cores" }
columns = ["2", "64"]

[[published.row]]
title = "First of old"
contender = "first"
values = [100, 200]

[[published.row]]
title = "Nobody"
values = [50, 50]
"#;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.good("first");
    lab.good("second");
    lab.write("experiments/repeat.toml", EXPERIMENT);
    lab
}

#[test]
fn a_dry_run_says_how_long_windows_are_and_what_bounds_them() {
    let lab = lab();
    let said = |arguments: &[&str]| {
        let all = [&["run", "-e", "repeat", "--dry-run", "--rounds", "2"], arguments].concat();
        stdout(&lab.assay(&all).assert().code(0))
    };
    assert!(said(&[]).contains("windows     0.05 s, 30 requests\n"), "{}", said(&[]));
    assert!(said(&["--full"]).contains("windows     40 requests, 30 requests\n"));
    assert!(
        said(&["--full", "-d", "1s"]).contains("windows     1 s in turns of 0.15 s, 30 requests\n"),
        "a time that is asked for wins"
    );
    let refused = lab.assay(&["run", "-e", "repeat", "--dry-run", "--budget", "1s"]).assert().code(2);
    refused.stderr(contains("--budget 1 s: 2 rounds of ")).stderr(contains("at least; allow that, or"));
    lab.write(
        "experiments/plain.toml",
        &EXPERIMENT.replace("repeat", "plain").replace("[full]\nwindow_requests = 40\n", ""),
    );
    let plain = lab.assay(&["run", "-e", "plain", "--full", "--dry-run"]).assert();
    plain.code(2).stderr(contains("names no full form"));
}

#[test]
fn windows_end_with_their_requests_and_both_tables_are_shown() {
    let lab = lab();
    let shown =
        lab.assay(&["run", "--no-check", "-e", "repeat", "--full", "-o", "a.md", "-o", "a.csv"]).assert();
    let shown = stdout(&shown.code(0));
    let record = lab.record();
    assert!(record.experiment.full.is_none() && record.experiment.window_requests == Some(40));
    for window in windows(&record) {
        let wanted = if window.cell.offered == Offered::Requests(30) { 30 } else { 40 };
        assert_eq!((window.load.window.ok, window.load.books.issued), (wanted, wanted), "{:?}", window.cell);
    }
    let markdown = std::fs::read_to_string(lab.path("a.md")).expect("written");
    for words in ["share of 30 requests answered within", "First of old", "no contender here", "Theirs"] {
        assert!(shown.contains(words) && markdown.contains(words), "{words}:\n{shown}\n{markdown}");
    }
    let csv = std::fs::read_to_string(lab.path("a.csv")).expect("written");
    let of_first = |line: &&str| line.contains(",first,") && line.contains(",max,");
    let column = csv.split(',').position(|heading| heading == "published_per_second").expect("a column");
    let figures: Vec<&str> =
        csv.lines().filter(of_first).filter_map(|line| line.split(',').nth(column)).collect();
    assert_eq!(figures, ["100"; 3]);
}
