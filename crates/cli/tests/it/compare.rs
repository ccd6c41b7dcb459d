//! `assay compare`: of runs that were measured, made up from a real record, and of commands measured on the spot.

use std::sync::LazyLock;

use assay_model::comparison::{Change, Comparison, Metric, Pairing, Shift};
use assay_model::design::{Because, Design};
use assay_model::record::{Machine, Record, Run, State};
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, QUICK, free_of_disturbance, listing, stderr, stdout};

/// What restarts differ by, from round to round and for each contender differently.
const NOISE: [[f64; 6]; 2] =
    [[1.002, 0.998, 1.001, 0.997, 1.003, 0.999], [0.999, 1.003, 0.997, 1.002, 0.998, 1.001]];

/// The record of a real run of two contenders, which serves all tests as the pattern of others.
fn pattern() -> &'static Record {
    static PATTERN: LazyLock<Record> = LazyLock::new(|| {
        let lab = Lab::new();
        lab.calm("old");
        lab.calm("new");
        lab.run(&["old", "new"]).assert().code(0);
        lab.record()
    });
    &PATTERN
}

/// Stores the pattern as a run called `id` of six undisturbed rounds, in which each contender answered so many requests.
fn store(lab: &Lab, pattern: &Record, id: &str, contenders: &[(&str, f64)], change: impl Fn(&mut Record)) {
    let mut record = Record { id: id.to_owned(), ..pattern.clone() };
    let all: Vec<Run> = pattern.rounds.iter().flat_map(|round| round.runs.clone()).collect();
    let round = |index: u32| {
        let runs = contenders.iter().zip(NOISE).map(|((name, ok), noise)| {
            let mut run = all.iter().find(|run| run.contender == *name).expect("a run").clone();
            for window in &mut run.cells {
                window.turns.clear();
                window.load.window.ok = (ok * noise[index as usize]).round() as u64;
                window.load.window_ns = Nanos::from_millis(1000);
                window.load.checks.clear();
                window.load.thread_busy_shares = vec![0.5];
                window.machine = Machine::default();
                let busy = Nanos::from_millis(950);
                window.server = Some(Usage { user_ns: busy, rss_bytes: 9 << 20, ..Usage::default() });
            }
            run
        });
        assay_model::record::Round { index, server_host: None, runs: runs.collect() }
    };
    record.rounds = (0..6).map(round).collect();
    record.experiment.rounds = 6;
    change(&mut record);
    let text = serde_json::to_string(&record).expect("json");
    lab.write(&format!("runs/{id}/record.json"), &text);
}

fn json(text: &str) -> Comparison {
    serde_json::from_str(text).expect("a comparison")
}

#[test]
fn a_regression_that_is_shown_fails_and_noise_does_not() {
    let (lab, pattern) = (Lab::new(), pattern());
    store(&lab, pattern, "30000101-one", &[("old", 100_000.0), ("new", 90_000.0)], |_| {});
    let compare = |more: &[&str]| {
        let sides = ["compare", "30000101-one:old", "30000101-one:new"];
        lab.assay(&[&sides[..], more].concat()).assert()
    };
    compare(&[]).code(0).stdout(contains("hello at 2: new against old").and(contains("worse")));
    let shown = stdout(&compare(&["--fail-on", "rps:-3%"]).code(20));
    assert!(shown.contains("regression: req/s of new") && shown.contains("beyond −3 %"), "{shown}");
    let kept = stdout(&compare(&["--fail-on", "rps:-15%,rss:+20%"]).code(0));
    assert_eq!(kept.matches("kept: ").count(), 2, "{kept}");
    let possible = stdout(&compare(&["--fail-on", "rps:-10%"]).code(0));
    assert!(possible.contains("not shown: req/s of new"), "{possible}");
    assert!(possible.contains("rounds would tell") || possible.contains("will hardly tell"), "{possible}");
}

#[test]
fn one_server_has_neither_tier_nor_letters() {
    let (lab, pattern) = (Lab::new(), pattern());
    store(&lab, pattern, "30000101-two", &[("old", 100_000.0), ("new", 90_000.0)], |_| {});
    store(&lab, pattern, "30000102-one", &[("old", 100_000.0)], |_| {});
    let shown = |run: &str| {
        let out = stdout(&lab.assay(&["show", run]).env("COLUMNS", "200").assert().code(0));
        let heads = out.lines().find(|line| line.trim_start().starts_with("req/s")).expect("a table");
        ["tier", "letters"].map(|head| heads.split_whitespace().any(|word| word == head))
    };
    assert_eq!((shown("30000101-two"), shown("30000102-one")), ([true, true], [false, false]));
}

#[test]
fn every_format_says_the_same() {
    let (lab, pattern) = (Lab::new(), pattern());
    store(&lab, pattern, "30000101-one", &[("old", 100_000.0), ("new", 90_000.0)], |_| {});
    let compare = |format: &str| {
        let arguments =
            ["compare", "last:old", "last", "--fail-on", "rps:-3%", "--format", format, "-o", "also.xml"];
        stdout(&lab.assay(&arguments).assert().code(20))
    };
    let comparison = json(&compare("json"));
    assert_eq!((comparison.pairing, comparison.rows.len()), (Pairing::Rounds, 1));
    let change = &comparison.rows[0].changes[0];
    assert_eq!((change.metric, change.call, change.rounds), (Metric::Rps, Shift::Worse, 6));
    let markdown = compare("md");
    assert!(
        markdown.contains("❌ **regression**") && markdown.contains("| req/s | 100k | 90.0k |"),
        "{markdown}"
    );
    let junit = compare("junit");
    assert!(junit.contains("<failure message=") && junit.contains("rps:-3%"), "{junit}");
    assert_eq!(std::fs::read_to_string(lab.path("also.xml")).expect("file"), junit);
    let ascii = lab.assay(&["compare", "last:old", "last:new", "--ascii"]).assert().code(0);
    assert!(stdout(&ascii).is_ascii());
}

#[test]
fn runs_of_different_times_and_machines_are_compared_with_a_warning() {
    let (lab, pattern) = (Lab::new(), pattern());
    let both = [("old", 100_000.0), ("new", 90_000.0)];
    store(&lab, pattern, "30000101-one", &both, |_| {});
    store(&lab, pattern, "30000102-two", &both, |record| {
        record.host.cpu_model = Some("Another CPU".to_owned());
        record.host.kernel = Some("99.0".to_owned());
    });
    let out = stdout(&lab.assay(&["compare", "last~1", "last", "--fail-on", "rps:-3%"]).assert().code(0));
    for words in [
        "30000102-two:old against 30000101-one:old",
        "~",
        "different runs",
        "--cmd",
        "NOT COMPARABLE: they ran on different machines",
        "Another CPU",
        "kernel",
    ] {
        assert!(out.contains(words), "{words}:\n{out}");
    }
    let path = lab.runs().join("30000101-one/record.json");
    let paths = [path.to_str().expect("path"), "last"];
    let comparison =
        json(&stdout(&lab.assay(&[&["compare", "-f", "json"], &paths[..]].concat()).assert().code(0)));
    assert_eq!((comparison.pairing, comparison.rows.len()), (Pairing::Runs, 2));
}

#[test]
fn what_is_withheld_in_a_run_is_withheld_here() {
    let (lab, pattern) = (Lab::new(), pattern());
    store(&lab, pattern, "30000101-one", &[("old", 100_000.0), ("new", 50_000.0)], |record| {
        let new = record.rounds.iter_mut().flat_map(|round| &mut round.runs).filter(|r| r.contender == "new");
        new.for_each(|run| run.cells[0].machine.steal_share = 0.9);
    });
    let arguments = ["compare", "last:old", "last:new", "--fail-on", "rps:-3%"];
    let out = stdout(&lab.assay(&arguments).assert().code(0));
    assert!(out.contains("withheld: new: ") && out.contains("not judged: "), "{out}");
    lab.assay(&[&arguments[..], &["--strict"]].concat()).assert().code(12);
}

#[test]
fn bad_comparisons_say_what_is_wrong() {
    let (lab, pattern) = (Lab::new(), pattern());
    store(&lab, pattern, "30000101-one", &[("old", 100_000.0), ("new", 90_000.0)], |_| {});
    for (arguments, words) in [
        (&["last"][..], "RUN"),
        (&["last", "last"], "say who is compared with whom, as 30000101-one:CONTENDER"),
        (&["last:old", "last:odd"], "no contender `odd`; it measured"),
        (&["last:old", "yesterday"], "no run `yesterday`"),
        (&["last:old", "last:new", "--fail-on", "rps:3%"], "rps:-3%"),
        (&["last:old", "last:new", "-o", "x.pdf"], ".md, .json or .xml"),
        (&["--cmd", "./server"], "at least two commands"),
        (&["last:old", "last:new", "--cmd", "./server"], "--cmd"),
        (&["last:old", "last:new", "--rounds", "3"], "cannot be used with '--rounds <N>'"),
    ] {
        let all: Vec<&str> = std::iter::once("compare").chain(arguments.iter().copied()).collect();
        let err = stderr(&lab.assay(&all).assert().code(2));
        assert!(err.contains(words), "{arguments:?}:\n{err}");
    }
}

/// The command line of a server to which the load makes no difference.
fn calm(seed: u32) -> String {
    format!("\"$ASSAY\" stub --address $ADDRESS --port $PORT --cpus $CPUS --service 5ms --seed {seed}")
}

#[test]
fn commands_are_measured_in_the_same_rounds_and_compared() {
    let lab = Lab::new();
    let [old, new] = [1, 2].map(calm);
    let commands = ["compare", "--cmd", &old, "--cmd", &new, "--format", "json", "--seed", "3"];
    let assert = lab.assay(&[&commands[..], &QUICK].concat()).assert().code(0);
    let comparison = json(&stdout(&assert));
    assert_eq!((comparison.pairing, comparison.rows.len()), (Pairing::Rounds, 1));
    assert_eq!(comparison.comparing.map(|of| of.design), Some(Design::Duet));
    let (row, runs) = (&comparison.rows[0], listing(&lab.runs()));
    assert_eq!([row.base.run.as_str(), row.new.run.as_str()], [&runs[0], &runs[0]]);
    assert_ne!(row.base.contender, row.new.contender);
    assert!(stderr(&assert).contains("record.json"), "{}", stderr(&assert));
}

#[test]
fn a_command_that_does_not_start_is_no_comparison() {
    let lab = Lab::new();
    let server = calm(1);
    let commands = ["compare", "--cmd", &server, "--cmd", "exit 3"];
    let err = stderr(&lab.assay(&[&commands[..], &QUICK].concat()).assert().code(10));
    assert!(err.contains("fewer than two of the commands were measured"), "{err}");
}

/// Two servers that take three seconds each to start leave no time for the third round that was planned.
#[test]
fn no_round_of_a_comparison_begins_when_its_budget_is_spent() {
    let lab = Lab::new();
    let [old, new] = [1, 2].map(|seed| format!("sleep 3; exec {}", calm(seed)));
    let length = ["-d", "100ms", "--warmup", "0s", "-c", "2", "--budget", "10500ms"];
    let commands = ["compare", "--cmd", &old, "--cmd", &new];
    let told = stderr(&lab.assay(&[&commands[..], &length].concat()).assert());
    assert!(told.contains(": 3 rounds, about"), "{told}");
    let left = |round: &str| {
        let left = told.lines().find(|line| line.contains(round)).and_then(|line| line.rsplit(", ").next());
        left.and_then(|left| left.strip_suffix(" s left")?.parse::<u32>().ok())
    };
    let path = lab.runs().join(&listing(&lab.runs())[0]).join("record.json");
    let record: Record =
        serde_json::from_str(&std::fs::read_to_string(path).expect("record")).expect("record");
    assert_eq!((record.rounds.len(), record.state), (2, State::BudgetSpent), "{told}");
    // Six of its ten seconds are gone after the first round. The second is measured in any case, and takes as long; the third is not.
    let all = record.elapsed_ns.as_secs_f64();
    assert!(left("round 1 of ").is_some_and(|left| left >= 3 && f64::from(left) < all), "{told}");
    assert_eq!(left("round 2 of "), Some(0), "{told}");
}

/// The record of a stub that was compared with one that does as much and with one that does twice as much, which serves the tests of both.
///
/// Others may use the machine meanwhile. Their doing voids turns, and is the reason why there are duets; so it is taken out of the
/// record before that is judged again.
fn duets_of_stubs() -> &'static Record {
    const WORK: u32 = 20_000;
    static RECORD: LazyLock<Record> = LazyLock::new(|| {
        let lab = Lab::new();
        let [old, same, double] = [(1, 1), (2, 1), (3, 2)].map(|(seed, factor)| {
            format!("\"$ASSAY\" stub --port $PORT --seed {seed} --work {}", WORK * factor)
        });
        let length = ["-d", "450ms", "--warmup", "0s", "--rounds", "3", "-c", "4"];
        let commands = ["compare", "--cmd", &old, "--cmd", &same, "--cmd", &double, "--seed", "3"];
        lab.assay(&[&commands[..], &length].concat()).assert().code(0);
        let path = lab.runs().join(&listing(&lab.runs())[0]).join("record.json");
        let text = std::fs::read_to_string(path).expect("record");
        let mut record: Record = serde_json::from_str(&text).expect("record");
        free_of_disturbance(&mut record);
        record.id = "30000101-one".to_owned();
        record
    });
    &RECORD
}

/// What the record of stubs says of the base and the other of this number; in words, and as data.
fn duet_of_stubs(other: usize) -> (Comparison, String) {
    let (lab, record) = (Lab::new(), duets_of_stubs());
    lab.write("runs/30000101-one/record.json", &serde_json::to_string(record).expect("json"));
    let sides = [0, other].map(|side| format!("30000101-one:{}", record.contenders[side].identity.name));
    let compare = |format: &str| {
        let all = ["compare", sides[0].as_str(), sides[1].as_str(), "--format", format];
        stdout(&lab.assay(&all).assert().code(0))
    };
    (json(&compare("json")), compare("table"))
}

fn throughput(comparison: &Comparison) -> &Change {
    let row = &comparison.rows[0];
    let found = row.changes.iter().find(|change| change.metric == Metric::Rps);
    found.unwrap_or_else(|| panic!("withheld: {:?}", row.withheld))
}

#[test]
fn a_duet_of_one_server_with_itself_shows_no_difference() {
    let (comparison, words) = duet_of_stubs(1);
    let comparing = comparison.comparing.as_ref().expect("a comparison of commands");
    assert_eq!((comparing.design, &comparing.because), (Design::Duet, &Because::OneKind));
    assert_eq!(comparison.control.len(), 1, "the base against itself");
    let change = throughput(&comparison);
    assert_eq!((change.design, change.rounds), (Design::Duet, 3));
    // Equals are called different now and then, by design; far apart they are not found.
    let ratio = change.ratio.expect("a ratio");
    assert!((0.9..1.1).contains(&ratio.estimate), "{change:?}");
    assert!(words.contains("duet: both under load at the same time"), "{words}");
}

#[test]
fn a_duet_with_a_server_that_works_twice_as_much_says_so() {
    let (comparison, words) = duet_of_stubs(2);
    let change = throughput(&comparison);
    let ratio = change.ratio.expect("a ratio");
    assert_eq!(change.call, Shift::Worse, "{change:?}");
    assert!((0.4..0.7).contains(&ratio.estimate), "{ratio:?}");
    assert!(words.contains("slower than") || words.contains("times as fast as"), "{words}");
}

#[test]
fn a_design_that_cannot_be_had_is_refused_with_the_reason() {
    let lab = Lab::new();
    let server = "\"$ASSAY\" stub --port $PORT";
    let other = format!("{server} --seed 2");
    let arguments = ["compare", "--cmd", server, "--cmd", &other, "--port", "1234", "--port", "1234"];
    let err = stderr(&lab.assay(&[&arguments[..], &["--design", "duet"]].concat()).assert().code(2));
    assert!(err.contains("--design duet") && err.contains("leave out --port"), "{err}");
}
