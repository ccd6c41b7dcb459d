//! Several generators of one load, as processes of this machine.

use assay_model::check::CheckOutcome;
use assay_model::load::{Arrival, LoadReport, LoadSecond, LoadTurn, Phase};
use assay_model::rule::Rule;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Lab, Running, Stranger, eventually, report, stdout};

/// Three generators on one CPU, for a server that says hello.
const THREE: [&str; 8] = ["--generators", "3", "-c", "6", "--cpus", "0", "--expect-body", "hello"];

fn arguments<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["load", url], &THREE[..], more].concat()
}

fn url_of(stranger: &Stranger) -> String {
    format!("http://127.0.0.1:{}/", stranger.port)
}

/// A load that goes on until it is ended, with its generators at work.
fn going_on(lab: &Lab, stranger: &Stranger, more: &[&str]) -> (Running, Vec<Pid>) {
    let url = url_of(stranger);
    let load = Running::start(lab.command(&arguments(&url, &[&["-d", "10m", "--json"], more].concat())));
    eventually("they drive the server", || stranger.answered() > 100);
    let generators = children(load.pid());
    assert_eq!(generators.len(), 3);
    (load, generators)
}

/// The processes that one has started, the oldest first.
fn children(parent: Pid) -> Vec<Pid> {
    let pid = parent.as_raw_nonzero();
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("children");
    let mut pids: Vec<i32> = text.split_ascii_whitespace().map(|pid| pid.parse().expect("a pid")).collect();
    pids.sort_unstable();
    pids.into_iter().map(|pid| Pid::from_raw(pid).expect("a pid")).collect()
}

/// The report that a load wrote, and whether its generators are all as one.
fn whole(text: &str) -> LoadReport {
    let report: LoadReport = serde_json::from_str(text).expect("a report");
    let own = || report.generators.iter().filter_map(|share| share.report.as_deref());
    assert!(report.books.balance() && own().all(|own| own.books.balance()), "{report:?}");
    assert_eq!(report.books.issued, own().map(|own| own.books.issued).sum::<u64>());
    assert_eq!(report.books.received_bytes, own().map(|own| own.books.received_bytes).sum::<u64>());
    report
}

fn outcome(report: &LoadReport, rule: Rule) -> CheckOutcome {
    report.checks.iter().find(|check| check.rule == rule).expect("checked").outcome
}

#[test]
fn the_books_of_all_are_the_servers() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let url = url_of(&stranger);
    let all = [
        (&["-n", "600"][..], 600, Arrival::Closed),
        (
            &["-r", "400", "--arrival", "constant", "-d", "500ms"],
            200,
            Arrival::Constant { per_second: 400.0 },
        ),
    ];
    for (more, requests, arrival) in all {
        let before = stranger.answered();
        let assert = lab.assay(&arguments(&url, &[&["--json"], more].concat())).assert().code(0).stderr("");
        let report = whole(&stdout(&assert));
        assert_eq!((report.books.ok, report.books.failed()), (requests, 0), "{report:?}");
        assert_eq!(stranger.answered() - before, requests as usize);
        assert_eq!((report.connections, report.arrival.clone(), report.generators.len()), (6, arrival, 3));
        for share in &report.generators {
            let own = share.report.as_deref().expect("its own report");
            assert_eq!((own.connections, own.books.ok.abs_diff(requests / 3) <= 1), (2, true), "{own:?}");
            assert!(share.clock.round_trips >= 50 && share.began_ns.is_some(), "{share:?}");
        }
    }
    lab.assay(&arguments(&url, &["-n", "60"])).assert().code(0).stdout(
        contains("generators  1: ")
            .and(contains("from 2 connections on CPU 0"))
            .and(contains("after the start")),
    );
}

#[test]
fn every_protocol_can_be_shared() {
    let lab = Lab::new();
    let (_plain, url) = Running::serve(&lab);
    let (_secured, secured) = Running::serve_with(&lab, &["--tls"]);
    let loads: [&[&str]; 3] = [
        &[&url.replace("http:", "h2c:"), "--streams", "4", "--idle", "3"],
        &[&secured, "--insecure", "--close"],
        &[&secured, "--insecure", "--http", "2", "-r", "300"],
    ];
    for load in loads {
        let brief = ["--generators", "2", "-c", "4", "-n", "60", "--cpus", "0", "--json"];
        let report = report(&lab.assay(&[&["load"], load, &brief[..]].concat()).assert().code(0));
        assert_eq!(
            (report.books.ok, report.books.failed(), report.generators.len()),
            (60, 0, 2),
            "{report:?}"
        );
        let handshakes =
            |report: &LoadReport| report.tls.as_ref().map_or(0, |tls| tls.full.count + tls.resumed.count);
        let own = report.generators.iter().map(|share| share.report.as_deref().expect("its own report"));
        assert_eq!(handshakes(&report), own.map(handshakes).sum::<u64>());
        assert_eq!(handshakes(&report) > 0, load.contains(&"--insecure"), "{report:?}");
    }
}

#[test]
fn seconds_are_told_of_all_together() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let url = url_of(&stranger);
    let more = ["--stream", "-", "-r", "300", "--arrival", "constant", "-d", "1200ms", "--warmup", "100ms"];
    let assert = lab.assay(&arguments(&url, &more)).assert().code(0).stderr(contains("generators  1: "));
    let told = stdout(&assert);
    let seconds: Vec<LoadSecond> =
        told.lines().map(|line| serde_json::from_str(line).expect("a second")).collect();
    assert_eq!(seconds.iter().map(|second| second.ok).sum::<u64>(), 390, "{told}");
    assert_eq!(stranger.answered(), 390);
    // Of the wait for late answers only those tell that wait.
    let mut loaded = seconds.iter().filter(|second| second.phase != Phase::Drain);
    assert!(loaded.all(|second| second.connections == 6), "{told}");
}

#[test]
fn an_interrupted_load_reports_what_all_have() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let (mut load, _) = going_on(&lab, &stranger, &[]);
    load.signal(Signal::INT);
    let (status, out) = load.end();
    assert_eq!(status.code(), Some(130), "{}", load.said);
    let report = whole(&out);
    assert_eq!((report.books.ok as usize, report.books.failed()), (stranger.answered(), 0));
    assert!(report.generators.iter().all(|share| share.lost.is_none()), "{report:?}");
}

#[test]
fn a_generator_that_is_killed_voids_the_window_by_its_name() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let (mut load, generators) = going_on(&lab, &stranger, &[]);
    kill_process(generators[1], Signal::KILL).expect("killed");
    let (status, out) = load.end();
    assert_eq!(status.code(), Some(12), "{}", load.said);
    let report = whole(&out);
    assert_eq!(outcome(&report, Rule::Generators), CheckOutcome::Void);
    let lost: Vec<_> = report.generators.iter().filter_map(|share| share.lost.as_deref()).collect();
    assert_eq!(lost, ["it was killed by signal 9"]);
    assert!(report.generators[1].report.is_none() && report.books.ok > 0);
    assert!(report.books.ok as usize <= stranger.answered());
}

#[test]
fn generators_end_with_whoever_leads_them() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let (load, generators) = going_on(&lab, &stranger, &[]);
    kill_process(generators[0], Signal::STOP).expect("stopped");
    load.signal(Signal::KILL);
    kill_process(generators[0], Signal::CONT).expect("continued");
    eventually("nobody is left", || lab.processes().is_empty());
}

#[test]
fn a_generator_that_stood_still_is_named() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let url = url_of(&stranger);
    // So many that a percentile is told beyond which requests were late.
    let more = ["-r", "3000", "--arrival", "constant", "-d", "1500ms", "--json"];
    let mut load = Running::start(lab.command(&arguments(&url, &more)));
    eventually("they drive the server", || stranger.answered() > 30);
    let generators = children(load.pid());
    kill_process(generators[2], Signal::STOP).expect("stopped");
    std::thread::sleep(std::time::Duration::from_millis(400));
    kill_process(generators[2], Signal::CONT).expect("continued");
    let (status, out) = load.end();
    assert_eq!(status.code(), Some(0), "{}", load.said);
    let report = whole(&out);
    let own = report.generators[2].report.as_deref().expect("its own report");
    assert_ne!(outcome(own, Rule::SendLag), CheckOutcome::Pass, "{own:?}");
    assert_eq!((report.books.issued, stranger.answered()), (4500, 4500));
}

#[test]
fn a_run_keeps_the_evidence_of_each_generator() {
    let lab = Lab::new();
    lab.good("first");
    lab.good("second");
    lab.run(&["first", "second", "--generators", "2", "-c", "4"]).assert().code(0);
    let record = lab.record();
    let windows = || record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    assert_eq!((record.experiment.generator_processes, windows().count()), (2, 4));
    for window in windows() {
        let load = whole(&serde_json::to_string(&window.load).expect("json"));
        assert!(load.generators.len() == 2 && load.window.ok > 0 && load.books.failed() == 0, "{load:?}");
        let own = load.generators.iter().filter_map(|share| share.report.as_deref());
        assert_eq!(own.map(|own| own.window.ok).sum::<u64>(), load.window.ok);
        let turns = window.turns.iter().map(|turn| turn.load.ok).sum::<u64>();
        assert_eq!(turns, load.window.ok);
        for LoadTurn { settle_ns, window_ns, ok, slices, .. } in window.turns.iter().map(|turn| &turn.load) {
            let of_all = settle_ns.0 + window_ns.0;
            assert!(
                slices.ok.len() as u64 >= of_all / slices.interval_ns.0 && slices.interval_ns < *window_ns
            );
            assert!(slices.ok.iter().sum::<u64>() >= *ok, "from the beginning of the load: {slices:?}");
        }
    }
    lab.run(&["first", "--generators", "3"]).assert().code(2).stderr(contains("at least 3 with -c"));
}

#[test]
fn several_servers_at_one_port_answer_several_generators() {
    let lab = Lab::new();
    let (mut first, url) = Running::serve_with(&lab, &["--share-port"]);
    let port = url.trim_end_matches('/').rsplit(':').next().expect("a port").to_owned();
    let again = ["serve", "--port", &port, "--cpus", "0"];
    lab.assay(&again).assert().code(4).stderr(contains("in use"));
    let mut second = Running::start(lab.command(&[&again[..], &["--share-port"]].concat()));
    second.wait_for("serving http://");
    let brief = ["load", &url, "--generators", "2", "-c", "64", "-n", "6400", "--cpus", "0", "--json"];
    let report = report(&lab.assay(&brief).assert().code(0));
    assert_eq!((report.books.ok, report.connections), (6400, 64));
    for server in [&mut first, &mut second] {
        server.signal(Signal::INT);
        assert_eq!(server.end().0.code(), Some(0));
        assert!(server.said.contains("served ") && !server.said.contains("served 0 "), "{}", server.said);
    }
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let (lab, stranger) = (Lab::new(), Stranger::new());
    let url = url_of(&stranger);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("port").local_addr().expect("address");
    let nobody = format!("http://{free}/");
    let cases: [(&[&str], i32, &str); 5] = [
        (&[&url, "--generators", "3", "-c", "2"], 2, "at least 3 with -c"),
        (&[&url, "--generators", "0"], 2, "--generators"),
        (&[&url, "--generators", "3", "-c", "6", "-n", "2"], 2, "ask for more with -n"),
        (
            &[&url, "--generators", "2", "--stack", "user", "--wire", "ring:/nowhere"],
            2,
            "leave --generators and --lab out",
        ),
        (&[&nobody, "--generators", "2", "-n", "10"], 10, "no connection to"),
    ];
    for (more, code, said) in cases {
        lab.assay(&[&["load"], more].concat()).assert().code(code).stdout("").stderr(contains(said));
    }
    assert_eq!(stranger.answered(), 0);
}
