//! The likeliest mistakes of who begins: each says what is wrong, where, and how to mend it. Others stand where their subject is:
//! `bad_input`, `misbehaviour`, `database`, `harmless`, and the doctor's own tests.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Lab, stderr, stdout};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn a_server_that_listens_at_another_address_alone_is_told_where() {
    let lab = Lab::new();
    let server = "\"$ASSAY\" serve --address ::1 --port $PORT";
    let assert = lab.run(&["--cmd", server, "--rounds", "1"]).assert().code(10);
    assert.stderr(
        contains("it listens at [::1]:").and(contains("let it listen at $ADDRESS, or at all addresses")),
    );
    lab.record();
}

#[test]
fn a_url_of_another_address_than_the_servers_is_told_the_right_one() {
    let lab = Lab::new();
    let listener = TcpListener::bind("[::1]:0").expect("a port");
    let port = listener.local_addr().expect("address").port();
    let assert = lab.run(&[&format!("http://127.0.0.1:{port}/"), "--rounds", "1"]).assert().code(10);
    assert.stderr(contains(format!("somebody listens at [::1]:{port}: write that into the URL")));
    let load = lab.assay(&["load", &format!("http://127.0.0.1:{port}/"), "-d", "100ms"]).assert().code(10);
    load.stderr(contains(format!("nobody listens there; somebody listens at [::1]:{port}: write that")));
    drop(listener);
    let assert = lab.run(&[&format!("http://127.0.0.1:{port}/"), "--rounds", "1"]).assert().code(10);
    assert.stderr(contains(format!("nobody listens at 127.0.0.1:{port}; start the server")));
}

#[test]
fn a_path_at_which_nothing_is_is_told_as_that() {
    let lab = Lab::new();
    let arguments = ["--cmd", "\"$ASSAY\" serve --port $PORT", "--path", "/no/such/page", "--rounds", "1"];
    let assert = lab.run(&arguments).assert().code(11);
    let told = stderr(&assert);
    assert!(told.contains("GET /no/such/page was answered with status 404 instead of 2xx"), "{told}");
    assert!(told.contains("nothing is at this path: give the one that it answers (--path)"), "{told}");
    assert!(told.matches("--path").count() == told.matches("(--path)").count(), "{told}");
    assert!(!told.contains("workload"), "nobody gave one: {told}");
}

/// A contender of the catalogue, with a program on the PATH that is older than it needs.
#[test]
fn a_toolchain_that_is_too_old_is_told_with_where_to_get_a_newer_one() {
    let lab = Lab::new();
    lab.write("bin/node", "#!/bin/sh\necho v12.22.9\n");
    std::fs::set_permissions(lab.path("bin/node"), std::fs::Permissions::from_mode(0o755)).expect("ours");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut run = lab.run(&["node", "--catalogue", ROOT]);
    let assert = run.env("PATH", format!("{}:{path}", lab.path("bin").display())).assert().code(10);
    let words = ["needs Node.js 18 or newer", "version 12.22.9 is too old", "https://nodejs.org/en/download"];
    words.iter().fold(assert, |assert, words| assert.stderr(contains(*words)));
}

/// Readers who look for a message of the doctor's find it.
#[test]
fn every_finding_of_the_doctor_stands_in_the_list_of_troubles() {
    let page = std::fs::read_to_string(format!("{ROOT}/docs/troubleshooting.md")).expect("the page");
    let lab = Lab::new();
    let text = stdout(&lab.assay(&["doctor", "--json", "--watch", "50ms"]).assert());
    let diagnosis: assay_model::doctor::Diagnosis = serde_json::from_str(&text).expect("a diagnosis");
    let missing: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.rule.as_str()).collect();
    let missing: Vec<&&str> = missing.iter().filter(|rule| !page.contains(&format!("`{rule}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
