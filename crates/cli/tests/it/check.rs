//! `assay check`: who keeps which rules, told to people, to scripts and to continuous integration.

use assay_model::conformance::{CHECK_SCHEMA, CheckReport, Ruling};
use assay_model::record::Stage;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use rustix::process::Signal;

use crate::support::{Lab, Running, Stranger, eventually, listing, stdout};

/// Answers `hello` to every empty line, whatever was asked: no contender of this world, and soon asked.
const DEAF: &str = "deaf";
/// Rules that it breaks, and one that it keeps.
const SOME: &str = "no-host,allow,lines-apart,unknown-path";

#[test]
fn the_reference_server_keeps_every_rule() {
    let lab = Lab::new();
    let (mut server, url) = Running::serve(&lab);
    let assert = lab.assay(&["check", &format!("{url}/json")]).assert().code(0);
    let out = stdout(&assert);
    assert!(out.contains("rules kept; broken: 0 must, 0 should"), "{out}");
    assert!(out.contains("split-anywhere") && out.contains("RFC 9112 §2.2"), "{out}");
    let typed = url.strip_prefix("http://").expect("a URL");
    lab.assay(&["check", typed, "--quiet"]).assert().code(0).stdout(contains("split-anywhere").not());
    server.signal(Signal::INT);
    server.end();
}

/// A server of ours, and where it is.
fn started(lab: &Lab, command: &str, more: &[&str]) -> (Running, String) {
    let arguments = [&[command, "--port", "0", "--cpus", "0"], more].concat();
    let mut server = Running::start(lab.command(&arguments));
    let line = server.wait_for("://");
    let url = line.split_whitespace().find(|word| word.starts_with("http")).expect("a URL").to_owned();
    (server, url)
}

#[test]
fn the_rules_of_http2_are_asked_for_with_prior_knowledge_and_over_tls() {
    let lab = Lab::new();
    for (more, words, over) in
        [(&[][..], &["--http", "2"][..], "over h2c"), (&["--tls"], &["--http", "2", "--insecure"], "over h2")]
    {
        let (_server, url) = started(&lab, "serve", more);
        let url = format!("{url}/bytes/1500");
        let out = stdout(&lab.assay(&[&["check", &url], words].concat()).assert().code(0));
        assert!(out.contains(over) && out.contains("h2-hpack-evicts-oldest"), "{out}");
        assert!(out.contains("broken: 0 must, 0 should") && !out.contains("split-anywhere"), "{out}");
    }
}

#[test]
fn a_server_of_http1_alone_breaks_one_rule_of_http2() {
    let lab = Lab::new();
    let stranger = Stranger::new();
    let url = format!("h2c://127.0.0.1:{}/", stranger.port);
    let out = stdout(&lab.assay(&["check", &url]).assert().code(11));
    assert!(out.contains("BROKEN  must    h2-spoken") && out.contains("0/1 rules kept"), "{out}");
}

#[test]
fn versions_that_a_url_does_not_speak_are_refused() {
    let lab = Lab::new();
    for (url, version, said) in [
        ("h2c://localhost:1/", "1.1", "h2c:// is HTTP/2"),
        ("ws://localhost:1/", "2", "a WebSocket is opened by HTTP/1.1"),
    ] {
        lab.assay(&["check", url, "--http", version]).assert().code(2).stderr(contains(said));
    }
}

#[test]
fn what_is_broken_is_told_with_its_evidence() {
    let lab = Lab::new();
    lab.misbehaving(DEAF, "deaf");
    let assert = lab.assay(&["check", DEAF, "--only", SOME]).assert().code(11);
    let out = stdout(&assert);
    assert!(out.contains("BROKEN  must    no-host"), "{out}");
    assert!(out.contains("broken  should  unknown-path"), "{out}");
    assert!(out.contains("kept    must    lines-apart") && out.contains("n/a     must    allow"), "{out}");
    assert!(out.contains(r#"sent "GET / HTTP/1.1\r\n\r\n""#), "{out}");
    assert!(out.contains("1/3 rules kept; broken: 1 must, 1 should"), "{out}");
    let should = lab.assay(&["check", DEAF, "--only", "unknown-path", "--quiet"]).assert();
    should.code(0).stdout(contains("broken  should  unknown-path"));
}

#[test]
fn several_servers_are_asked_one_after_the_other_and_compared() {
    let lab = Lab::new();
    lab.good("right");
    lab.misbehaving(DEAF, "deaf");
    lab.script("dead", "echo no luck; exit 3");
    let assert = lab.assay(&["check", "--only", SOME, "--quiet"]).assert().code(11);
    let out = stdout(&assert);
    let rows: Vec<&str> = out.lines().skip_while(|line| !line.starts_with("server ")).skip(1).collect();
    let row = |name: &str| rows.iter().find(|row| row.starts_with(name)).expect(name).split_whitespace();
    assert!(row(DEAF).eq([DEAF, "1/3", "no-host", "unknown-path"]), "{out}");
    assert!(row("right").eq(["right", "4/4", "none", "none"]), "{out}");
    assert!(row("dead").eq(["dead", "–", "not", "asked"]), "{out}");
    assert!(out.contains("no luck"), "{out}");
}

#[test]
fn one_that_does_not_start_leaves_its_log() {
    let lab = Lab::new();
    lab.script("dead", "echo no luck; exit 3");
    lab.assay(&["check", "dead"])
        .assert()
        .code(10)
        .stdout(contains("not asked: it ended with exit status 3"));
    assert_eq!(listing(&lab.run_folder().join("logs")), ["dead-check.log"]);
    lab.assay(&["check", "--cmd", "sleep 0.1", "--only", "date"]).assert().code(10);
}

#[test]
fn scripts_get_json() {
    let lab = Lab::new();
    lab.misbehaving(DEAF, "deaf");
    lab.misbehaving("wrong", "wrong");
    let arguments = ["check", DEAF, "wrong", "--json", "--only", "no-host"];
    let report: CheckReport =
        serde_json::from_str(&stdout(&lab.assay(&arguments).assert().code(11))).expect("a report");
    assert_eq!(report.schema, CHECK_SCHEMA);
    let [deaf, wrong] = report.servers.as_slice() else { panic!("{report:?}") };
    let findings = &deaf.conformance.as_ref().expect("asked").findings;
    assert_eq!((findings.len(), findings[0].ruling), (1, Ruling::Broken));
    assert_eq!(wrong.not_run.as_ref().map(|reason| reason.stage), Some(Stage::Answer));
}

#[test]
fn continuous_integration_gets_junit() {
    let lab = Lab::new();
    lab.misbehaving(DEAF, "deaf");
    lab.assay(&["check", DEAF, "--only", SOME, "--junit", "check.xml"]).assert().code(11);
    let xml = std::fs::read_to_string(lab.path("check.xml")).expect("file");
    assert!(xml.contains(r#"<testsuite name="deaf" tests="4""#), "{xml}");
    assert!(xml.contains(r#"failures="1""#) && xml.matches("<skipped").count() == 2, "{xml}");
    assert!(xml.contains("A request without Host is refused."), "{xml}");
}

#[test]
fn rules_are_listed_and_misspelt_ones_refused() {
    let lab = Lab::new();
    lab.good("right");
    lab.assay(&["list", "rules"]).assert().code(0).stdout(contains("nothing-after-close\n"));
    let refused = lab.assay(&["check", "right", "--only", "no-hots"]).assert();
    refused.code(2).stderr(contains("there is no rule `no-hots`").and(contains("no-host")));
}

#[test]
fn ctrl_c_leaves_nothing_behind_and_tells_who_was_not_asked() {
    let lab = Lab::new();
    lab.misbehaving("stubborn", "stubborn");
    lab.good("never");
    let words = ["check", "stubborn", "never", "--json", "--junit", "check.xml"];
    let mut check = Running::start(lab.command(&words));
    eventually("the server runs", || lab.processes().iter().any(|line| line.contains("server.py")));
    check.signal(Signal::INT);
    let (status, out) = check.end();
    assert_eq!(status.code(), Some(130), "{}", check.said);
    assert!(check.said.contains("not asked: never"), "{}", check.said);
    let report: CheckReport = serde_json::from_str(&out).expect("a report");
    assert_eq!((report.servers.len(), report.unasked), (1, vec!["never".to_owned()]));
    let xml = std::fs::read_to_string(lab.path("check.xml")).expect("file");
    assert!(xml.contains(r#"<testsuite name="never" tests="1" disabled="0" errors="1""#), "{xml}");
}

#[test]
fn a_run_asks_its_contenders_first_unless_told_not_to() {
    let lab = Lab::new();
    lab.good("right");
    let quick = ["run", "right", "-d", "50ms", "--warmup", "0s", "--rounds", "1", "-c", "1"];
    lab.assay(&quick).assert().code(0).stdout(contains("conform"));
    let record = lab.record();
    let conformance = record.contenders[0].conformance.as_ref().expect("asked");
    assert_eq!(conformance.broken().count(), 0, "{conformance:?}");
    assert!(conformance.score().kept > 0);
    std::fs::remove_dir_all(lab.runs()).expect("removed");
    lab.assay(&[&quick[..], &["--no-check"]].concat()).assert().code(0);
    assert!(lab.record().contenders[0].conformance.is_none());
}

#[test]
fn a_run_tells_of_the_rules_only_what_changed_since_the_contender_was_last_asked() {
    let lab = Lab::new();
    let quick = ["run", "guest", "-d", "50ms", "--warmup", "0s", "--rounds", "1", "-c", "1", "--no-aa"];
    let told = || {
        let run = lab.assay(&quick).assert().code(0);
        let text = stdout(&run);
        text.lines().find(|line| line.contains("guest: ")).unwrap_or_default().to_owned()
    };
    lab.good("guest");
    assert_eq!(told(), "");
    lab.misbehaving("guest", "deaf");
    assert!(told().contains("Conform  guest: newly breaks "));
    assert_eq!(told(), "", "the same once more");
    let all = stdout(&lab.assay(&["show", "last", "-v"]).assert().code(0));
    assert!(all.contains("Conform  guest: must keep but breaks"), "{all}");
    lab.good("guest");
    assert!(told().contains("Conform  guest: newly keeps "));
    assert!(stdout(&lab.assay(&["show", "last~2"]).assert().code(0)).contains("guest: newly breaks"));
}
