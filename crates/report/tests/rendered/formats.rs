//! The made-up run (`support`) as JUnit, OpenMetrics, a summary for a spreadsheet and a drawing, each read by a parser that
//! is not ours where there is a good one.

use std::collections::BTreeMap;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, Withheld};
use assay_model::experiment::Cell;
use assay_model::imported::Imported;
use assay_model::rule::Rule;
use assay_model::verdict::{AnsweredStanding, AnsweredVerdict, RedlineEnd, Verdict};
use assay_report::export::{Choice, badge, junit, markdown, openmetrics, summary};

use crate::exposition;
use crate::latency::{latency, redlines};
use crate::support::{DYING, LIMIT, NOT_INSTALLED, WITHHELD, sample};

#[test]
fn openmetrics_keeps_the_grammar_and_has_the_figures_of_the_verdict() {
    let (record, verdict) = sample();
    let text = openmetrics(&record, &verdict);
    let families = exposition::read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let family = &families["assay_throughput_requests_per_second"];
    assert_eq!(family.unit.as_deref(), Some("requests_per_second"));
    let here = [("contender", "nginx"), ("workload", "hello"), ("connections", "64")];
    let nginx: Vec<f64> = (family.samples.iter())
        .filter(|sample| here.iter().all(|(name, value)| sample.labels[*name] == *value))
        .map(|sample| sample.value)
        .collect();
    let cell = verdict.cells.iter().find(|cell| cell.cell.to_string() == "hello at 64").unwrap();
    let standing = cell.standings.iter().find(|one| one.contender == "nginx").unwrap();
    assert_eq!(nginx, [standing.throughput_per_second.unwrap().estimate]);
}

#[test]
fn openmetrics_has_no_measured_figure_of_a_contender_that_is_withheld() {
    let (record, verdict) = sample();
    let families = exposition::read(&openmetrics(&record, &verdict)).unwrap();
    let told = |name: &str| {
        let of = |contender: &str| {
            let samples = families[name].samples.iter();
            samples.filter(|sample| sample.labels["contender"] == contender).count() > 0
        };
        (of("nginx"), of(WITHHELD))
    };
    for name in ["assay_memory_bytes", "assay_startup_seconds", "assay_cpu_per_request_seconds"] {
        assert_eq!(told(name), (true, false), "{name}");
    }
    assert_eq!(told("assay_withheld"), (true, true));
}

/// The judge of the tests above is ours, so it is judged too.
#[test]
fn what_is_no_openmetrics_is_refused() {
    let good =
        "# TYPE a_bytes gauge\n# UNIT a_bytes bytes\n# HELP a_bytes What.\na_bytes{x=\"1\"} 2.5\n# EOF\n";
    let family = &exposition::read(good).unwrap()["a_bytes"];
    assert_eq!((family.samples[0].labels["x"].as_str(), family.samples[0].value), ("1", 2.5));
    for (from, to, rule) in [
        ("# EOF\n", "", "# EOF"),
        ("2.5\n", "2.5", "does not end"),
        ("2.5", "NaN", "no finite number"),
        (" 2.5", "2.5", "no space"),
        ("\"1\"", "\"1\"2\"", "no comma"),
        ("\"1\"", "\"\\q\"", "escape"),
        ("\"1\"", "\"1\\\"", "does not end"),
        ("{x", "{9x", "name of a label"),
        ("x=\"1\"", "x=\"1\",x=\"2\"", "twice"),
        ("a_bytes bytes", "a_bytes seconds", "end with the unit"),
        ("a_bytes gauge", "a_bytes info", "another family"),
        ("a_bytes gauge", "a_bytes counter", "neither"),
        ("# UNIT a_bytes bytes\n", "# UNIT a_bytes bytes\n# UNIT a_bytes bytes\n", "twice"),
        ("# HELP a_bytes What.\n", "", "no help"),
        ("# HELP a_bytes", "# HELP b", "another family"),
        ("a_bytes{x=\"1\"} 2.5\n", "a_bytes 1\na_bytes 2\n", "same labels"),
        ("# TYPE", "#TYPE", "before its descriptors"),
        ("# EOF", "# HELP a_bytes More.\n# EOF", "behind samples"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        let error = exposition::read(&bad).err().unwrap_or_else(|| panic!("accepted: {bad}"));
        assert!(error.contains(rule), "{error} for {bad}");
    }
}

#[test]
fn a_withheld_number_has_no_sample_and_no_place_in_the_summary() {
    let (record, verdict) = sample();
    let text = openmetrics(&record, &verdict);
    let of = |name: &str| {
        text.lines()
            .filter(|line| line.starts_with(name) && line.contains(&format!("\"{WITHHELD}\"")))
            .count()
    };
    assert_eq!((of("assay_throughput"), of("assay_service_time"), of("assay_cpu")), (0, 0, 0));
    assert_eq!(of("assay_withheld{"), verdict.cells.len());
    let table = summary(&record, &verdict);
    let heads: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let place = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let mut withheld = 0;
    for line in table.lines().filter(|line| line.contains(&format!(",{WITHHELD},"))) {
        let fields: Vec<&str> = line.splitn(heads.len(), ',').collect();
        assert_eq!([fields[place("per_second")], fields[place("service_p99_ns")]], ["", ""], "{line}");
        withheld += 1;
    }
    assert_eq!(withheld, verdict.cells.len());
}

#[test]
fn a_summary_has_a_row_for_each_contender_in_each_cell() {
    let (record, verdict) = sample();
    let table = summary(&record, &verdict);
    let rows: usize = verdict.cells.iter().map(|cell| cell.standings.len()).sum();
    let absent = table.lines().filter(|line| line.contains(&format!(",{NOT_INSTALLED},java,")));
    let absent: Vec<&str> = absent.collect();
    assert_eq!((table.lines().count(), absent.len()), (rows + absent.len() + 1, verdict.cells.len()));
    assert!(absent.iter().all(|line| line.contains("not run: a Java development kit")), "{absent:?}");
    let nginx =
        table.lines().find(|line| line.contains(",hello,64,1,max,kernel/loopback,h1,nginx,c,")).unwrap();
    assert!(nginx.starts_with(&format!("{},{},,showdown", record.id, record.started_at)), "{nginx}");
}

/// The value of each field of a summary's rows by its heading, and those of one contender.
fn rows_of<'t>(table: &'t str, contender: &str) -> Vec<BTreeMap<&'t str, &'t str>> {
    let heads: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let rows = table.lines().skip(1).map(|line| heads.iter().copied().zip(line.splitn(heads.len(), ',')));
    let rows = rows.map(Iterator::collect::<BTreeMap<&str, &str>>);
    rows.filter(|row| row["contender"] == contender).collect()
}

#[test]
fn redlines_are_in_the_summary_and_in_openmetrics() {
    let (record, mut verdict) = sample();
    verdict.redlines = redlines();
    let table = summary(&record, &verdict);
    let told = |contender: &str| {
        let rows = rows_of(&table, contender);
        let row = rows.iter().find(|row| row["load"].starts_with("redline")).unwrap().clone();
        ["kept_per_second", "missed_per_second", "search", "withheld"].map(|head| row[head])
    };
    let [kept, missed, search, withheld] = told("nginx");
    assert_eq!([kept, search, withheld], ["63210", "confirmed", ""]);
    assert!(missed.starts_with("64347.7"), "{missed}");
    assert_eq!(told("node"), ["", "", "given up: void windows", "given up: void windows"]);
    let families = exposition::read(&openmetrics(&record, &verdict)).unwrap();
    let samples = |name: &str, contender: &str| -> Vec<f64> {
        let of = families[name].samples.iter().filter(|sample| sample.labels["contender"] == contender);
        of.filter(|sample| sample.labels["load"].starts_with("redline")).map(|sample| sample.value).collect()
    };
    let kept = "assay_redline_kept_requests_per_second";
    assert_eq!((samples(kept, "nginx"), samples(kept, "node")), (vec![63_210.0], vec![]));
    assert_eq!([samples("assay_withheld", "nginx"), samples("assay_withheld", "node")], [[0.0], [1.0]]);
    let settled = "assay_redline_settled";
    assert_eq!([samples(settled, "nginx"), samples(settled, "node")], [[1.0], [0.0]]);
    verdict.redlines[0].standings[1].end = RedlineEnd::BelowLowest;
    verdict.redlines[0].standings[1].missed_per_second = Some(9.0);
    let table = summary(&record, &verdict);
    assert!(table.contains(",cannot be kept at any rate,"), "that is no reason to withhold: {table}");
}

#[test]
fn openmetrics_says_of_every_load_who_has_no_number() {
    let (mut record, mut verdict) = sample();
    record.experiment.measures[0].rates =
        ["max", "50%", "common"].map(|load| load.parse().expect("a load")).to_vec();
    verdict.latency = latency();
    let families = exposition::read(&openmetrics(&record, &verdict)).unwrap();
    let withheld = |contender: &str, load: &str| -> Vec<f64> {
        let samples = families["assay_withheld"].samples.iter();
        let of = samples.filter(|sample| {
            sample.labels["contender"] == contender
                && sample.labels["load"] == load
                && sample.labels["workload"] == "hello"
                && sample.labels["connections"] == "64"
        });
        of.map(|sample| sample.value).collect()
    };
    for load in ["50%", "common"] {
        assert_eq!([withheld("gin", load), withheld("nginx", load)], [[1.0], [0.0]], "{load}");
        assert_eq!(withheld(NOT_INSTALLED, load), [1.0], "who is not installed, at {load}");
    }
    assert_eq!(withheld(NOT_INSTALLED, "max"), [1.0]);
    record.experiment.measures[0].contenders = vec!["nginx".to_owned()];
    let table = summary(&record, &verdict);
    let rows = rows_of(&table, NOT_INSTALLED);
    assert!(rows.iter().all(|row| row["workload"] == "json") && rows.len() == 3, "{rows:?}");
}

#[test]
fn junit_tells_failures_from_what_is_missing() {
    let (record, verdict) = sample();
    let xml = junit(&record, &verdict, false).unwrap();
    let case = |xml: &str, name: &str| {
        let from =
            xml.find(&format!("<testcase name=\"{name}\"")).unwrap_or_else(|| panic!("{name} in {xml}"));
        xml[from..].split("<testcase").nth(1).unwrap().to_owned()
    };
    assert!(
        case(&xml, NOT_INSTALLED).contains("<skipped") && case(&xml, NOT_INSTALLED).contains("openjdk-17")
    );
    assert!(case(&xml, WITHHELD).contains("<skipped message=\"withheld: "));
    assert!(case(&xml, "nginx").contains("requests/s [") && !case(&xml, "nginx").contains("<failure"));
    assert!(case(&xml, DYING).contains("<failure message=\"failed under load"), "{}", case(&xml, DYING));
    assert!(xml.contains(&format!("<testcase name=\"{LIMIT}\"")));
    assert!(!xml.contains('\u{1b}') && !xml.contains("<script>"));
    let strict = junit(&record, &verdict, true).unwrap();
    let failures = |xml: &str| xml.matches("<failure").count();
    assert!(failures(&strict) >= failures(&xml));
}

#[test]
fn a_void_number_fails_only_where_strictness_is_asked_for() {
    let (record, mut verdict) = sample();
    let failures = |verdict: &_, strict| junit(&record, verdict, strict).unwrap().matches("<failure").count();
    let before = [false, true].map(|strict| failures(&verdict, strict));
    verdict.trust[0].outcome = CheckOutcome::Void;
    assert_eq!([false, true].map(|strict| failures(&verdict, strict)), [before[0], before[1] + 1]);
}

#[test]
fn what_is_withheld_at_a_rate_or_not_confirmed_fails_only_where_strictness_is_asked_for() {
    let (record, mut verdict) = sample();
    let failures = |verdict: &_, strict| junit(&record, verdict, strict).unwrap().matches("<failure").count();
    let by_strictness = |verdict: &_| failures(verdict, true) - failures(verdict, false);
    let before = by_strictness(&verdict);
    verdict.latency = latency();
    assert_eq!(by_strictness(&verdict), before + 2, "gin in two cells");
    verdict.redlines = redlines();
    assert_eq!(by_strictness(&verdict), before + 3, "node has no redline");
    verdict.answered = vec![AnsweredVerdict {
        cell: Cell::closed("hello", 64),
        within_ms: vec![10.0],
        standings: vec![AnsweredStanding {
            contender: "gin".to_owned(),
            rounds: 0,
            shares: Vec::new(),
            slowest_ns: None,
            requests: 0,
            unanswered: 0,
            checks: Vec::new(),
            withheld: verdict.latency[0].standings[2].withheld.clone(),
        }],
    }];
    assert_eq!(by_strictness(&verdict), before + 4, "nor is it told how soon gin answers");
    // Without a void check there may be a reason too.
    let standing = verdict.cells[0].standings.iter_mut().find(|one| one.contender == "nginx").unwrap();
    standing.withheld = Some(Withheld::NoRightAnswer);
    assert_eq!(by_strictness(&verdict), before + 5, "nginx at capacity");
}

#[test]
fn wrong_answers_at_a_rate_fail() {
    let (record, mut verdict) = sample();
    verdict.latency = latency();
    let failures = |verdict: &_| junit(&record, verdict, false).unwrap().matches("<failure").count();
    let before = failures(&verdict);
    let evidence = Evidence::Errors { failed: 9, requests: 10, example: None, checked: Vec::new() };
    let wrong = Check::objection(Rule::Errors, CheckOutcome::Void, evidence);
    verdict.latency[0].standings[0].checks.push(wrong);
    assert_eq!(failures(&verdict), before + 1);
}

#[test]
fn a_drawing_shows_intervals_to_scale_and_no_withheld_number() {
    let (record, verdict) = sample();
    let choice = Choice { workload: Some("hello"), connections: Some(64) };
    let svg = badge(&record, &verdict, choice).unwrap();
    let cell = verdict.cells.iter().find(|cell| cell.cell.to_string() == "hello at 64").unwrap();
    let ranked = cell.standings.iter().filter(|one| one.withheld.is_none() && one.contender != LIMIT).count();
    assert_eq!(svg.matches("class=\"interval\"").count(), ranked);
    assert!(svg.contains("prefers-color-scheme:dark") && svg.contains("limit 90"), "{svg}");
    assert!(svg.contains(">withheld<") && !svg.contains("84."), "{svg}");
    assert!(!svg.contains("<script") && svg.matches("://").count() == 1, "{svg}");
    let from_zero = |line: &str| -> [f64; 2] {
        let path = line.split("class=\"interval\" d=\"M").nth(1).unwrap();
        let (left, rest) = path.split_once(' ').unwrap();
        let right = rest.split_once('H').unwrap().1.split('"').next().unwrap();
        [left, right].map(|x| x.parse::<f64>().unwrap() - 150.0)
    };
    let standing = cell.standings.iter().find(|one| one.contender == "nginx").unwrap();
    let number = format!(
        ">{}<",
        assay_report::format::rate_interval(&standing.throughput_per_second.unwrap()).estimate
    );
    let (rate, [low, high]) = (
        standing.throughput_per_second.unwrap(),
        from_zero(svg.lines().find(|line| line.contains("interval") && line.contains(&number)).unwrap()),
    );
    assert!((low / high - rate.low / rate.high).abs() < 1e-3, "{low} {high}");
    assert!(badge(&record, &verdict, Choice { workload: Some("nothing"), connections: None }).is_none());
}

#[test]
fn a_drawing_speaks_of_the_cell_that_it_shows() {
    let (record, mut verdict) = sample();
    let told = |verdict: &Verdict, workload, connections| {
        let choice = Choice { workload: Some(workload), connections: Some(connections) };
        let svg = badge(&record, verdict, choice).unwrap();
        svg.split_once("<desc id=\"desc\">").unwrap().1.split_once("</desc>").unwrap().0.to_owned()
    };
    for (workload, connections) in [("hello", 64), ("json", 64), ("json", 256)] {
        let desc = told(&verdict, workload, connections);
        assert!(desc.starts_with(&format!("On {workload} at {connections} connections, nginx is")), "{desc}");
    }
    verdict.trust[0].outcome = CheckOutcome::Void;
    assert!(told(&verdict, "json", 64).starts_with("Do not use these numbers"));
}

#[test]
fn what_was_imported_says_so_in_every_format() {
    let (mut record, verdict) = sample();
    let origin = Imported {
        source: "Some Others".to_owned(),
        title: "Round 1".to_owned(),
        environment: String::new(),
        file: "results.json".to_owned(),
        revision: None,
    };
    record.imported = Some(origin);
    let drawing = badge(&record, &verdict, Choice::default()).unwrap();
    for text in
        [openmetrics(&record, &verdict), summary(&record, &verdict), markdown(&record, &verdict), drawing]
    {
        assert!(text.to_lowercase().contains("not measured here") && text.contains("Some Others"), "{text}");
    }
}
