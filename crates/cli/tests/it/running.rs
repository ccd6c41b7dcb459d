//! Servers that somebody else runs on this machine: found, named, watched, and their CPUs left to them.

use assay_host::cpuset::allowed;
use assay_model::cpuset::CpuSet;
use assay_model::load::LoadReport;
use assay_model::rule::Rule;
use assay_model::running::Running as Whereabouts;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use rustix::process::Signal;

use crate::support::{Lab, Running, stdout, windows};

fn cpus(list: &str) -> CpuSet {
    list.parse().expect(list)
}

/// The server of these tests works on CPU 0; on a machine with another one there is a choice.
fn generator_has_a_choice() -> bool {
    allowed().len() > 1
}

#[test]
fn a_url_of_this_machine_is_measured_as_a_server_of_our_own() {
    let lab = Lab::new();
    let (server, url) = Running::serve(&lab);
    lab.run(&[&url, "--rounds", "2"]).assert().code(0);
    let record = lab.record();
    let Some(Whereabouts::Found { program, pids, processes, cpus: place }) = &record.contenders[0].running
    else {
        panic!("{:?}", record.contenders[0].running)
    };
    let pid = u32::try_from(server.pid().as_raw_nonzero().get()).expect("a pid");
    assert_eq!((program.as_str(), pids.as_slice(), *processes), ("assay", &[pid][..], 1));
    assert_eq!((place.as_str(), record.isolation.server_cpus.as_str()), ("0", "0"));
    assert!(record.isolation.statement.contains("running there already"), "{}", record.isolation.statement);
    for window in windows(&record) {
        let used = window.server.as_ref().expect("watched");
        assert!(used.cpu_ns().0 > 0 && used.pss_bytes.is_some_and(|bytes| bytes > 0), "{used:?}");
        assert_eq!(window.server_seen_on.as_deref(), Some("0"));
        let apart = cpus(&window.load.cpus).is_disjoint(&cpus("0"));
        assert_eq!(apart, generator_has_a_choice(), "the generator ran on {}", window.load.cpus);
        let speed = window.speed.as_ref().expect("timed");
        assert!(speed.before.len() == speed.after.len() && !speed.before.is_empty());
    }
    let trust = assay_verdict::judge(&record).expect("readable").trust;
    let named = trust.iter().find(|check| check.rule == Rule::RunningServer).expect("named");
    let sentence = assay_report::words::evidence(named);
    assert!(sentence.ends_with("in all), which may run on CPUs 0"), "{sentence}");
}

#[test]
fn a_server_that_is_killed_during_a_load_is_named_and_nothing_is_said_of_its_speed() {
    let lab = Lab::new();
    let (mut server, url) = Running::serve(&lab);
    let endless = ["load", &url, "-d", "10m", "-c", "2", "--expect-body", "hello", "--progress", "plain"];
    let mut load = Running::start(lab.command(&endless));
    load.wait_for("/s in the last second");
    server.signal(Signal::KILL);
    let (status, out) = load.end();
    assert_eq!(status.code(), Some(10), "{out}\n{}", load.said);
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = format!("void the server, assay (process {}), ended after ", server.pid());
    assert!(out.contains(&named), "{named}:\n{out}");
    for words in ["throughput", "p50", "slower side", "caution"] {
        assert!(!out.contains(words), "{words}:\n{out}");
    }
    server.end();
}

#[test]
fn a_load_leaves_the_servers_cpus_alone_and_says_what_it_used() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let arguments = ["load", &url, "-n", "500", "--expect-body", "hello"];
    let words =
        if generator_has_a_choice() { "on CPU 0, which the generator left alone" } else { "among them" };
    lab.assay(&arguments).assert().stdout(contains("server      assay (process ").and(contains(words)));
    let json = lab.assay(&[&arguments[..], &["--json"]].concat()).assert();
    let report: LoadReport = serde_json::from_str(&stdout(&json)).expect("a report");
    assert!(matches!(report.running, Some(Whereabouts::Found { .. })));
    assert!(report.server.is_some_and(|used| used.cpu_ns().0 > 0));
    // Who names the CPUs gets them, and nobody is looked for.
    let json = lab.assay(&[&arguments[..], &["--json", "--cpus", "0"]].concat()).assert();
    let report: LoadReport = serde_json::from_str(&stdout(&json)).expect("a report");
    assert!(report.cpus == "0" && report.running.is_none());
}
