//! What is made of a run afterwards: an import, exports, pages, an index; and an implementation of TechEmpower's where no
//! container engine is.

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, not_run, stdout};

const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/tests/fixtures/techempower-results.json");

#[test]
fn imported_results_are_shown_reported_and_exported_as_not_measured_here() {
    let lab = Lab::new();
    let imported = contains("Not measured here: imported from TechEmpower Framework Benchmarks");
    lab.assay(&["import", RESULTS])
        .assert()
        .code(0)
        .stdout(imported.clone())
        .stderr(contains("20231114-221320"));
    lab.assay(&["show"]).assert().code(0).stdout(imported);
    lab.assay(&["report"]).assert().code(0).stderr(contains("report.html"));
    for format in ["json", "csv-summary", "md", "openmetrics", "svg"] {
        let text = stdout(&lab.assay(&["export", "-f", format]).assert().code(0));
        assert!(
            text.to_lowercase().contains("not measured here") || text.contains("\"imported\""),
            "{format}:\n{text}"
        );
    }
    let page = std::fs::read_to_string(lab.run_folder().join("report.html")).expect("page");
    assert!(page.contains("<title>imported-techempower: Not measured here"), "title");
}

#[test]
fn what_is_no_file_of_results_is_told_with_its_place() {
    let lab = Lab::new();
    lab.write("results.json", "{\n  \"duration\": 15,\n  \"rawData\": 3\n}");
    lab.assay(&["import", "results.json"])
        .assert()
        .code(2)
        .stderr(contains("results.json:3:").and(contains("invalid type")));
    lab.assay(&["import", "nothing.json"]).assert().code(2).stderr(contains("cannot read nothing.json"));
}

#[test]
fn a_run_is_exported_in_every_format() {
    let lab = Lab::new();
    lab.calm("nice");
    lab.script("broken", "exit 3");
    lab.run(&["nice", "broken", "-o", "out.xml", "-o", "out.prom", "-o", "out.svg"]).assert().code(10);
    let out = |name: &str| std::fs::read_to_string(lab.path(name)).expect(name);
    assert!(
        out("out.xml").contains("<failure message=\"did not start: it ended with exit status 3"),
        "{}",
        out("out.xml")
    );
    assert!(out("out.prom").ends_with("# EOF\n") && out("out.svg").starts_with("<svg "));
    let summary = stdout(&lab.assay(&["export", "-f", "csv-summary"]).assert().code(0));
    assert!(
        summary.lines().any(|line| line.contains(",hello,2,1,max,kernel/loopback,h1,nice,test,")),
        "{summary}"
    );
    let absent = summary.lines().find(|line| line.contains(",broken,test,")).expect("who did not start");
    assert!(absent.contains("did not start: it ended with exit status 3"), "{absent}");
    let withheld = |line: &str| line.starts_with("assay_withheld{") && line.contains("contender=\"broken\"");
    let samples = out("out.prom");
    assert!(samples.lines().any(|line| withheld(line) && line.ends_with(" 1")), "{samples}");
    let svg = ["export", "-f", "svg", "-w", "json"];
    lab.assay(&svg).assert().code(2).stderr(contains("there is hello at 2"));
}

#[test]
fn an_index_leads_to_the_reports_of_all_runs() {
    let lab = Lab::new();
    lab.calm("nice");
    lab.run(&["nice"]).assert().code(0);
    lab.assay(&["import", RESULTS]).assert().code(0);
    lab.write("runs/20200101-000000-cut/record.json", "{");
    lab.assay(&["report", "--index", "runs"])
        .assert()
        .code(0)
        .stderr(contains("20200101-000000-cut is left out"));
    let index = std::fs::read_to_string(lab.runs().join("index.html")).expect("index");
    assert_eq!(index.matches("/report.html\">").count(), 2, "{index}");
    lab.assay(&["report", "--index", "workloads"])
        .assert()
        .code(2)
        .stderr(contains("there is no run in workloads"));
}

#[test]
fn opening_a_page_without_a_desktop_says_what_to_do() {
    let lab = Lab::new();
    lab.assay(&["import", RESULTS]).assert().code(0);
    let printed = stdout(&lab.assay(&["report", "-o", "-"]).assert().code(0).stderr(""));
    assert!(printed.starts_with("<!"), "a page");
    assert!(!lab.path("-").exists());
    lab.assay(&["report", "-o", "-", "--open"]).assert().code(2).stderr(contains("leave --open out"));
    let mut report = lab.assay(&["report", "--open"]);
    report.env("PATH", lab.path("nowhere"));
    report.assert().code(4).stderr(contains("report.html in a browser yourself, or apt install xdg-utils"));
}

#[test]
fn an_implementation_of_techempowers_needs_a_container_engine() {
    let lab = Lab::new();
    lab.good("nice");
    let config =
        "{\"framework\": \"guest\", \"tests\": [{\"default\": {\"port\": 8080, \"json_url\": \"/json\"}}]}";
    lab.write("frameworks/Zig/guest/benchmark_config.json", config);
    lab.write("frameworks/Zig/guest/guest.dockerfile", "FROM scratch\n");
    let json = "name = \"json\"\nabout = \"An object.\"\n[[request]]\npath = \"/json\"\nexpect = {}\n";
    lab.write("workloads/json.toml", json);
    let mut run = lab.run(&["nice", "./frameworks/Zig/guest", "-w", "hello,json"]);
    run.env("PATH", lab.path("nowhere"));
    run.assert().code(0).stdout(
        contains("guest: needs a container engine")
            .and(contains("apt install podman, or docker, and start its daemon")),
    );
    assert_eq!(
        not_run(&lab.record(), "guest").remedy.as_deref(),
        Some("apt install podman, or docker, and start its daemon")
    );
}
